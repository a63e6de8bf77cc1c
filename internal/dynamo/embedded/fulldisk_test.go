package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// TestDeletesOnFullDisk fills a disk. Requests that only delete may use the reserve; they are
// refused like other writes when half of it is used.
func TestDeletesOnFullDisk(t *testing.T) {
	const disk, reserve = 1 << 30, 64 << 20
	fs := vfs.NewMem()
	setFree := func(n uint64) {
		fs.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: disk, AvailBytes: n, UsedBytes: disk - n})
	}
	setFree(disk / 2)
	s := openStore(t, onDisk{Dir: "store", NoSync: true, fs: fs})
	s.mustSend(t, "CreateTable", damagedTable)
	for i := range 40 {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"k%d"}}}`, i))
	}
	accepted := func(op, body string) bool {
		status, reply := s.send(t, op, body)
		if status != 200 && !strings.Contains(reply, "The disk of the embedded store is full") {
			t.Fatalf("%s %s: got %d %s", op, body, status, reply)
		}
		return status == 200
	}
	type request struct{ op, body string }
	deleting := func(key string) []request {
		k := `{"pk":{"S":"` + key + `%d"}}`
		var list []request
		for i, r := range []request{
			{"DeleteItem", `{"TableName":"tab","Key":` + k + `}`},
			{"BatchWriteItem", `{"RequestItems":{"tab":[{"DeleteRequest":{"Key":` + k + `}}]}}`},
			{"TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"tab","Key":` + k + `}},` +
				`{"ConditionCheck":{"TableName":"tab","Key":{"pk":{"S":"none"}},"ConditionExpression":"attribute_not_exists(pk)"}}]}`},
			{"ExecuteStatement", `{"Statement":"DELETE FROM tab WHERE pk = '` + key + `%d'"}`},
			{"BatchExecuteStatement", `{"Statements":[{"Statement":"DELETE FROM tab WHERE pk = '` + key + `%d'"}]}`},
			{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"DELETE FROM tab WHERE pk = '` + key + `%d'"}]}`},
		} {
			list = append(list, request{r.op, fmt.Sprintf(r.body, i)})
		}
		return list
	}
	writing := []request{
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"new"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"k30"}},"UpdateExpression":"REMOVE v"}`},
		{"BatchWriteItem", `{"RequestItems":{"tab":[{"DeleteRequest":{"Key":{"pk":{"S":"k30"}}}},{"PutRequest":{"Item":{"pk":{"S":"new"}}}}]}}`},
		{"TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"tab","Key":{"pk":{"S":"k30"}}}},{"Put":{"TableName":"tab","Item":{"pk":{"S":"new"}}}}]}`},
		{"ExecuteStatement", `{"Statement":"INSERT INTO tab VALUE {'pk':'new'}"}`},
		{"BatchExecuteStatement", `{"Statements":[{"Statement":"DELETE FROM tab WHERE pk = 'k30'"},{"Statement":"INSERT INTO tab VALUE {'pk':'new'}"}]}`},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"DELETE FROM tab WHERE pk = 'k30'"},{"Statement":"INSERT INTO tab VALUE {'pk':'new'}"}]}`},
	}
	expectAll := func(when string, requests []request, want bool) {
		t.Helper()
		for _, r := range requests {
			if got := accepted(r.op, r.body); got != want {
				t.Errorf("%s: %s %s: got accepted %v", when, r.op, r.body, got)
			}
		}
	}
	setFree(reserve - 1)
	await.Until(t, func() bool { return !accepted("PutItem", `{"TableName":"tab","Item":{"pk":{"S":"k31"}}}`) })
	expectAll("in the reserve", writing, false)
	expectAll("in the reserve", deleting("k"), true)
	setFree(reserve/2 - 1)
	await.Until(t, func() bool { return !accepted("DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"k32"}}}`) })
	expectAll("in the last of the reserve", writing, false)
	expectAll("in the last of the reserve", deleting("k1"), false)
	setFree(disk / 2)
	await.Until(t, func() bool { return accepted("PutItem", `{"TableName":"tab","Item":{"pk":{"S":"k31"}}}`) })
	expectAll("with room again", deleting("k1"), true)
	if reply, err := scanned(t, s); err != nil || strings.Contains(reply, `"k0"`) || strings.Contains(reply, `"k15"`) || !strings.Contains(reply, `"k30"`) || strings.Contains(reply, `"new"`) {
		t.Errorf("at the end the table has %s, %v", reply, err)
	}
}

// TestExpiryOnFullDisk checks that expired items are removed on a full disk.
func TestExpiryOnFullDisk(t *testing.T) {
	const disk, reserve = 1 << 30, 64 << 20
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: disk, AvailBytes: disk})
	clock := clockAt(sessionStart)
	s := openIdle(t, onDisk{Dir: "store", NoSync: true, fs: fs}, clock.Now)
	s.mustSend(t, "CreateTable", damagedTable)
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"e"}}`)
	s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"k"},"e":{"N":"%d"}}}`, clock.Now().Unix()))
	fs.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: disk, AvailBytes: reserve - 1})
	await.Until(t, func() bool { return s.db.Writable() != nil })
	if err := s.sweep(clock.Now()); err != nil {
		t.Fatal(err)
	}
	if items, err := scanned(t, s); err != nil || itemsIn(items) != 0 {
		t.Errorf("got the items %s, %v", items, err)
	}
}
