package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

func TestIdentify(t *testing.T) {
	id := func(pairs ...string) Identity { return Identify(http1.FieldsOf(pairs...)) }
	all := map[Identity]string{}
	for _, pairs := range [][]string{
		{},
		{"Authorization", "Basic YQ=="},
		{"Authorization", "Basic Yg=="},
		{"Authorization", "Bearer YQ=="},
		{"Authorization", ""},
		{"Cookie", "AuthSession=YQ"},
		{"Cookie", "AuthSession=YQ; AuthSession=Yg"},
		{"Cookie", "AuthSession=YQ", "Authorization", "Basic YQ=="},
		{"Authorization", "Basic YQ==", "Authorization", "Basic Yg=="},
		{"X-Auth-CouchDB-UserName", "a"},
		{"X-Auth-CouchDB-UserName", "a", "X-Auth-CouchDB-Roles", "r"},
		{"X-Auth-CouchDB-Token", "a"},
		{"Authorization", strings.Repeat("x", 2*maxCredentials)},
	} {
		i := id(pairs...)
		if before, seen := all[i]; seen {
			t.Errorf("%q has the identity of %s", pairs, before)
		}
		all[i] = fmt.Sprintf("%q", pairs)
		if i.Anonymous != (len(pairs) == 0) {
			t.Errorf("%q: anonymous %t", pairs, i.Anonymous)
		}
	}
	same := func(a, b Identity) {
		t.Helper()
		if a != b {
			t.Error("the same credentials are two identities")
		}
	}
	same(id(), id("Cookie", "theme=dark; XAuthSession=YQ", "Accept", "*/*"))
	same(id("Cookie", "AuthSession=YQ"), id("cookie", "theme=dark;AuthSession=YQ ; x=y", "Accept", "*/*"))
	same(id("Cookie", "a=b", "Cookie", "AuthSession=YQ"), id("Cookie", "AuthSession=YQ"))
	same(id("Cookie", "a=b, AuthSession=YQ"), id("Cookie", "AuthSession=YQ"))
	same(id("Cookie", `a="b,AuthSession=YQ,c"; d`), id("Cookie", "AuthSession=YQ"))
}

var (
	bob  = Identify(http1.FieldsOf("Authorization", "Basic Ym9i"))
	ann  = Identify(http1.FieldsOf("Authorization", "Basic YW5u"))
	none = Identify(nil)
	db   = []byte("db")
)

func newCache(t *testing.T) (*Cache, *cache.Cache) {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	return NewCache(space, Config{Service: "s"}), c
}

// checkWithStatus returns a Check that returns a status and counts its calls.
func checkWithStatus(status int, asked *atomic.Int32) Check {
	return func(context.Context, bool) (int, error) {
		asked.Add(1)
		return status, nil
	}
}

func (g *Cache) expect(t *testing.T, id Identity, name string, want Verdict) {
	t.Helper()
	if got, _ := g.Lookup(id, []byte(name), g.space.Cache().Now()); got != want {
		t.Errorf("got %s for %s; want %s", got, name, want)
	}
}

func TestDecisions(t *testing.T) {
	g, c := newCache(t)
	defer c.Close()
	f := func(status int, want, kept Verdict) {
		t.Helper()
		var asked atomic.Int32
		name := fmt.Sprint("db", status)
		g.expect(t, bob, name, Unknown)
		if got, err := g.Decide(t.Context(), bob, []byte(name), checkWithStatus(status, &asked)); got != want || err != nil {
			t.Errorf("status %d: got %s, %v; want %s", status, got, err, want)
		}
		g.expect(t, bob, name, kept)
		g.expect(t, ann, name, Unknown)
		g.expect(t, none, name, Unknown)
	}
	f(200, Allowed, Allowed)
	f(401, Denied, Denied)
	f(403, Denied, Denied)
	f(404, Unknown, Unknown)
	f(500, Unknown, Unknown)
	f(302, Unknown, Unknown)
	if got, err := g.Decide(t.Context(), bob, db, func(context.Context, bool) (int, error) { return 0, errors.New("away") }); err == nil {
		t.Errorf("got %s from an unreachable node", got)
	}
}

