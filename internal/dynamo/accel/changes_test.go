package accel

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
)

// countedChanges are changes by table and cause, or evictions.
type countedChanges struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *countedChanges) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[name] += n
}

func (c *countedChanges) Invalidated(table, cause string, n int) { c.add(table+" "+cause, n) }

func (c *countedChanges) Evicted(table string) { c.add(table+" evicted", 1) }

// take returns the counts since the last call.
func (c *countedChanges) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.counts
	c.counts = map[string]int{}
	return got
}

func TestChanges(t *testing.T) {
	changes := &countedChanges{counts: map[string]int{}}
	f := newFixture(t, func(cfg *Config, cc *cache.Config) { cfg.Changes, cc.Memory = changes, 2<<20 })
	expect := func(name string, want map[string]int) {
		t.Helper()
		if got := changes.take(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	const item = `{"p":{"S":"a"},"s":{"N":"1"}}`
	f.origin.reply("PutItem", `{}`)
	f.do("PutItem", `{"TableName":"t","Item":`+item+`}`)
	expect("a write", map[string]int{"t write": 1})

	f.origin.reply("BatchWriteItem", `{"UnprocessedItems":{}}`)
	f.do("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":`+item+`}},{"DeleteRequest":{"Key":{"p":{"S":"b"},"s":{"N":"1"}}}}]}}`)
	expect("a batch", map[string]int{"t write": 2})

	f.origin.reply("UpdateTimeToLive", `{}`)
	f.do("UpdateTimeToLive", `{"TableName":"t","TimeToLiveSpecification":{"AttributeName":"a","Enabled":true}}`)
	expect("a change of the table", map[string]int{"t table": 1})

	for status, want := range map[int]map[string]int{400: {}, 500: {"t unknown-outcome": 1}} {
		f.origin.handler = func(op, _ string) (int, string) {
			if op == "PutItem" {
				return status, `{"__type":"com.amazonaws.dynamodb.v20120810#SomeException"}`
			}
			return 0, ""
		}
		f.do("PutItem", `{"TableName":"t","Item":`+item+`}`)
		expect(fmt.Sprint("a write answered with ", status), want)
	}
	f.origin.handler = nil

	if _, err := f.svc.Purge(t.Context(), admin.PurgeRequest{Table: "t"}); err != nil {
		t.Fatal(err)
	}
	expect("a purge", map[string]int{"t purge": 1})

	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"`+strings.Repeat("v", 100_000)+`"}}}`)
	for i := range 100 {
		f.do("GetItem", fmt.Sprintf(`{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"%d"}}}`, i))
	}
	if got := changes.take(); got["t evicted"] < 70 || len(got) != 1 {
		t.Errorf("100 items of 100 KB in 2 MiB: %v", got)
	}
}
