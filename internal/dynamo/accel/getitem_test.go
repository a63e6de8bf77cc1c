package accel

import (
	"context"
	"hash/crc32"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

const getA = `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`

func TestGetItem(t *testing.T) {
	f := newFixture(t)
	item := `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"M":{"x":{"N":"7"},"y":{"S":"q"}}}}}`
	f.origin.reply("GetItem", item)
	f.expect("GetItem", getA, telemetry.Miss, item)
	f.expect("GetItem", getA, telemetry.Hit, item)
	f.expect("GetItem", `{"Key":{"s":{"N":"1.0"},"p":{"S":"\u0061"}}, "TableName":"t"}`, telemetry.Hit, item)
	f.expect("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ProjectionExpression":"#v.x","ExpressionAttributeNames":{"#v":"v"}}`,
		telemetry.Hit, `{"Item":{"v":{"M":{"x":{"N":"7"}}}}}`)
	f.expect("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ReturnConsumedCapacity":"TOTAL"}`,
		telemetry.Hit, item[:len(item)-1]+`,"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5}}`)
	f.origins("GetItem")
}

// TestProjectionsIntoKeys checks that a projection with a path into a key attribute, of the
// table or of an index, is forwarded to the origin, which rejects it.
func TestProjectionsIntoKeys(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	f.origin.reply("BatchGetItem", `{"Responses":{"t":[]},"UnprocessedKeys":{}}`)
	f.do("GetItem", getA)
	want := func(projection string, d telemetry.Decision) {
		t.Helper()
		more := `,"ProjectionExpression":"` + projection + `"`
		got := f.do("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}`+more+`}`)
		batch := f.do("BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]`+more+`}}}`)
		if got.decision != d || batch.decision != d {
			t.Errorf("%s: %s, in a batch %s; want %s", projection, got.decision, batch.decision, d)
		}
	}
	want("v.x, p", telemetry.Hit)
	want("p.x", telemetry.BypassUncacheable)
	want("v, s[0]", telemetry.BypassUncacheable)
	want("g.x", telemetry.BypassUncacheable)
}

// TestTimeLeft checks which TTL attributes have expired.
func TestTimeLeft(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	f := func(value string, expired bool) {
		t.Helper()
		if _, got := timeLeft([]byte(`{"e":`+value+`}`), "e", now); got != expired {
			t.Errorf("%s: got expired %v, want %v", value, got, expired)
		}
	}
	f(`{"N":"1799999999"}`, true)
	f(`{"N":"1799999999.5"}`, true)
	f(`{"N":"1.799999999e9"}`, true)
	f(`{"N":"1800000001"}`, false)
	f(`{"N":"9999999999"}`, false) // a common way of writing "never"
	f(`{"N":"9300000000"}`, false)
	f(`{"N":"1800000000000"}`, false) // milliseconds
	f(`{"N":"1600000000"}`, false)    // more than five years ago
	f(`{"N":"0"}`, false)
	f(`{"N":"-1"}`, false)
	f(`{"S":"1799999999"}`, false)
	f(`{"NS":["1799999999"]}`, false)
}

func TestHitAllocates(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; nothing to measure")
		return
	}
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	for _, body := range []string{
		getA,
		`{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ProjectionExpression":"v, #s","ExpressionAttributeNames":{"#s":"s"}}`,
		`{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ReturnConsumedCapacity":"INDEXES"}`,
	} {
		f.do("GetItem", body)
		x := edge.Detached(context.Background(), request("GetItem"), []byte(body), time.Now())
		n := testing.AllocsPerRun(200, func() {
			x.Reply = reuse(x.Reply)
			f.svc.Serve(x)
		})
		if n != 0 || x.Record.Decision != telemetry.Hit {
			t.Errorf("%s: %v allocations a request, %s; want none, hit", body, n, x.Record.Decision)
		}
	}
}

func reuse(r edge.Reply) edge.Reply { r.Reset(); return r }

func BenchmarkGetItemHit(b *testing.B) {
	f := newFixture(b)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	f.do("GetItem", getA)
	x := edge.Detached(context.Background(), request("GetItem"), []byte(getA), time.Now())
	b.ReportAllocs()
	for b.Loop() {
		x.Reply.Reset()
		f.svc.Serve(x)
	}
}

// TestPayloadOfAnswer checks the entry of answers that consist of the item, from which it takes its
// payload, and of others.
func TestPayloadOfAnswer(t *testing.T) {
	f := newFixture(t)
	f.do("GetItem", getA) // describes the table
	table := f.svc.peek([]byte("t"))
	want := func(answer, payload string, ok bool) {
		t.Helper()
		got, filled := f.svc.itemFilling(table, []byte(answer))
		if filled != ok || ok && (string(got.Payload) != payload || got.Aux != crc32.ChecksumIEEE([]byte(payload))) {
			t.Errorf("%s: got %q with the checksum %x, %t; want %q, %t", answer, got.Payload, got.Aux, filled, payload, ok)
		}
	}
	const item = `{"Item":{"p":{"S":"a"}}}`
	want(item, item, true)
	want(`{"Item": {"p":{"S":"a"}}}`, item, true)
	want(` {"Item":{"p":{"S":"a"}}}`, item, true)
	want(`{"Item":{"p":{"S":"a"}},"ConsumedCapacity":{"TableName":"t"}}`, item, true)
	want(`{"ConsumedCapacity":{"TableName":"t"},"Item":{"p":{"S":"a"}}}`, item, true)
	want(`{"Item":{}}`, `{"Item":{}}`, true)
	want(`{"Item":null}`, emptyReply, true)
	want(`{}`, emptyReply, true)
	want(`{"Item":"text"}`, "", false)
	want(`{"Item":{},"Item":{}}`, "", false)
	want(`{"Item":{}`, "", false)
}
