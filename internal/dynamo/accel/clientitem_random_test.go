package accel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// keyOfA is the key object of partition a's item s, with its canonical form.
func keyOfA(t testing.TB, s int) (object string, canonical []byte, hashLen int) {
	object = fmt.Sprintf(`{"p":{"S":"a"},"s":{"N":"%d"}}`, s)
	canonical, ok := wire.AppendScalar(nil, []byte(`{"S":"a"}`), 'S')
	hashLen = len(canonical)
	canonical, more := wire.AppendScalar(canonical, fmt.Appendf(nil, `{"N":"%d"}`, s), 'N')
	if !ok || !more {
		t.Fatal("no key")
	}
	return object, canonical, hashLen
}

// randomClients sends random requests through both APIs of a service, and looks items up.
type randomClients struct {
	*script
	r    *rand.Rand
	c    Client
	hits []Hit // from earlier lookups, some of them of removed entries
	n    int

	found, formed, negative int // outcomes of lookups
}

// TestClientItemRandomOperations compares lookups with the origin's items, with random
// operations between a lookup and the attachment of a form. An item that is found equals the
// origin's, and a form that is found belongs to that item.
func TestClientItemRandomOperations(t *testing.T) {
	var found, formed, negative int
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t)
				s.cfg.RefreshAhead = 0.5
				s.start()
				d := &randomClients{script: s, r: rand.New(rand.NewPCG(seed, 1))}
				for range 150 {
					d.c, _ = s.svc.Client(nil)
					d.step()
				}
				found, formed, negative = found+d.found, formed+d.formed, negative+d.negative
			})
		})
	}
	if found < 500 || formed < 200 || negative < 50 {
		t.Errorf("only %d items were found, %d of them with a form, %d of them missing at the origin", found, formed, negative)
	}
}

func (d *randomClients) step() {
	key, canonical, hashLen := keyOfA(d.t, d.r.IntN(3))
	switch n := d.r.IntN(20); {
	case n < 3:
		d.write(key)
	case n < 7:
		d.send("GetItem", `{"TableName":"t","Key":`+key+`}`)
	case n == 7:
		d.wait()
	case n == 8 && len(d.hits) > 0:
		i := d.r.IntN(len(d.hits))
		d.attach(&d.hits[i])
		d.hits = append(d.hits[:i], d.hits[i+1:]...)
	case n == 9 && d.r.IntN(8) == 0:
		d.reload()
	default:
		d.lookUp(key, canonical, hashLen)
	}
}

func (d *randomClients) send(op, body string) {
	x := edge.Detached(context.Background(), request(op), []byte(body), time.Now())
	if d.r.IntN(2) == 0 {
		d.svc.Serve(x)
	} else {
		d.c.Serve(x)
	}
	synctest.Wait() // for background work: the origin's faults are set without a lock
}

// write changes an item with a random kind of request, which may fail.
func (d *randomClients) write(key string) {
	d.n++
	if d.r.IntN(6) == 0 {
		d.setOrigin([]string{"reset", "done-then-reset", "timeout", "dial"}[d.r.IntN(4)])
	}
	item := strings.TrimSuffix(key, "}") + fmt.Sprintf(`,"v":{"N":"%d"}}`, d.n)
	update := `{"TableName":"t","Key":` + key + `,"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{":v":{"N":"` + fmt.Sprint(d.n) + `"}}`
	switch d.r.IntN(7) {
	case 0, 1:
		d.send("PutItem", `{"TableName":"t","Item":`+item+`}`)
	case 2:
		d.send("UpdateItem", update+`}`)
	case 3:
		d.send("UpdateItem", update+`,"ReturnValues":"ALL_NEW"}`)
	case 4:
		d.send("DeleteItem", `{"TableName":"t","Key":`+key+`}`)
	case 5:
		d.send("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":`+item+`}}]}}`)
	case 6:
		d.send("TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t","Item":`+item+`}}]}`)
	}
	d.origin.next = nil
}

func (d *randomClients) wait() {
	for _, of := range []time.Duration{time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute} {
		if d.r.IntN(3) == 0 {
			time.Sleep(of) // of the bubble
			return
		}
	}
}

