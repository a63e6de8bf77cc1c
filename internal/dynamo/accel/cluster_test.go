package accel

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// newPair returns two services with caches of their own before one origin, as one cluster.
func newPair(t *testing.T, change ...func(*Config, *cache.Config)) (a, b *fixture, cl *clustertest.Cluster) {
	t.Helper()
	a = newFixture(t, change...)
	b = a.sibling()
	cl = clustertest.Connect(a.svc.cache, b.svc.cache)
	a.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}}`)
	a.origin.reply("Query", `{"Count":0,"Items":[],"ScannedCount":0}`)
	for _, op := range []string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "UpdateTable", "Unheard"} {
		a.origin.reply(op, `{}`)
	}
	return a, b, cl
}

// sibling returns a service like that of a, with a cache of its own.
func (a *fixture) sibling() *fixture {
	a.t.Helper()
	c, err := cache.New(cache.Config{Memory: 64 << 20, Settle: 1, Generations: 1 << 16})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		a.t.Fatal(err)
	}
	svc, err := New(a.cfg, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(svc.Close)
	return &fixture{t: a.t, origin: a.origin, svc: svc, cfg: a.cfg}
}

const (
	clusterGet   = `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`
	clusterQuery = `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`
	clusterPut   = `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}}`
)

// warm reads an item twice, so that it is cached.
func (f *fixture) warm() {
	f.t.Helper()
	f.do("GetItem", clusterGet)
	if d := f.do("GetItem", clusterGet).decision; d != telemetry.Hit {
		f.t.Fatalf("the second read is %s, want a hit", d)
	}
	f.origin.take()
}

// indexStamp returns the present state of the queries of an index that show clusterPut's item.
func (f *fixture) indexStamp() cache.Stamp {
	f.t.Helper()
	t := f.svc.peek([]byte("t"))
	item := []byte(`{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}`)
	ch := change{t: t, key: item, old: image{known: true}, new: image{known: true, item: item}}
	tags := ch.indexTags(nil)
	if len(tags) == 0 {
		f.t.Fatal("the item is in no index")
	}
	return f.svc.cache.Note(tags[0])
}

// Every write through one node invalidates the item, and queries of an index, at another.
func TestWritesReachOtherNodes(t *testing.T) {
	f := func(op, body string, item telemetry.Decision, index bool) {
		t.Helper()
		t.Run(op, func(t *testing.T) {
			a, b, cl := newPair(t)
			b.warm()
			st := b.indexStamp()
			if got := a.do(op, body); got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			if got := b.do("GetItem", clusterGet).decision; got != item {
				t.Errorf("item: got %s, want %s", got, item)
			}
			if moved := !b.svc.cache.Current(&st); moved != index {
				t.Errorf("queries of the index are invalid: got %v", moved)
			}
			if got := fmt.Sprint(cl.Rounds()); got != "[commit]" {
				t.Errorf("rounds ended with %s, want one commit", got)
			}
		})
	}
	const invalid = telemetry.MissInvalidated
	f("PutItem", clusterPut, invalid, true)
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"other"},"s":{"N":"1"},"g":{"S":"x"}}}`, telemetry.Hit, true)
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"other"},"s":{"N":"1"},"g":{"S":"y"}}}`, telemetry.Hit, false)
	f("UpdateItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"SET g = :x","ExpressionAttributeValues":{":x":{"S":"x"}}}`, invalid, true)
	f("DeleteItem", clusterGet, invalid, false) // it was in no index
	f("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}}}]}}`, invalid, false)
	f("TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}}}]}`, invalid, false)
	f("UpdateTable", `{"TableName":"t"}`, invalid, false)
	f("Unheard", `{"TableName":"t"}`, invalid, false)
}

// A table operation makes other nodes describe the table again.
func TestTableOperationsReachOtherNodes(t *testing.T) {
	a, b, _ := newPair(t)
	b.warm()
	if b.svc.peek([]byte("t")) == nil {
		t.Fatal("the table is not described")
	}
	a.do("UpdateTable", `{"TableName":"t"}`)
	if b.svc.peek([]byte("t")) != nil {
		t.Error("the old description is used")
	}
}

// A write that the other nodes have not fenced is not sent, and one that they do not fence
// completely gets an error. Both errors are ones that SDKs retry.
func TestWriteWithoutCluster(t *testing.T) {
	f := func(op, body string) {
		t.Helper()
		t.Run(op, func(t *testing.T) {
			a, b, cl := newPair(t)
			b.warm()
			cl.Refuse(cache.ErrIsolated)
			got := a.do(op, body)
			if got.status != 503 || !strings.Contains(got.body, "#ServiceUnavailable") || !strings.Contains(got.body, "not executed") {
				t.Errorf("refused: got %d %s", got.status, got.body)
			}
			a.origins()
			if d := b.do("GetItem", clusterGet).decision; d != telemetry.Hit {
				t.Errorf("a refused write has invalidated an item: %s", d)
			}
			cl.Refuse(nil)
			for _, want := range []struct {
				checks, status int // checks that find a lease
				text           string
			}{{0, 503, "not executed"}, {1, 500, "may or may not"}, {-1, 200, ""}} {
				cl.Sendable(want.checks)
				got := a.do(op, body)
				if got.status != want.status || !strings.Contains(got.body, want.text) {
					t.Errorf("lease valid for %d checks: got %d %s", want.checks, got.status, got.body)
				}
				if want.checks == 0 {
					a.origins()
				}
			}
			if got, want := fmt.Sprint(cl.Rounds()), "[refused commit unknown commit]"; got != want {
				t.Errorf("rounds ended with %s, want %s", got, want)
			}
		})
	}
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"b"},"s":{"N":"1"}}}`)
	f("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"b"},"s":{"N":"1"}}}}]}}`)
	f("UpdateTable", `{"TableName":"t"}`)
}

