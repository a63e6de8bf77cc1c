package embedded

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// batchAllocs is the number of additional allocations of a write if pebble has no batch to
// reuse. With sync off, batches wait for the disk, which may be slow.
const batchAllocs = 2

// TestAllocations bounds the allocations of operations on single items, from the request's
// text to the response.
func TestAllocations(t *testing.T) {
	s := withTables(t)
	buf := make([]byte, 0, 4<<10)
	f := func(op, body string, limit float64) {
		t.Helper()
		r := request(op, body)
		r.Buf = buf
		got := testing.AllocsPerRun(200, func() {
			if resp, err := s.Do(r); err != nil || resp.Status != 200 {
				t.Fatal(resp, err)
			}
		})
		if got > limit && !race.Enabled { // the race detector makes pools drop entries
			t.Errorf("%s: %v allocations; at most %v are allowed", op, got, limit)
		}
	}
	f("PutItem", `{"TableName":"plain","Item":`+kilobyte(1)+`}`, 8+batchAllocs)
	f("GetItem", `{"TableName":"plain","Key":{"p":{"S":"key00000001"}}}`, 4)
	f("GetItem", `{"TableName":"plain","Key":{"p":{"S":"none"}}}`, 4)
	f("UpdateItem", `{"TableName":"plain","Key":{"p":{"S":"key00000001"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}}`, 26+batchAllocs)
	f("DeleteItem", `{"TableName":"plain","Key":{"p":{"S":"none"}}}`, 8+batchAllocs)
}
