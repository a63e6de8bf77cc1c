package accel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// An answer has room for 1 MiB, and a question for 60 KiB of keys: the rest is fetched from the
// origin, and asked with further questions.
func TestBatchLimits(t *testing.T) {
	var keys []string
	for i := range MaxBatchKeys {
		keys = append(keys, fmt.Sprint(100+i))
	}
	t.Run("answers", func(t *testing.T) {
		const size = 20 << 10
		a, b, _, cl, store := newBatchPeers(t, strings.Repeat("x", size))
		cl.Share(b.svc.cache)
		if got := strings.Count(a.do("BatchGetItem", batchOf(keys...)).body, `"v"`); got != MaxBatchKeys {
			t.Errorf("got %d items", got)
		}
		all := strings.Fields(store.asked())
		if rest := len(all) - MaxBatchKeys; rest < MaxBatchKeys-cache.MaxShared/size || rest > MaxBatchKeys-cache.MaxShared/size+5 {
			t.Errorf("%d items do not fit into the answer", rest)
		}
		if got := fmt.Sprint(cl.Fetches()); got != "[fill]" {
			t.Errorf("the owner answers with %s", got)
		}
		if d := a.do("BatchGetItem", batchOf(keys...)).decision; d != telemetry.Hit {
			t.Errorf("later it is a %s", d)
		}
	})
	t.Run("questions", func(t *testing.T) {
		a, b, _, cl, store := newBatchPeers(t, "")
		cl.Share(b.svc.cache)
		long := strings.ReplaceAll(batchOf(keys...), `"a"`, `"`+strings.Repeat("a", 1500)+`"`)
		if got := strings.Count(a.do("BatchGetItem", long).body, `"v"`); got != MaxBatchKeys {
			t.Errorf("got %d items", got)
		}
		if got := fmt.Sprint(cl.Fetches()); got != "[fill fill fill]" {
			t.Errorf("the owner answers with %s", got)
		}
		if got := len(strings.Fields(store.asked())); got != MaxBatchKeys {
			t.Errorf("the origin is asked for %d items", got)
		}
	})
}

// Both the owner's and the asker's limits of lifetimes apply.
func TestLifetimesOfBatch(t *testing.T) {
	for name, shorter := range map[string]int{"own": 0, "owner's": 1} {
		t.Run(name, func(t *testing.T) {
			a, b, _, cl, _ := newBatchPeers(t, "")
			cl.Share(b.svc.cache)
			cfg := a.cfg
			cfg.ItemTTL = time.Minute
			if err := [...]*fixture{a, b}[shorter].svc.Reconfigure(cfg); err != nil {
				t.Fatal(err)
			}
			a.do("BatchGetItem", batchOf("1"))
			n := 0
			a.svc.space.Entries(func(e *cache.Entry) bool {
				n++
				if ttl := e.TTL(a.svc.cache.Now()); ttl > time.Minute || ttl < 30*time.Second {
					t.Errorf("%s left", ttl)
				}
				return true
			})
			if got := fmt.Sprint(n, cl.Fetches()); got != "1 [fill]" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Malformed answers are not used, and questions that no node sends are declined.
func TestForeignBatches(t *testing.T) {
	_, b, _, _, _ := newBatchPeers(t, "")
	b.do("GetItem", clusterGetOf("1"))
	b.do("GetItem", `{"TableName":"u","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	good := peerRequest{origin: b.svc.settings.Load().tag, kind: keyBatch, body: []byte(batchOf("1", "2"))}
	answer, ok := b.svc.answerPeer(t.Context(), good.encode())
	if !ok || answer.Kind != kindBatch || answer.Hit {
		t.Fatalf("a good question is answered with %+v", answer)
	}
	b.origin.take()
	many := make([]string, MaxBatchKeys+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, body := range map[string]string{
		"strong":         `{"RequestItems":{"t":` + partOf(`,"ConsistentRead":true`, "5") + `}}`,
		"projection":     `{"RequestItems":{"t":` + partOf(`,"ProjectionExpression":"v"`, "5") + `}}`,
		"capacity":       `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"t":` + partOf("", "5") + `}}x`,
		"unknown member": `{"Foo":1,"RequestItems":{"t":` + partOf("", "5") + `}}`,
		"no table":       `{"RequestItems":{}}`,
		"no items":       `{}`,
		"twice":          batchOf("5", "5"),
		"too many":       batchOf(many...),
		"another schema": `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"}}]}}}`,
		"a GetItem":      clusterGetOf("5"),
	} {
		q := good
		q.body = []byte(body)
		if _, ok := b.svc.answerPeer(t.Context(), q.encode()); ok {
			t.Errorf("%s: answered", name)
		}
	}
	q := good
	q.ttlAttribute = "e"
	if _, ok := b.svc.answerPeer(t.Context(), q.encode()); ok {
		t.Error("another expiry: answered")
	}
	b.origins()
}

// TestMalformedAnswers checks that a part of an answer is not used.
func TestMalformedAnswers(t *testing.T) {
	a, b, _, _, _ := newBatchPeers(t, "")
	a.do("BatchGetItem", batchOf("9")) // describes the table
	q := peerRequest{origin: b.svc.settings.Load().tag, kind: keyBatch, body: []byte(batchOf("1"))}
	answer, ok := b.svc.answerPeer(t.Context(), q.encode())
	if !ok {
		t.Fatal("declined")
	}
	whole := answer.Payload
	take := func(kind uint8, payload []byte, took time.Duration) bool {
		c := a.svc.calls.Get().(*call)
		c.begin(a.svc, edge.Detached(t.Context(), request("BatchGetItem"), []byte(batchOf("1")), time.Now()))
		defer c.release()
		if _, ok := c.members(c.x.Body, batchGetMembers); !ok || !c.parseBatch(c.m[0], nil) {
			t.Fatal("the request is not understood")
		}
		k := &c.batch.keys[0]
		k.stamp = a.svc.cache.Note()
		c.takeAnswer(&batchQuestion{
			keys:   []askedKey{{&c.batch.parts[0], k}},
			answer: cache.Shared{Kind: kind, Payload: payload}, took: took, ok: true,
		})
		return k.entry != nil
	}
	for n := range whole {
		if take(kindBatch, whole[:n], 0) {
			t.Errorf("%d of %d bytes are used", n, len(whole))
		}
	}
	unknown := append([]byte{kindQuery}, whole[1:]...)
	if take(kindItem, whole, 0) || take(kindBatch, unknown, 0) || take(kindBatch, whole, time.Hour) {
		t.Error("an answer of another kind, or an old one, is used")
	}
	if !take(kindBatch, whole, time.Minute) {
		t.Error("an answer is not used")
	}
}

func TestExplainNamesOwnersOfBatch(t *testing.T) {
	a, b, _, cl, _ := newBatchPeers(t, "")
	cl.Share(b.svc.cache)
	for f, want := range map[*fixture]bool{a: true, b: false} {
		f.do("GetItem", clusterGetOf("9"))
		e, err := f.svc.Explain(t.Context(), admin.ExplainRequest{Headers: map[string]string{"x-amz-target": "BatchGetItem"}, Body: []byte(batchOf("1"))})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fmt.Sprint(e.Steps), "not in memory; owner is asked first"); got != want {
			t.Errorf("an owner is named: %v, want %v: %v", got, want, e.Steps)
		}
	}
}
