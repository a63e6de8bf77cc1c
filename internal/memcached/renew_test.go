package memcached

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

// stale configures a location to send stale values for ten minutes.
func stale(l *Location) { l.Store.Stale = 10 * time.Minute }

// versions is a fallback whose answer can be set. An empty one is a failure.
type versions struct {
	now  atomic.Pointer[string]
	gate chan struct{} // if not nil, answers wait until it is closed
}

func (v *versions) set(text string) { v.now.Store(&text) }

func (v *versions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := *v.now.Load()
	if v.gate != nil {
		<-v.gate
	}
	if text == "" {
		w.WriteHeader(500)
		return
	}
	io.WriteString(w, text)
}

// newStaleSite starts a site with a value under the key 1 that is past its ttl.
func newStaleSite(t *testing.T, v *versions, change ...func(*Location)) *backed {
	b := newBacked(t, v.ServeHTTP, minute(append([]func(*Location){stale}, change...)...)).listen()
	b.set("1", "old", 0, 9*time.Minute)
	return b
}

// awaitStored waits until memcached has the value under the key 1.
func (b *backed) awaitStored(want string) {
	b.t.Helper()
	if !await.Until(b.t, func() bool { return b.stored("1") == want }) {
		b.t.FailNow()
	}
	b.waitIdle()
}

// A value past its ttl is sent at once, and renewed by one request to the fallback for any
// number of clients.
func TestRenewal(t *testing.T) {
	v := &versions{gate: make(chan struct{})}
	v.set("new")
	b := newStaleSite(t, v)
	for i, want := range []string{"ttl=-60", "ttl=-60", "ttl=-60"} {
		r := b.get([]string{"HEAD /a?k=1", "/a?k=1", "/a?k=1"}[i], "Authorization", "me", "Cookie", "a=b", "If-None-Match", `"x"`)
		how := r.header.Get("Cache-Status")
		if r.status != 200 || !strings.Contains(how, "detail=stale") || !strings.Contains(how, "hit; ttl=-") {
			t.Errorf("request %d: got %s, %s; want %s", i, r, how, want)
		}
	}
	close(v.gate)
	b.awaitStored("new")
	b.expect("then", `200 "new" hit; detail=memcached`, b.get("/a?k=1"))
	if got := b.requests(); !slices.Equal(got, []string{"GET /a?k=1"}) {
		t.Errorf("the fallback was asked %q", got)
	}
	it, _ := b.server("1").Item("1")
	if left := time.Until(it.Expires); left < 10*time.Minute || left > 11*time.Minute {
		t.Errorf("the value is stored for %s", left)
	}
	if n := b.count("kasoku_memcached_renewals_total", "outcome", "renewed"); n != 1 {
		t.Errorf("%d renewals are counted, want 1", n)
	}
}

