package memcached

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

// newOwned returns two services as one cluster with the same memcached and fallback. b owns all
// keys.
func newOwned(t *testing.T, script http.HandlerFunc, change ...func(*Location)) (a, b *backed, cl *clustertest.Cluster) {
	t.Helper()
	l := Location{Path: "/count", Key: "${arg.id}", Store: &Store{TTL: time.Minute, MaxSize: 1 << 20}}
	for _, f := range change {
		f(&l)
	}
	a = newBacked(t, script, l)
	b = &backed{site: &site{t: t, cfg: a.cfg, servers: a.servers, registry: telemetry.NewRegistry()}}
	a.listen()
	b.listen()
	cl = clustertest.Connect(a.cache, b.cache)
	cl.Share(b.cache)
	return a, b, cl
}

// The owner calls the fallback and stores the answer, and the other member gets it.
func TestPeerAnswers(t *testing.T) {
	f := func(name string, script http.HandlerFunc, fields []string, fetches, cacheStatus, stored string, again int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			a, b, cl := newOwned(t, script, func(l *Location) { l.NegativeTTL = time.Minute; l.ETag = true })
			r := a.get("/count?id=1", fields...)
			if r.body != "hello" || !strings.Contains(r.header.Get("Cache-Status"), cacheStatus) {
				t.Errorf("got %s, %s; want %s", r, r.header.Get("Cache-Status"), cacheStatus)
			}
			if got := fmt.Sprint(cl.Fetches()); got != fetches {
				t.Errorf("the owner answered with %s, want %s", got, fetches)
			}
			await.Until(t, func() bool {
				return a.svc.fallbacks.engines[0].Stats().Running == 0 && b.svc.fallbacks.engines[0].Stats().Running == 0
			})
			if it, _ := a.servers[0].Item("1"); it.Value != stored {
				t.Errorf("memcached has %q, want %q", it.Value, stored)
			}
			if n := b.svc.metrics.stores[Kept].Value() + a.svc.metrics.stores[Kept].Value(); stored != "" && (n != 1 || fetches == "[fill]" && b.svc.metrics.stores[Kept].Value() != 1) {
				t.Errorf("the answer was stored %d times, want once by the owner", n)
			}
			before := len(a.requests())
			a.get("/count?id=1", fields...)
			if n := len(a.requests()) - before; n != again {
				t.Errorf("the next request: %d calls of the fallback, want %d", n, again)
			}
		})
	}
	f("stored", always(200, "hello"), nil, "[fill]", "detail=peer; stored", "hello", 0)
	f("negative", always(404, "hello"), nil, "[fill]", "detail=peer", "", 0)
	f("error", always(500, "hello"), nil, "[fill]", "detail=peer", "", 1)
	f("private", always(200, "hello", "Cache-Control", "private"), nil, "[fill]", "fwd=miss", "", 1)
	f("cookie", always(200, "hello", "Set-Cookie", "a=b"), nil, "[fill]", "fwd=miss", "", 1)
	f("credentials", always(200, "hello"), []string{"Authorization", "x"}, "[]", "detail=credentials", "", 1)
}

// A question that arrives after the answer was stored is answered with what memcached has.
func TestPeerLooksAgain(t *testing.T) {
	f := func(name string, change func(*Location), stored memcachedtest.Item, again, want string, calls int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			a, b, cl := newOwned(t, always(200, "from the fallback"), change)
			replies := []string{"EN\r\n", again}
			a.servers[0].Set("1", stored.Value, stored.Flags, time.Minute)
			a.servers[0].Script(func(command string) (reply string, scripted bool) {
				if strings.HasPrefix(command, "mg ") && len(replies) > 0 {
					reply, replies = replies[0], replies[1:]
				}
				return reply, reply != ""
			})
			r := a.get("/count?id=1")
			if r.body != want || !strings.Contains(r.header.Get("Cache-Status"), "fwd=miss; detail=peer") {
				t.Errorf("got %s, %s; want %q of the other member", r, r.header.Get("Cache-Status"), want)
			}
			if got := a.requests(); len(got) != calls || fmt.Sprint(cl.Fetches()) != "[fill]" {
				t.Errorf("the fallback was called with %q, want %d calls", got, calls)
			}
			if calls > 0 {
				return
			}
			hit := b.get("/count?id=1")
			for _, name := range []string{"Content-Type", "ETag", "X-More"} {
				if got, want := r.header.Get(name), hit.header.Get(name); got != want {
					t.Errorf("got %s %q, want %q as of a hit", name, got, want)
				}
			}
		})
	}
	full := func(l *Location) {
		l.ETag, l.ContentType, l.Headers = true, "text/x", []Header{{Name: "X-More", Value: "1"}}
	}
	same, hello := func(*Location) {}, memcachedtest.Item{Value: "hello"}
	f("stored", same, hello, "", "hello", 0)
	f("fields", full, hello, "", "hello", 0)
	f("empty", same, memcachedtest.Item{}, "", "", 0)
	f("compressed", same, memcachedtest.Item{Value: asGzip("hello")}, "", "hello", 0)
	f("stale", func(l *Location) { l.Store.Stale = time.Hour }, hello, "", "from the fallback", 1)
	f("none", same, hello, "EN\r\n", "from the fallback", 1)
	f("trouble", same, hello, "SERVER_ERROR out of memory\r\n", "from the fallback", 1)
	f("not stored", func(l *Location) { l.Store = nil }, hello, "", "from the fallback", 1)
}

// Concurrent misses at both members call the fallback once, also if their look-up ended after
// the answer was stored.
func TestPeerCrowd(t *testing.T) {
	var once sync.Once
	arrived, release := make(chan struct{}), make(chan struct{})
	a, b, _ := newOwned(t, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(arrived) })
		<-release
		always(200, "hello")(w, r)
	})
	var clients sync.WaitGroup
	for i := range 40 {
		s := [...]*backed{a, b}[i%2]
		clients.Go(func() {
			if r := s.get("/count?id=1"); r.body != "hello" {
				t.Errorf("got %s", r)
			}
		})
	}
	<-arrived
	await.Until(t, func() bool {
		return a.svc.fallbacks.engines[0].Stats().Running == 1 && b.svc.fallbacks.engines[0].Stats().Running == 1
	})
	close(release)
	clients.Wait()
	if got := a.requests(); len(got) != 1 {
		t.Errorf("the fallback was called with %q", got)
	}
}

// Explain names the owner of a key.
func TestExplainOwner(t *testing.T) {
	a, b, _ := newOwned(t, always(200, "hello"))
	for s, want := range map[*backed]bool{a: true, b: false} {
		e, err := s.svc.Explain(t.Context(), admin.ExplainRequest{Path: "/count?id=1"})
		if err != nil || strings.Contains(fmt.Sprint(e.Steps), "peer owner") != want {
			t.Errorf("got %v, %v; want the owner: %v", e.Steps, err, want)
		}
	}
}
