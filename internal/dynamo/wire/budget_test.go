package wire

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

var (
	getItem = []byte(`{"TableName":"users","Key":{"id":{"S":"user-00001001"}},"ConsistentRead":false,"ReturnConsumedCapacity":"TOTAL"}`)
	item    = []byte(`{"id":{"S":"user-00001001"},"name":{"S":"Ada Lovelace"},"born":{"N":"1815"},"tags":{"L":[{"S":"math"},{"S":"engine"}]},` +
		`"address":{"M":{"city":{"S":"London"},"zip":{"S":"W1"}}},"score":{"N":"99.5"},"photo":{"B":"AAECAwQFBgcICQoLDA0ODw=="},"active":{"BOOL":true}}`)
	itemKey     = []byte(`{"S":"user-00001001"}`)
	itemMembers = []string{"TableName", "Key", "ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames", "AttributesToGet", "ReturnConsumedCapacity"}
)

// hotPaths are the calls that a cache hit makes into this package.
func hotPaths() map[string]func() {
	out := make([][]byte, len(itemMembers))
	buf := make([]byte, 0, 4096)
	return map[string]func(){
		"Valid":           func() { Valid(getItem, MaxDepth) },
		"Collect":         func() { Collect(getItem, itemMembers, out) },
		"ValidCollect":    func() { _ = Valid(getItem, MaxDepth) && Collect(getItem, itemMembers, out) },
		"AppendString":    func() { AppendString(buf, []byte(`"user-0000\n1001"`)) },
		"AppendQuoted":    func() { AppendQuoted(buf, []byte("user-0000\n1001")) },
		"AppendNumber":    func() { AppendNumber(buf, []byte("1.50e3")) },
		"AppendScalarS":   func() { AppendScalar(buf, itemKey, 'S') },
		"AppendScalarB":   func() { AppendScalar(buf, []byte(`{"B":"AAECAw=="}`), 'B') },
		"AppendCanonical": func() { AppendCanonical(buf, item) },
		"ItemSize":        func() { ItemSize(item) },
		"ReadsBackAs":     func() { ReadsBackAs(item) },
		"FindOperation":   func() { FindOperation([]byte("DynamoDB_20120810.GetItem")) },
		"AppendError":     func() { AppendError(buf, "ValidationException", "no") },
		"SetMember":       func() { SetMember(buf, getItem, "ConsistentRead", []byte("true")) },
		"WithoutMember":   func() { WithoutMember(buf, getItem, "ConsistentRead") },
		"HalveCapacity":   func() { HalveCapacity(buf, []byte(`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}}`)) },
	}
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		return
	}
	for name, f := range hotPaths() {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkWire(b *testing.B) {
	for name, f := range hotPaths() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