// A value that can't be renewed is still sent. After a pause the next request tries to renew
// it again.
func TestRenewalFails(t *testing.T) {
	f := func(name string, script http.HandlerFunc) {
		t.Run(name, func(t *testing.T) {
			v := &versions{}
			v.set("new")
			failing := true
			var mu sync.Mutex
			b := newStaleSite(t, v)
			b.svc.renewals.maxPause = time.Hour // ended by endPause
			b.script = func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				now := failing
				mu.Unlock()
				if now {
					script(w, r)
					return
				}
				v.ServeHTTP(w, r)
			}
			failed := func(n uint64) {
				t.Helper()
				await.Until(t, func() bool { return b.count("kasoku_memcached_renewals_total", "outcome", "failed") == n })
				b.waitIdle()
			}
			b.expect("first", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
			failed(1)
			asked := len(b.requests())
			for range 3 {
				b.expect("during the pause", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
			}
			if n := len(b.requests()); n != asked {
				t.Errorf("the fallback was asked %d times during the pause, want 0", n-asked)
			}
			b.endPause()
			b.expect("again", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
			failed(2)
			if it, _ := b.server("1").Item("1"); time.Until(it.Expires) > 9*time.Minute {
				t.Errorf("a failure extended the value's lifetime to %s", time.Until(it.Expires))
			}
			mu.Lock()
			failing = false
			mu.Unlock()
			b.endPause()
			b.expect("when the fallback answers again", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
			b.awaitStored("new")
		})
	}
	f("error", always(500, "oops"))
	f("not there", always(404, "none"))
	f("for one client", always(200, "mine", "Set-Cookie", "a=b"))
	f("cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "hello")
	})
	f("not changed", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) })
	f("a part", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206) })
	f("no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// endPause ends the pause after failed renewals.
func (b *backed) endPause() {
	b.t.Helper()
	r := &b.svc.renewals
	r.mu.Lock()
	var over []*renewal
	for n, timer := range r.timers {
		if timer.Stop() {
			over = append(over, n)
		}
	}
	r.mu.Unlock()
	if len(over) != 1 {
		b.t.Errorf("%d renewals are paused, want 1", len(over))
	}
	for _, n := range over {
		n.mark()
	}
}

// A client's change of a value during its renewal is not overwritten.
func TestRenewalIsOvertaken(t *testing.T) {
	v := &versions{gate: make(chan struct{})}
	v.set("new")
	b := newStaleSite(t, v)
	b.get("/a?k=1")
	b.set("1", "newer", 0, time.Hour)
	close(v.gate)
	if !await.Until(t, func() bool { return b.count("kasoku_memcached_fallback_stores_total", "outcome", "overtaken") == 1 }) {
		return
	}
	b.expect("then", `200 "newer" hit; detail=memcached`, b.get("/a?k=1"))
}

// Only one of several processes renews a value.
func TestOneRenewalOfAllProcesses(t *testing.T) {
	v := &versions{gate: make(chan struct{})}
	v.set("new")
	a := newStaleSite(t, v)
	b := &backed{site: &site{t: t, cfg: a.cfg, servers: a.servers, registry: telemetry.NewRegistry()}}
	b.listen()
	for range 5 {
		a.expect("one", `200 "old" hit; detail=stale`, a.get("/a?k=1"))
		b.expect("the other", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
	}
	close(v.gate)
	a.awaitStored("new")
	if n := len(a.requests()); n != 1 {
		t.Errorf("the fallback was asked %d times", n)
	}
}

// If another client should renew a value and does not, this process renews it after
// maxRenewWait.
func TestOverdueRenewal(t *testing.T) {
	v := &versions{}
	v.set("new")
	b := newStaleSite(t, v)
	b.set("1", "old", 0, 10*time.Minute-time.Second)
	other := &backed{site: &site{t: t, cfg: b.cfg, servers: b.servers, registry: telemetry.NewRegistry()}}
	other.cfg.Fallbacks, other.cfg.Fallback = nil, None
	other.cfg.Locations = slices.Clone(other.cfg.Locations)
	other.cfg.Locations[0].Fallback = None
	other.listen()
	other.expect("the client that should renew", `200 "old" hit; detail=stale`, other.get("/a?k=1"))
	b.expect("this process at first", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
	if n := len(b.requests()); n != 0 {
		t.Errorf("the fallback was asked %d times", n)
	}
	b.server("1").Advance(maxRenewWait)
	b.expect("this process, before it has waited", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
	r := &b.svc.renewals
	r.mu.Lock()
	if w, ok := r.waits["1"]; ok {
		w.since = w.since.Add(-maxRenewWait)
		r.waits["1"] = w
	}
	r.mu.Unlock()
	if n := len(b.requests()); n != 0 {
		t.Errorf("the fallback was asked %d times", n)
	}
	b.expect("this process, after it has waited", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
	b.awaitStored("new")
}

// Explain does not renew a value: if memcached assigns the renewal to it, it passes that on to
// the next request.
func TestExplainDoesNotRenew(t *testing.T) {
	v := &versions{}
	v.set("")
	b := newStaleSite(t, v)
	b.svc.renewals.maxPause = time.Hour
	b.get("/a?k=1")
	await.Until(t, func() bool { return b.count("kasoku_memcached_renewals_total", "outcome", "failed") == 1 })
	b.endPause() // the next request is assigned the renewal
	for range 2 {
		e, err := b.svc.Explain(context.Background(), admin.ExplainRequest{Path: "/a?k=1"})
		if err != nil || e.Decision != "hit-stale" {
			t.Errorf("got %+v, error %v", e, err)
		}
	}
	v.set("new")
	b.expect("then", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
	b.awaitStored("new")
}

// A renewal is requested without the callback, and the stale value is wrapped.
func TestRenewalWithCallback(t *testing.T) {
	filter, err := jsonp.New(func() jsonp.Config { c := jsonp.Defaults(jsonp.Dotted); c.Param = "callback"; return c }())
	if err != nil {
		t.Fatal(err)
	}
	v := &versions{}
	v.set(`{"n":2}`)
	b := newStaleSite(t, v, func(l *Location) { l.JSONP, l.ContentType = filter, "application/json" })
	b.set("1", `{"n":1}`, 0, 9*time.Minute)
	r := b.get("/a?k=1&callback=cb")
	if r.body != `/**/cb({"n":1});` {
		t.Errorf("stale: %s", r)
	}
	b.awaitStored(`{"n":2}`)
	if got := b.requests(); !slices.Equal(got, []string{"GET /a?k=1"}) {
		t.Errorf("the fallback was asked %q", got)
	}
}

// Servers without support for renewals keep values for their ttl.
func TestNoStaleTimeOnTextServers(t *testing.T) {
	b := newBacked(t, always(200, "hello"), minute(stale))
	text := memcachedtest.Start(t, false)
	b.servers[0] = text
	b.cfg.Client.Servers[0].Address = text.Address()
	b.listen()
	b.get("/a?k=1")
	b.waitIdle()
	it, ok := text.Item("1")
	if left := time.Until(it.Expires); !ok || left > time.Minute {
		t.Errorf("the value is stored for %s", left)
	}
	b.expect("then", `200 "hello" hit; detail=memcached`, b.get("/a?k=1"))
}

// A stored answer is copied in this process. A stale value is renewed first.
func TestNearOfStored(t *testing.T) {
	v := &versions{}
	v.set("new")
	b := newBacked(t, v.ServeHTTP, minute(stale, func(l *Location) { l.NearTTL = time.Hour })).listen()
	b.expect("first", `200 "new" fwd=miss; stored`, b.get("/a?k=1"))
	b.waitIdle()
	b.expect("then", `200 "new" hit; detail=near`, b.get("/a?k=1"))
	if n := len(b.server("1").Commands("mg")); n != 1 {
		t.Errorf("memcached was asked %d times", n)
	}
	b.svc.forgetAll()
	b.set("1", "old", 0, 9*time.Minute)
	b.expect("stale", `200 "old" hit; detail=stale`, b.get("/a?k=1"))
	b.awaitStored("new")
	b.expect("renewed", `200 "new" hit; detail=near`, b.get("/a?k=1"))
}

// An answer from before a purge is not copied.
func TestNearAfterPurge(t *testing.T) {
	gate := make(chan struct{})
	v := &versions{gate: gate}
	v.set("new")
	b := newBacked(t, v.ServeHTTP, minute(func(l *Location) { l.NearTTL = time.Hour })).listen()
	var wg sync.WaitGroup
	wg.Go(func() { b.get("/a?k=1") })
	await.Until(t, func() bool { return len(b.requests()) == 1 })
	b.svc.forgetAll()
	close(gate)
	wg.Wait()
	b.waitIdle()
	b.expect("then", `200 "new" hit; detail=memcached`, b.get("/a?k=1"))
}

// The number of tracked renewals is limited. Expired ones are removed.
func TestRenewalsAreBounded(t *testing.T) {
	var r renewals
	now := time.Now()
	begin := func(key string, at time.Time) bool { return r.begin(&renewal{wire: []byte(key)}, at) }
	for i := range maxRenewals {
		if !begin(strings.Repeat("k", i%200)+string(rune('a'+i/200)), now) {
			t.Fatalf("renewal %d was refused", i)
		}
	}
	if begin("more", now) || begin("k", now) {
		t.Error("a renewal over the limit, or a second one of a key, was accepted")
	}
	if !begin("more", now.Add(maxRenewalTime)) {
		t.Error("a renewal was refused although the others have expired")
	}
	r.close()
	if begin("closed", now.Add(time.Hour)) {
		t.Error("a renewal began after close")
	}
}
