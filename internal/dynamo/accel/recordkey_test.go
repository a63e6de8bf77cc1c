package accel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/hotkeys"
)

// countKeys makes a service count keys.
func countKeys(c *Config) {
	c.HotKeys = hotkeys.New()
	c.HotKeys.Configure([]string{c.Name})
}

// newKeysFixture returns a fixture that counts keys.
func newKeysFixture(t *testing.T, change func(*Config)) *fixture {
	return newFixture(t, func(c *Config, _ *cache.Config) {
		countKeys(c)
		change(c)
	})
}

// recorded sends a request, counts it as the access log does, and returns its decision, the hash of
// its key and the key as text.
func (f *fixture) recorded(op, body string) (d telemetry.Decision, hash uint64, text string) {
	f.t.Helper()
	x := edge.Detached(f.t.Context(), request(op), []byte(body), time.Now())
	f.svc.Serve(x)
	x.Record.Status, x.Record.BytesOut = x.Reply.Status, len(x.Reply.Body)
	f.svc.keys.Count(&x.Record)
	_, text = f.svc.KeyText(string(x.Record.Table), x.Record.Key)
	return x.Record.Decision, x.Record.KeyHash, text
}

// top returns the keys of a metric with their counts.
func top(s *Service, m hotkeys.Metric) (all []string) {
	for _, f := range s.keys.Figures(hotkeys.Recent) {
		for _, k := range f.Top[m] {
			_, text := s.KeyText(f.Table, k.Text)
			all = append(all, fmt.Sprintf("%s %d", text, k.Count))
		}
	}
	slices.Sort(all)
	return all
}

const (
	keyA   = `{"p":{"S":"a"},"s":{"N":"1"}}`
	keyB   = `{"p":{"S":"b"},"s":{"N":"2"}}`
	queryA = `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`
)

// Records of all requests for an item have the same key, however it is written and answered.
func TestRecordKeys(t *testing.T) {
	for _, ttl := range []time.Duration{0, time.Minute} {
		f := newKeysFixture(t, func(c *Config) { c.ItemTTL, c.QueryTTL = ttl, ttl })
		f.origin.reply("GetItem", `{"Item":`+keyA+`}`)
		f.origin.reply("Query", `{"Items":[],"Count":0,"ScannedCount":0}`)
		f.origin.reply("PutItem", `{}`)
		f.origin.reply("DeleteItem", `{}`)
		var first uint64
		for i, r := range [][2]string{
			{"GetItem", `{"TableName":"t","Key":` + keyA + `}`},
			{"GetItem", `{"TableName":"t","Key":{"s":{"N":"1.0"},"p":{"S":"\u0061"}}}`},
			{"GetItem", `{"TableName":"t","ConsistentRead":true,"Key":` + keyA + `}`},
			{"PutItem", `{"TableName":"t","Item":{"v":{"S":"secret"},"p":{"S":"a"},"s":{"N":"1"}}}`},
			{"DeleteItem", `{"TableName":"t","Key":` + keyA + `}`},
		} {
			_, hash, text := f.recorded(r[0], r[1])
			if i == 0 {
				first = hash
			}
			if text != keyA || hash == 0 || hash != first {
				t.Errorf("%s %s with a TTL of %s: got %s, %x; want %s, %x", r[0], r[1], ttl, text, hash, keyA, first)
			}
		}
		want := map[time.Duration]string{0: "partition a", time.Minute: `Query "p" = {"S":"a"}`}[ttl]
		for range 2 {
			if d, hash, text := f.recorded("Query", queryA); text != want || hash == 0 {
				t.Errorf("%s Query with a TTL of %s: got %q, %x", d, ttl, text, hash)
			}
		}
	}
}

// Partitions of indexes are named, and a key that was cut off is rendered as far as it is there.
func TestKeyText(t *testing.T) {
	f := newKeysFixture(t, func(c *Config) { c.QueryTTL = 0 })
	f.origin.reply("Query", `{"Items":[],"Count":0,"ScannedCount":0}`)
	_, _, text := f.recorded("Query", `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}}}`)
	if text != "partition x of index byg" {
		t.Errorf("got %q", text)
	}
	tb := f.svc.peek([]byte("t"))
	id, ok := tb.keyOf([]byte(`{"p":{"S":"` + strings.Repeat("é", 400) + `"},"s":{"N":"1"}}`))
	if !ok {
		t.Fatal("the key is not valid")
	}
	key := tb.cacheKey(id)
	partition, text := f.svc.KeyText("t", key)
	if partition != strings.Repeat("é", 400) || text != `{"p":{"S":"`+partition+`"},"s":{"N":"1"}}` {
		t.Errorf("got %q, %q", partition, text)
	}
	if partition, text = f.svc.KeyText("t", key[:255]); partition != strings.Repeat("é", 123) || text != `{"p":{"S":"`+partition+`"}}` {
		t.Errorf("cut off: got %q, %q", partition, text)
	}
	for n := range key { // no panic
		for _, kind := range []byte("ipqs?") {
			f.svc.KeyText("t", append([]byte{kind}, key[1:max(1, n)]...))
		}
	}
	if _, text := f.svc.KeyText("unknown", key[:0]); text != "" {
		t.Errorf("no key: got %q", text)
	}
}

// The keys of batches and transactions are counted one by one.
func TestBatchKeys(t *testing.T) {
	f := newKeysFixture(t, func(*Config) {})
	f.origin.reply("BatchGetItem", `{"Responses":{"t":[`+keyA+`]},"UnprocessedKeys":{}}`)
	f.origin.reply("BatchWriteItem", `{"UnprocessedItems":{}}`)
	f.origin.reply("TransactWriteItems", `{}`)
	for range 3 {
		f.recorded("BatchGetItem", `{"RequestItems":{"t":{"Keys":[`+keyA+`,`+keyB+`]}}}`)
	}
	if got := top(f.svc, hotkeys.Misses); !slices.Equal(got, []string{keyA + " 1", keyB + " 1"}) {
		t.Errorf("misses: %q", got)
	}
	if got := top(f.svc, hotkeys.Bytes); !slices.Equal(got, []string{fmt.Sprint(keyA, " ", 3*len(keyA))}) {
		t.Errorf("bytes: %q", got)
	}
	f.recorded("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":`+keyA+`}}]}}`)
	f.recorded("TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"t","Key":`+keyA+`}},{"Put":{"TableName":"t","Item":`+keyB+`}}]}`)
	if got := top(f.svc, hotkeys.Invalidations); !slices.Equal(got, []string{keyA + " 2", keyB + " 1"}) {
		t.Errorf("invalidations: %q", got)
	}
	if got := top(f.svc, hotkeys.Requests); !slices.Equal(got, []string{keyA + " 5", keyB + " 4"}) {
		t.Errorf("requests: %q", got)
	}
}

// A write past Kasoku is an invalidation of its item.
func TestStreamKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		p.warm()
		p.write("y")
		time.Sleep(time.Second)
		if got := top(p.a, hotkeys.Invalidations); !slices.Equal(got, []string{keyA + " 1"}) {
			t.Errorf("got %q", got)
		}
	})
}