// reload turns the cache of items off, or on again.
func (d *randomClients) reload() {
	d.run("reload item=" + []string{"0s", "5m", "5m"}[d.r.IntN(3)])
}

func formOf(item []byte) string { return "form of " + string(item) }

func (d *randomClients) attach(h *Hit) { d.c.AttachForm(h, []byte(formOf(h.Item()))) }

// lookUp looks an item up and checks the result.
func (d *randomClients) lookUp(key string, canonical []byte, hashLen int) {
	h, ok := d.c.Item([]byte("t"), canonical, hashLen, time.Now())
	synctest.Wait()
	if !ok {
		return
	}
	if d.cfg.ItemTTL == 0 {
		d.t.Fatalf("%s is found although no items are cached", key)
	}
	d.found++
	if h.RefreshDue {
		d.c.Refresh(&h, []byte(key))
		synctest.Wait()
	}
	_, reply := d.origin.execute("GetItem", []byte(`{"TableName":"t","Key":`+key+`}`))
	have := emptyReply
	if item := h.Item(); item != nil {
		have = itemPrefix + string(item) + `}`
	} else {
		d.negative++
	}
	if !sameJSON(have, string(reply)) || (h.Item() == nil) != (h.Decision() == telemetry.HitNegative) {
		d.t.Fatalf("lookup of %s: got %s, %s; the origin has %s", key, have, h.Decision(), reply)
	}
	if form := h.Form(); form != nil {
		d.formed++
		if string(form) != formOf(h.Item()) {
			d.t.Fatalf("the item %s has the form %q", have, form)
		}
	}
	switch d.r.IntN(3) {
	case 0:
		d.attach(&h)
	case 1:
		d.hits = append(d.hits, h)
	}
}