// A write whose further tags the other nodes do not fence gets an error, since they may serve
// old queries.
func TestWriteWithoutFurtherFence(t *testing.T) {
	a, _, cl := newPair(t)
	cl.RefuseFurther(cache.ErrIsolated)
	got := a.do("PutItem", clusterPut)
	if got.status != 500 || !strings.Contains(got.body, "#InternalServerError") || got.decision != telemetry.Write {
		t.Errorf("got %d %s %s", got.status, got.decision, got.body)
	}
	if got := fmt.Sprint(cl.Rounds()); got != "[unknown]" {
		t.Errorf("rounds ended with %s, want one unknown", got)
	}
}

// A read without a lease is sent to the origin, strongly consistent, and its answer is not kept.
func TestReadWithoutLease(t *testing.T) {
	a, _, _ := newPair(t)
	a.warm()
	a.svc.cache.SetLease(0)
	for range 2 {
		if got := a.do("GetItem", clusterGet); got.status != 200 || got.decision != telemetry.MissIsolated {
			t.Errorf("got %d %s", got.status, got.decision)
		}
		if log := a.origins("GetItem"); !strings.Contains(log[0].body, `"ConsistentRead":true`) {
			t.Errorf("the origin received %s", log[0].body)
		}
	}
	if got := a.do("Query", clusterQuery); got.decision != telemetry.MissIsolated {
		t.Errorf("query: got %s", got.decision)
	}
	for op, body := range map[string]string{"GetItem": clusterGet, "BatchGetItem": `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`} {
		e, err := a.svc.Explain(t.Context(), admin.ExplainRequest{Headers: map[string]string{"x-amz-target": op}, Body: []byte(body)})
		if err != nil || !strings.Contains(fmt.Sprint(e.Steps), isolated) {
			t.Errorf("explain %s: got %v, %v", op, e, err)
		}
	}
}

func TestPurgeReachesOtherNodes(t *testing.T) {
	a, b, cl := newPair(t)
	b.warm()
	if _, err := a.svc.Purge(t.Context(), admin.PurgeRequest{Table: "t"}); err != nil {
		t.Fatal(err)
	}
	if d := b.do("GetItem", clusterGet).decision; d != telemetry.MissInvalidated {
		t.Errorf("got %s after the purge", d)
	}
	cl.Refuse(cache.ErrIsolated)
	if _, err := a.svc.Purge(t.Context(), admin.PurgeRequest{}); err == nil || !strings.Contains(err.Error(), "other nodes") {
		t.Errorf("a purge that the other nodes have not made: got %v", err)
	}
}
