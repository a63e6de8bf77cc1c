package accel

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// newPeers returns two nodes of which b owns all keys.
func newPeers(t *testing.T, change ...func(*Config, *cache.Config)) (a, b *fixture, cl *clustertest.Cluster) {
	t.Helper()
	a, b, cl = newPair(t, change...)
	cl.Share(b.svc.cache)
	return a, b, cl
}

// A miss is answered by the owner, from its memory or by a fill of its own, as the origin would
// answer it.
func TestMissesAskTheOwner(t *testing.T) {
	const items = `{"Count":1,"Items":[{"p":{"S":"a"},"s":{"N":"1"}}],"ScannedCount":1}`
	for _, c := range []struct{ name, op, body, reply, want string }{
		{"item", "GetItem", clusterGet, `{"Item":{"p":{"S":"a"},"v":{"S":"x"}}}`, ""},
		{"another spelling", "GetItem", `{"Key":{"s":{"N":"1.0"},"p":{"S":"\u0061"}},"TableName":"t"}`, `{"Item":{"p":{"S":"a"}}}`, ""},
		{"part of an item", "GetItem", clusterGet[:len(clusterGet)-1] + `,"ProjectionExpression":"v"}`, `{"Item":{"p":{"S":"a"},"v":{"S":"x"}}}`, `{"Item":{"v":{"S":"x"}}}`},
		{"no item", "GetItem", clusterGet, `{}`, ""},
		{"query", "Query", clusterQuery, items, ""},
		{"query of an index", "Query", `{"TableName":"t","IndexName":"byl","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`, items, ""},
		{"scan", "Scan", `{"TableName":"t","Limit":7}`, items, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.reply
			}
			for _, how := range []string{"fill", "hit"} {
				a, b, cl := newPeers(t)
				a.origin.reply(c.op, c.reply)
				if how == "hit" {
					b.do(c.op, c.body)
				}
				a.expect(c.op, c.body, telemetry.Miss, c.want)
				if got := fmt.Sprint(cl.Fetches()); got != "["+how+"]" {
					t.Errorf("the owner answers with %s, want a %s", got, how)
				}
				a.origins(c.op)
				for _, f := range []*fixture{a, b} {
					if d := f.do(c.op, c.body).decision; d != telemetry.Hit && d != telemetry.HitNegative {
						t.Errorf("later it is a %s", d)
					}
				}
				a.origins()
			}
		})
	}
}

// Many clients of two nodes ask for one item: the origin is asked once.
func TestColdItemOfTwoNodes(t *testing.T) {
	a, b, _ := newPeers(t)
	const item, clients = `{"Item":{"p":{"S":"a"}}}`, 200
	release := make(chan struct{})
	a.origin.mu.Lock()
	a.origin.handler = func(op, _ string) (int, string) {
		if op != "GetItem" {
			return 0, ""
		}
		<-release
		return 200, item
	}
	a.origin.mu.Unlock()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			if got := []*fixture{a, b}[i%2].do("GetItem", clusterGet); !sameJSON(got.body, item) {
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
	}
	// All of them wait for one request to the origin: all but one share a fill on their own node,
	// and the fill of a shares the one of b.
	await.Until(t, func() bool { return a.svc.cache.Stats().Coalesced+b.svc.cache.Stats().Coalesced == clients-1 })
	close(release)
	all.Wait()
	a.origins("GetItem")
}

// Errors of the origin reach the client byte for byte, though the owner has seen them first.
func TestOwnerSharesNoErrors(t *testing.T) {
	a, _, cl := newPeers(t)
	const refusal = `{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"no"}`
	a.origin.mu.Lock()
	a.origin.handler = func(op, _ string) (int, string) {
		if op == "DescribeTable" || op == "DescribeTimeToLive" {
			return 0, ""
		}
		return 400, refusal
	}
	a.origin.mu.Unlock()
	for op, body := range map[string]string{"GetItem": clusterGet, "Query": clusterQuery} {
		if got := a.do(op, body); got.status != 400 || got.body != refusal {
			t.Errorf("%s: got %d %s", op, got.status, got.body)
		}
		if got := fmt.Sprint(cl.Fetches()); got != "[declined]" {
			t.Errorf("%s: the owner answers with %s", op, got)
		}
	}
}

// What only the origin may answer is not asked of a peer.
func TestOriginOnly(t *testing.T) {
	a, _, cl := newPeers(t, func(c *Config, _ *cache.Config) { c.RefreshAhead = 0.999 })
	strong := `,"ConsistentRead":true}`
	a.do("GetItem", clusterGet[:len(clusterGet)-1]+strong)
	a.do("Query", clusterQuery[:len(clusterQuery)-1]+strong)
	a.origins("GetItem", "Query")
	// The item is stored now. The third hit late in its life refreshes it.
	await.Until(t, func() bool {
		a.do("GetItem", clusterGet)
		return len(a.origin.take()) > 0
	})
	a.svc.cache.SetLease(0)
	a.do("GetItem", clusterGet)
	a.origins("GetItem")
	if got := cl.Fetches(); len(got) > 0 {
		t.Errorf("a peer is asked, and answers with %v", got)
	}
}