// TestClientItemExpires checks that a form is cached exactly as long as its item.
func TestClientItemExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		key, canonical, hashLen := keyOfA(t, 1)
		s.run(`PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
		s.run("wait 1s")
		s.svc.cache.Apply(cache.Change{Tags: []cache.Tag{s.svc.settings.Load().tag}})
		begun := time.Now().Add(time.Second)
		s.run("wait 1s")
		s.send("GetItem", `{"TableName":"t","Key":`+key+`}`)
		c, _ := s.svc.Client(nil)
		at := func(d time.Duration) (h Hit, ok bool) { return c.Item([]byte("t"), canonical, hashLen, begun.Add(d)) }
		h, ok := at(4 * time.Minute)
		if !ok {
			t.Fatal("no hit")
		}
		c.AttachForm(&h, []byte("form"))
		if h, ok := at(s.cfg.ItemTTL - 1); !ok || string(h.Form()) != "form" {
			t.Error("the form was removed before the item expired")
		}
		if _, ok := at(s.cfg.ItemTTL); ok {
			t.Error("a hit after the item expired")
		}
	})
}

// TestClientItemReload checks that clients found after a reload have the new settings.
func TestClientItemReload(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	key, hashLen := canonicalA(t)
	reload := func(change func(*Config)) {
		t.Helper()
		change(&f.cfg)
		if err := f.svc.Reconfigure(f.cfg); err != nil {
			t.Fatal(err)
		}
	}
	check := func(id string, client, hit bool) {
		t.Helper()
		c, ok := f.svc.Client([]byte(id))
		if ok != client {
			t.Fatalf("client %q: found %t, want %t", id, ok, client)
		}
		if !ok {
			return
		}
		f.doAs(c, "GetItem", getA)
		if _, ok := c.Item([]byte("t"), key, hashLen, time.Now()); ok != hit {
			t.Errorf("lookup by %q: hit %t, want %t", id, ok, hit)
		}
	}
	no, none, some := false, time.Duration(0), time.Minute
	check("anonymous", true, true)
	for _, off := range []TableRule{{Pattern: "t", Cache: &no}, {Pattern: "t", ItemTTL: &none}} {
		reload(func(c *Config) { c.Tables = []TableRule{off} })
		check("anonymous", true, false)
		reload(func(c *Config) { c.Tables = []TableRule{{Pattern: "t", ItemTTL: &some}} })
		check("anonymous", true, true)
	}
	open, _ := f.svc.Client(nil)
	reload(func(c *Config) { twoKeys(c, nil); c.Open = false })
	if f.svc.settings.Load().verifier == nil {
		t.Error("a service with keys allows anonymous requests")
	}
	check("anonymous", false, false)
	check("FULL", true, true)
	check("LIMITED", true, false)
	if !open.Allowed(wire.Write, []byte("t")) {
		t.Error("a reload took permissions from a client found before it")
	}
	reload(func(c *Config) { c.Keys[0].Tables = []string{"*"} })
	check("LIMITED", true, true)
	reload(func(c *Config) { c.Keys[0].Allow = []wire.Access{wire.Write} })
	check("LIMITED", true, false)
	reload(func(c *Config) { c.Keys = c.Keys[1:] })
	check("LIMITED", false, false)
	reload(func(c *Config) { c.Keys, c.Open = nil, true })
	check("LIMITED", true, true)
}

// TestClientItemCounts checks that hits are counted like hits by HTTP, and that misses
// aren't counted.
func TestClientItemCounts(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	c, _ := f.svc.Client(nil)
	key, hashLen := canonicalA(t)
	look := func() (h Hit) { h, _ = c.Item([]byte("t"), key, hashLen, time.Now()); return h }
	look()
	f.do("GetItem", getA)
	x := edge.Detached(t.Context(), request("GetItem"), []byte(getA), time.Now())
	f.svc.Serve(x)
	if h := look(); h.KeyHash != x.Record.KeyHash {
		t.Errorf("the key's hash is %x; over HTTP it is %x", h.KeyHash, x.Record.KeyHash)
	}
	f.origin.reply("GetItem", `{}`)
	f.svc.cache.Apply(cache.Change{Tags: []cache.Tag{f.svc.settings.Load().tag}})
	look()
	f.do("GetItem", getA)
	look()
	look()
	w := httptest.NewRecorder()
	f.svc.registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for decision, n := range map[string]int{"hit": 2, "hit-negative": 2, "miss": 1, "miss-invalidated": 1} {
		line := fmt.Sprintf("kasoku_dynamodb_requests_total{decision=%q,operation=\"GetItem\",service=\"orders\"} %d\n", decision, n)
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("%q is missing in /metrics:%s", line, w.Body.String())
		}
	}
}

// TestClientARN checks that an ARN counts as the table that it names, as in HTTP requests.
func TestClientARN(t *testing.T) {
	f := newFixture(t, twoKeys)
	for id, want := range map[string]string{"FULL": "YYYYY", "LIMITED": "YnYnn"} {
		c, _ := f.svc.Client([]byte(id))
		got := ""
		for _, name := range []string{"abc", "t", "arn:aws:dynamodb:us-east-1:0:table/abc", "arn:aws:dynamodb:us-east-1:0:table/t/index/abc", "arn:abc"} {
			if c.Allowed(wire.Read, []byte(name)) {
				got += "Y"
			} else {
				got += "n"
			}
		}
		if got != want {
			t.Errorf("permissions of %s: got %s, want %s", id, got, want)
		}
	}
}

// TestClientItemBudget checks that the calls of a front for a hit don't allocate.
func TestClientItemBudget(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; nothing to measure")
		return
	}
	for name, auth := range map[string]func(*Config){"open": open, "one key": oneKey, "patterns": limitedKey} {
		for _, reply := range []string{`{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`, `{}`} {
			s, p := withParrot(t, auth)
			warmExchange(t, s, p, "GetItem", getA, reply)
			id, table := []byte("FULL"), []byte("t")
			key, hashLen := canonicalA(t)
			n := testing.AllocsPerRun(1000, func() {
				now := time.Now()
				c, ok := s.Client(id)
				if _, known := c.CachedSchema(table, now); !ok || !known || !c.Allowed(wire.Read, table) {
					t.Fatal("no client was found")
				}
				h, ok := c.Item(table, key, hashLen, now)
				if !ok || h.RefreshDue || h.KeyHash == 0 || h.Form() != nil || (h.Item() == nil) != (h.Decision() == telemetry.HitNegative) {
					t.Fatal("no hit")
				}
			})
			if n > 0 {
				t.Errorf("%s: %v allocations for the item %s, want none", name, n, reply)
			}
		}
	}
}