// TestWrites checks which decisions are dropped with which writes.
func TestWrites(t *testing.T) {
	f := func(method, path string, want ...Verdict) {
		t.Helper()
		g, c := newCache(t)
		defer c.Close()
		var asked atomic.Int32
		keep := func(id Identity, name string) {
			if _, err := g.Decide(t.Context(), id, []byte(name), checkWithStatus(200, &asked)); err != nil {
				t.Fatal(err)
			}
		}
		keep(bob, "db")
		keep(ann, "db")
		keep(bob, "other")
		r := api.Classify([]byte(method), nil, []byte(path), nil)
		write(t, c, g.AppendWrites(nil, &r, bob))
		for i, id := range []Identity{bob, ann, bob} {
			name := []string{"db", "db", "other"}[i]
			if got, _ := g.Lookup(id, []byte(name), c.Now()); got != want[i] {
				t.Errorf("%s %s: decision %d is %s; want %s", method, path, i, got, want[i])
			}
		}
	}
	f("PUT", "/db/_security", Unknown, Unknown, Allowed)
	f("PUT", "/d%62/_security", Unknown, Unknown, Allowed)
	f("DELETE", "/db", Unknown, Unknown, Allowed)
	f("PUT", "/db/doc", Allowed, Allowed, Allowed)
	f("DELETE", "/_session", Unknown, Allowed, Unknown)
	f("PUT", "/_users/org.couchdb.user:x", Unknown, Unknown, Unknown)
	f("PUT", "/_node/_local/_config/admins/x", Unknown, Unknown, Unknown)
}

// write makes a write of tags.
func write(t *testing.T, c *cache.Cache, tags []cache.Tag) {
	w, err := c.Begin(t.Context(), tags, nil)
	if err == nil {
		_, err = w.Commit(t.Context(), cache.Change{})
	}
	if err != nil {
		t.Error(err)
	}
}

// TestDecisionOvertakenByWrite checks that a decision is not cached if _security is written
// meanwhile.
func TestDecisionOvertakenByWrite(t *testing.T) {
	g, c := newCache(t)
	defer c.Close()
	security := api.Classify([]byte("PUT"), nil, []byte("/db/_security"), nil)
	_, err := g.Decide(t.Context(), bob, db, func(context.Context, bool) (int, error) {
		write(t, c, g.AppendWrites(nil, &security, ann))
		return 200, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g.expect(t, bob, "db", Unknown)
	if _, err := g.Decide(t.Context(), bob, db, func(_ context.Context, writer bool) (int, error) {
		if !writer {
			t.Error("any node is queried right after a write")
		}
		return 403, nil
	}); err != nil {
		t.Fatal(err)
	}
	g.expect(t, bob, "db", Denied)
}

// TestLifetime checks how long a decision is valid, and that one caller refreshes it before its
// end.
func TestLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, c := newCache(t)
		defer c.Close()
		var asked atomic.Int32
		if _, err := g.Decide(t.Context(), bob, db, checkWithStatus(200, &asked)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		refreshes, looked := 0, make(chan struct{})
		for range 10 {
			v, refresh := g.Lookup(bob, db, c.Now())
			if v != Allowed {
				t.Errorf("got %s before the end", v)
			}
			if refresh {
				refreshes++
				g.Refresh(bob, db, func(ctx context.Context, writer bool) (int, error) {
					<-looked
					return checkWithStatus(403, &asked)(ctx, writer)
				})
			}
		}
		close(looked)
		synctest.Wait()
		g.expect(t, bob, "db", Denied)
		if refreshes != 1 || asked.Load() != 2 {
			t.Errorf("got %d refreshes and %d requests", refreshes, asked.Load())
		}
		time.Sleep(2001 * time.Millisecond)
		g.expect(t, bob, "db", Unknown)
	})
}

// TestSharedCheck checks that concurrent waiters share one request to the node.
func TestSharedCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, c := newCache(t)
		defer c.Close()
		var asked atomic.Int32
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				v, err := g.Decide(t.Context(), bob, db, func(context.Context, bool) (int, error) {
					asked.Add(1)
					time.Sleep(time.Second)
					return 200, nil
				})
				if v != Allowed || err != nil {
					t.Error(v, err)
				}
			})
		}
		wg.Wait()
		if asked.Load() != 1 {
			t.Errorf("the node received %d requests", asked.Load())
		}
	})
}

func TestScope(t *testing.T) {
	f := func(path string, a, b Identity, want bool) {
		t.Helper()
		r := api.Classify([]byte("GET"), nil, []byte(path), nil)
		if got := string(AppendScope(nil, &r, a)) == string(AppendScope(nil, &r, b)); got != want {
			t.Errorf("%s: got shared %t", path, got)
		}
	}
	f("/db/doc", bob, ann, true)
	f("/db/_design/d/_view/v", bob, none, true)
	f("/db/_design/d/_list/l/v", bob, bob, true)
	f("/db/_design/d/_list/l/v", bob, ann, false)
	f("/db/_design/d/_show/s", bob, none, false)
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		return // the race detector allocates
	}
	g, c := newCache(t)
	defer c.Close()
	var n atomic.Int32
	if _, err := g.Decide(t.Context(), bob, db, checkWithStatus(200, &n)); err != nil {
		t.Fatal(err)
	}
	header := http1.FieldsOf("Accept", "*/*", "Cookie", "theme=dark; AuthSession=YQ", "Authorization", "Basic Ym9i")
	if allocs := testing.AllocsPerRun(100, func() {
		_ = Identify(header)
		g.Lookup(bob, db, c.Now())
	}); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}
