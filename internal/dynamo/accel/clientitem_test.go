package accel

import (
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// canonicalA is the key of getA's item.
func canonicalA(t testing.TB) (key []byte, hashLen int) {
	key, ok := wire.AppendScalar(nil, []byte(`{"S":"a"}`), 'S')
	hashLen = len(key)
	key, more := wire.AppendScalar(key, []byte(`{"N":"1"}`), 'N')
	if !ok || !more {
		t.Fatal("no key")
	}
	return key, hashLen
}

func TestClientItem(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	f.origin.reply("PutItem", `{}`)
	c, _ := f.svc.Client(nil)
	key, hashLen := canonicalA(t)
	table := []byte("t")
	miss := func() {
		t.Helper()
		if h, ok := c.Item(table, key, hashLen, time.Now()); ok {
			t.Fatalf("got a hit: %s", h.Item())
		}
		if got := f.doAs(c, "GetItem", getA); got.status != 200 {
			t.Fatalf("got %v", got)
		}
	}
	hit := func(item, form string, d telemetry.Decision) (h Hit) {
		t.Helper()
		h, ok := c.Item(table, key, hashLen, time.Now())
		if !ok || string(h.Item()) != item || string(h.Form()) != form || h.Decision() != d || h.KeyHash == 0 {
			t.Fatalf("%t: %s and %q, %s", ok, h.Item(), h.Form(), h.Decision())
		}
		return h
	}
	const item = `{"p":{"S":"a"},"s":{"N":"1"}}`
	miss()
	h := hit(item, "", telemetry.Hit)
	c.AttachForm(&h, []byte("form"))
	hit(item, "form", telemetry.Hit)
	f.doAs(c, "PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"new"}}}`)
	c.AttachForm(&h, []byte("late")) // a form of the item before the write
	if h, ok := c.Item(table, key, hashLen, time.Now()); ok && (string(h.Form()) != "" || string(h.Item()) == item) {
		t.Errorf("after a write: got the item %s with the form %q", h.Item(), h.Form())
	}
	f.origin.reply("GetItem", `{}`)
	f.svc.cache.Apply(cache.Change{Tags: []cache.Tag{f.svc.settings.Load().tag}})
	miss()
	hit("", "", telemetry.HitNegative)
}

// TestClientItemRefresh checks that an entry that is due for a refresh is refreshed once.
func TestClientItemRefresh(t *testing.T) {
	f := newFixture(t, func(c *Config, _ *cache.Config) { c.RefreshAhead = 0.999 })
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	c, _ := f.svc.Client(nil)
	f.doAs(c, "GetItem", getA)
	key, hashLen := canonicalA(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"new"}}}`)
	due := 0
	await.Until(t, func() bool {
		h, ok := c.Item([]byte("t"), key, hashLen, time.Now().Add(time.Second))
		if ok && h.RefreshDue {
			due++
			c.AttachForm(&h, []byte("old"))
			c.Refresh(&h, []byte(`{"p":{"S":"a"},"s":{"N":"1"}}`))
		}
		return ok && string(h.Item()) != `{"p":{"S":"a"},"s":{"N":"1"}}` && h.Form() == nil
	})
	if due != 1 {
		t.Errorf("a refresh was due %d times, want 1", due)
	}
}

// TestClientItemMisses looks items up that must not be found.
func TestClientItemMisses(t *testing.T) {
	f := newFixture(t, twoKeys)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	full, _ := f.svc.Client([]byte("FULL"))
	f.doAs(full, "GetItem", getA)
	key, hashLen := canonicalA(t)
	if _, ok := full.Item([]byte("t"), key, hashLen, time.Now()); !ok {
		t.Error("no hit")
	}
	limited, _ := f.svc.Client([]byte("LIMITED"))
	if _, ok := limited.Item([]byte("t"), key, hashLen, time.Now()); ok {
		t.Error("a hit for a client without read permission")
	}
	for _, name := range []string{"", "u"} {
		if _, ok := full.Item([]byte(name), key, hashLen, time.Now()); ok {
			t.Errorf("a hit in table %q", name)
		}
	}
	if _, ok := full.Item([]byte("t"), key[:hashLen], hashLen, time.Now()); ok {
		t.Error("a hit for the partition key alone")
	}
	if _, ok := full.Item([]byte("t"), make([]byte, 4000), 3000, time.Now()); ok {
		t.Error("a hit for a long key")
	}
}