// Nodes may be reloaded one after the other: what differs on the owner is not taken over.
func TestOwnerWithOtherSettings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"the same":          {func(*Config) {}, "[fill fill]"},
		"another region":    {func(c *Config) { c.Region = "eu-west-1" }, "[declined declined]"},
		"no items":          {func(c *Config) { c.ItemTTL = 0 }, "[declined fill]"},
		"no queries":        {func(c *Config) { c.QueryTTL = 0 }, "[fill declined]"},
		"items that expire": {func(c *Config) { c.ExpireItems = []string{"*"} }, "[declined declined]"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, cl := newPeers(t)
			a.origin.reply("DescribeTimeToLive", `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"e"}}`)
			cfg := b.cfg
			c.change(&cfg)
			if err := b.svc.Reconfigure(cfg); err != nil {
				t.Fatal(err)
			}
			a.do("GetItem", clusterGet)
			a.do("Query", clusterQuery)
			if got := fmt.Sprint(cl.Fetches()); got != c.want {
				t.Errorf("the owner answers with %s, want %s", got, c.want)
			}
		})
	}
}

// The asker's own limits of lifetimes apply too.
func TestAskersLifetimes(t *testing.T) {
	a, b, cl := newPeers(t)
	cfg := a.cfg
	cfg.ItemTTL, cfg.QueryTTL = time.Minute, 2*time.Minute
	if err := a.svc.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	for op, body := range map[string]string{"GetItem": clusterGet, "Query": clusterQuery} {
		a.do(op, body)
		for f, limit := range map[*fixture]time.Duration{a: 2 * time.Minute, b: 5 * time.Minute} {
			if op == "GetItem" && f == a {
				limit = time.Minute
			}
			f.svc.space.Entries(func(e *cache.Entry) bool {
				ttl := e.TTL(f.svc.cache.Now())
				if isItem := e.Kind() == kindItem; isItem == (op == "GetItem") && (ttl > limit || ttl < limit-30*time.Second) {
					t.Errorf("%s: %s left, want %s", op, ttl, limit)
				}
				return true
			})
		}
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[fill fill]" {
		t.Errorf("the owner answers with %s", got)
	}
}

// Questions that this node would not send are declined, without a request to the origin.
func TestForeignQuestions(t *testing.T) {
	_, b, _ := newPeers(t)
	b.do("GetItem", clusterGet) // describes the table
	b.origin.take()
	good := peerRequest{origin: b.svc.settings.Load().tag, kind: keyItem, body: []byte(clusterGet)}
	if _, ok := b.svc.answerPeer(t.Context(), good.encode()); !ok {
		t.Fatal("a good question is declined")
	}
	for name, change := range map[string]func(q *peerRequest){
		"no object":          func(q *peerRequest) { q.body = []byte(`[]`) },
		"half an object":     func(q *peerRequest) { q.body = q.body[:len(q.body)-1] },
		"unknown kind":       func(q *peerRequest) { q.kind = 'x' },
		"another origin":     func(q *peerRequest) { q.origin++ },
		"another expiry":     func(q *peerRequest) { q.ttlAttribute = "e" },
		"unknown member":     func(q *peerRequest) { q.body = []byte(`{"TableName":"t","Foo":1}`) },
		"no table":           func(q *peerRequest) { q.body = []byte(`{}`) },
		"another key schema": func(q *peerRequest) { q.body = []byte(`{"TableName":"t","Key":{"p":{"S":"a"}}}`) },
		"item as a query":    func(q *peerRequest) { q.kind = keyQuery },
		"a strong query": func(q *peerRequest) {
			q.kind, q.body = keyQuery, []byte(clusterQuery[:len(clusterQuery)-1]+`,"ConsistentRead":true}`)
		},
		"a query that is no scan": func(q *peerRequest) { q.kind, q.body = keyQuery, []byte(`{"TableName":"t"}`) },
	} {
		q := good
		change(&q)
		if _, ok := b.svc.answerPeer(t.Context(), q.encode()); ok {
			t.Errorf("%s: answered", name)
		}
	}
	whole := good.encode()
	for _, bytes := range [][]byte{nil, whole[:9], append([]byte{9}, whole[1:]...), whole[:10], append(append([]byte(nil), whole[:10]...), 0xff, 0xff, 1)} {
		if _, ok := b.svc.answerPeer(t.Context(), bytes); ok {
			t.Errorf("%x: answered", bytes)
		}
	}
	b.origins()
	b.svc.Close()
	if _, ok := b.svc.cache.Answer(t.Context(), "orders", whole); ok {
		t.Error("a closed service answers")
	}
}

func TestExplainNamesTheOwner(t *testing.T) {
	a, b, _ := newPeers(t)
	for f, want := range map[*fixture]bool{a: true, b: false} {
		f.do("DescribeTable", `{"TableName":"t"}`)
		f.do("GetItem", `{"TableName":"t","Key":{"p":{"S":"z"},"s":{"N":"1"}}}`)
		for op, body := range map[string]string{"GetItem": clusterGet, "Query": clusterQuery} {
			e, err := f.svc.Explain(t.Context(), admin.ExplainRequest{Headers: map[string]string{"x-amz-target": op}, Body: []byte(body)})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(fmt.Sprint(e.Steps), "{peer owner owns the key"); got != want {
				t.Errorf("%s: an owner is named: %v, want %v: %v", op, got, want, e.Steps)
			}
		}
	}
}
