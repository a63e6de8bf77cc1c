package accel

import (
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

const queryOfA = `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`

var queryOperation, _ = wire.FindOperation([]byte(targetPrefix + "Query"))

// cachedPage has the answer of queryOfA cached, with another form, and returns its key.
func (f *fixture) cachedPage(c Client) PageKey {
	f.t.Helper()
	f.origin.reply("Query", `{"Items":[],"Count":0}`)
	if got := f.doAs(c, "Query", queryOfA); got.status != 200 || got.decision != telemetry.Miss {
		f.t.Fatalf("got %v", got)
	}
	h, ok := c.Page(queryOperation, []byte("t"), []byte(queryOfA), time.Now())
	if !ok {
		f.t.Fatal("no hit")
	}
	key := h.Key([]byte(queryOfA))
	if again, ok := c.PageAgain(queryOperation, []byte("t"), &key, time.Now()); ok {
		f.t.Fatalf("a hit with the form %q before one was attached", again.Form())
	}
	c.AttachPageForm(&h, []byte("form"))
	again, ok := c.PageAgain(queryOperation, []byte("t"), &key, time.Now())
	if !ok || string(again.Form()) != "form" || again.KeyHash != h.KeyHash {
		f.t.Fatalf("%t: the form %q and the hash %x", ok, again.Form(), again.KeyHash)
	}
	return key
}

// TestPageAgain checks that an answer is found by its key only as long as by its request.
func TestPageAgain(t *testing.T) {
	for name, end := range map[string]func(f *fixture, full *Client, table *string){
		"written": func(f *fixture, full *Client, _ *string) {
			f.origin.reply("PutItem", `{}`)
			f.doAs(*full, "PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
		},
		"purged": func(f *fixture, _ *Client, _ *string) {
			f.svc.cache.Apply(cache.Change{Tags: []cache.Tag{f.svc.settings.Load().tag}})
		},
		"described again": func(f *fixture, full *Client, _ *string) {
			tags := newTableTags(f.svc.settings.Load().tag, "t")
			f.svc.cache.Apply(cache.Change{Tags: []cache.Tag{tags.schema}})
			if _, err := full.Schema(f.t.Context(), []byte("t")); err != nil {
				f.t.Error(err)
			}
		},
		"another origin": func(f *fixture, _ *Client, _ *string) {
			f.cfg.Origin.URL = newFakeOrigin(f.t).srv.URL
			if err := f.svc.Reconfigure(f.cfg); err != nil {
				f.t.Error(err)
			}
		},
		"no permission": func(f *fixture, full *Client, _ *string) {
			*full, _ = f.svc.Client([]byte("LIMITED"))
		},
		"another table": func(_ *fixture, _ *Client, table *string) { *table = "u" },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, twoKeys)
			full, _ := f.svc.Client([]byte("FULL"))
			key, table := f.cachedPage(full), "t"
			end(f, &full, &table)
			if _, ok := full.PageAgain(queryOperation, []byte(table), &key, time.Now()); ok {
				t.Error("a hit")
			}
		})
	}
}

// TestPageAgainRefreshes checks that a hit by key starts a refresh that is due.
func TestPageAgainRefreshes(t *testing.T) {
	f := newFixture(t, func(c *Config, _ *cache.Config) { c.RefreshAhead = 0.999 })
	c, _ := f.svc.Client(nil)
	key := f.cachedPage(c)
	const updated = `{"Items":[{"p":{"S":"a"}}],"Count":1}`
	f.origin.reply("Query", updated)
	answer := func() string {
		e, found := f.svc.space.Peek(key.key, f.svc.cache.Now())
		if found != cache.Fresh {
			t.Fatalf("the entry is %v", found)
		}
		return string(e.Payload())
	}
	later := time.Now().Add(time.Second)
	if _, ok := c.PageAgain(queryOperation, []byte("t"), &key, later); !ok {
		t.Error("the hit that starts the refresh is none")
	}
	await.Until(t, func() bool {
		c.PageAgain(queryOperation, []byte("t"), &key, later) // a refresh is due after several hits
		return answer() == updated
	})
	if _, ok := c.PageAgain(queryOperation, []byte("t"), &key, later); ok {
		t.Error("a hit with the form of an earlier answer")
	}
}
