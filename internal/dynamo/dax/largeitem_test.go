package dax

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// longNames has one list, with one name of the maximum length.
type longNames struct{ knownLists }

var longName = strings.Repeat("n", 65535)

func (longNames) Names(uint64) ([]string, bool) { return []string{longName}, true }

// TestSmallRequestsOfLargeItems sends requests of some kilobytes whose items, with their
// names, are hundreds of megabytes: they are rejected before they are expanded, and no
// request is sent to the origin.
func TestSmallRequestsOfLargeItems(t *testing.T) {
	const items = 5000
	s := newStage(t, func(c *Config) { c.Lists = longNames{recordedLists} })
	hexed := func(b []byte) string { return hex.EncodeToString(b) }
	column := func(one ...byte) string {
		b := cbor.AppendArray(nil, maxTransactItems)
		for range maxTransactItems {
			b = append(b, one...)
		}
		return hexed(b)
	}
	batch := cbor.AppendArray(nil, 2*items)
	for range items {
		batch = append(batch, 0x41, 'k', 0x42, 2, 0) // the key k, list 2 and the number 0
	}
	table := hexed(cbor.AppendText(nil, "Tab1"))
	for name, request := range map[string]string{
		"batch":       "011a06ed585f a1" + table + hexed(batch) + "f6",
		"transaction": "013a4524c569" + column(partPut) + column(cbor.AppendBytes(nil, []byte("Tab1"))...) + column(0x41, 'k') + column(0x42, 2, 0) + "f6" + column(1) + "f6 f6 f6",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.c.expectError(request, errTooLong.Error(), 4, 37, 38, 39, 46)
		runtime.ReadMemStats(&after)
		// A buffer that grows by a quarter at a time has taken five times its size.
		if n := after.TotalAlloc - before.TotalAlloc; n > 8*maxBody {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
		if asked := s.origin.take(); asked != "" {
			t.Errorf("%s: the origin received %.100s", name, asked)
		}
	}
}

// TestLargeUpdate sets an attribute to a value of nearly the maximum size of an item.
func TestLargeUpdate(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, `{}`)
	value := strings.Repeat("v", 390<<10)
	update := cbor.AppendText(unhex(t, "830181 8313 821263636e74 821100 81"), value)
	s.expect(updAlice+"bf 08"+hex.EncodeToString(cbor.AppendBytes(nil, update))+"ff",
		"UpdateItem "+keyAlice+`,"UpdateExpression":"SET #n0 = :u0","ExpressionAttributeNames":{"#n0":"cnt"},"ExpressionAttributeValues":{":u0":{"S":"`+value+`"}},"ReturnValues":"ALL_NEW"}`, "80 f6")
}
