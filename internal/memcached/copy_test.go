package memcached

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

// newNear returns a site with a location /k, whose copies are kept for ten seconds, and one
// /off without copies.
func newNear(t *testing.T) *site {
	s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", NearTTL: 10 * time.Second, Fallback: None}, Location{Path: "/off", Key: "${arg.k}", Fallback: None})
	return s.start()
}

// hit returns the expected answer of a hit.
func hit(detail, body string) string {
	return "200\nCache-Status: kasoku; hit; " + detail + "\n\n" + body
}

// wantAfter requests the value of a key after d and compares the answer.
func (s *site) wantAfter(d time.Duration, want, k string) {
	s.t.Helper()
	if got := s.serve(status, later(d, "GET /k?k="+k)); got != want {
		s.t.Errorf("%s after %s:\n%s\nwant:\n%s", k, d, got, want)
	}
}

// A copy answers for near_ttl, or for as long as the value lives in memcached, and no
// longer.
func TestNear(t *testing.T) {
	s := newNear(t)
	s.set("v", "one", 0, 0)
	s.set("short", "one", 0, 5*time.Second+time.Second/2)
	s.wantAfter(0, hit("detail=memcached", "one"), "v")
	s.wantAfter(0, hit("ttl=5; detail=memcached", "one"), "short")
	s.set("v", "two", 0, 0)
	s.set("short", "two", 0, 0)
	s.wantAfter(0, hit("detail=near", "one"), "v")
	s.wantAfter(9*time.Second, hit("detail=near", "one"), "v")
	s.wantAfter(10*time.Second, hit("detail=memcached", "two"), "v")
	if got := s.serve(status, later(4*time.Second, "GET /k?k=short")); got != hit("ttl=0; detail=near", "one") && got != hit("ttl=1; detail=near", "one") {
		t.Errorf("short after 4s: %s", got)
	}
	s.wantAfter(5*time.Second, hit("detail=memcached", "two"), "short")
	s.servers[0].Stop()
	s.wantAfter(time.Second, hit("detail=near", "two"), "v")
	s.wantAnswer("503\nCache-Status: kasoku; fwd=miss; detail=down\n\nService Unavailable: memcached is unavailable, and there is no fallback\n",
		status, "GET /off?k=v")
}

// holdGets makes the server answer gets only after release.
func (s *site) holdGets() (release func()) {
	gate := make(chan struct{})
	s.servers[0].Script(func(command string) (string, bool) {
		if strings.HasPrefix(command, "mg ") {
			<-gate
		}
		return "", false
	})
	return sync.OnceFunc(func() { close(gate) })
}

// Memcached is queried once for any number of requests for the same copy.
func TestNearOnce(t *testing.T) {
	s := newNear(t)
	s.set("v", "value", 0, 0)
	release := s.holdGets()
	defer release()
	const clients = 50
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() { s.wantAnswer(hit("detail=memcached", "value"), status, "GET /k?k=v") })
	}
	await.Until(t, func() bool { return s.cache.Stats().Coalesced == clients-1 })
	release()
	wg.Wait()
	if gets := s.servers[0].Commands("mg "); len(gets) != 1 {
		t.Errorf("memcached was queried %d times", len(gets))
	}
}

// A value past its ttl is sent to all waiting requests and not kept, wrapped as well.
func TestNearStale(t *testing.T) {
	s := newSite(t, 1, Location{
		Path: "/k", Key: "${arg.k}", ContentType: "application/json", NearTTL: 10 * time.Second, Store: &Store{TTL: time.Minute, Stale: time.Hour},
		Fallback: None, JSONP: dotted(t, jsonp.Dotted),
	}).start()
	s.set("v", `{"a":1}`, 0, time.Hour-time.Second)
	for range 2 {
		release := s.holdGets()
		var wg sync.WaitGroup
		before := s.cache.Stats().Coalesced
		for range 20 {
			wg.Go(func() {
				s.wantAnswer(hit("ttl=-1; detail=stale; jsonp=wrapped", `/**/cb({"a":1});`), status, "GET /k?k=v&callback=cb")
			})
		}
		await.Until(t, func() bool { return s.cache.Stats().Coalesced == before+19 })
		release()
		wg.Wait()
	}
	if gets := s.servers[0].Commands("mg "); len(gets) != 2 {
		t.Errorf("memcached was queried %d times", len(gets))
	}
}

// A request that joined a query from more than near_ttl ago sends another one.
func TestNearJoinedLate(t *testing.T) {
	s := newNear(t)
	s.set("v", "value", 0, 0)
	release := s.holdGets()
	defer release()
	var wg sync.WaitGroup
	for i, d := range []time.Duration{0, 9 * time.Second, 11 * time.Second} {
		wg.Go(func() { s.wantAfter(d, hit("detail=memcached", "value"), "v") })
		await.Until(t, func() bool { return i > 0 || s.cache.Stats().Fills == 1 })
	}
	await.Until(t, func() bool { return s.cache.Stats().Coalesced == 2 })
	release()
	wg.Wait()
	if gets := s.servers[0].Commands("mg "); len(gets) != 2 {
		t.Errorf("memcached was queried %d times", len(gets))
	}
}

// A value that was requested before a purge is not kept.
func TestNearPurgedDuringQuery(t *testing.T) {
	s := newNear(t)
	s.set("v", "one", 0, 0)
	release := s.holdGets()
	defer release()
	var wg sync.WaitGroup
	wg.Go(func() { s.wantAnswer(hit("detail=memcached", "one"), status, "GET /k?k=v") })
	await.Until(t, func() bool { return s.cache.Stats().Fills == 1 })
	if _, err := s.svc.Purge(context.Background(), admin.PurgeRequest{}); err != nil {
		t.Fatal(err)
	}
	release()
	wg.Wait()
	s.set("v", "two", 0, 0)
	s.wantAfter(0, hit("detail=memcached", "two"), "v")
}

func TestPurge(t *testing.T) {
	s := newSite(t, 2, Location{Path: "/k", Key: "${arg.k}", NearTTL: time.Hour, Fallback: None, JSONP: dotted(t, 0)},
		Location{Path: "/h", Key: "${header.a}", Fallback: None})
	s.cfg.Rules.Namespace = "n:"
	s.start()
	fill := func() {
		for _, k := range []string{"a", "b"} {
			s.set(k, "old", 0, 0)
			s.ask(nil, "GET /k?k="+k)
			s.set(k, "new", 0, 0)
			s.wantAfter(0, hit("detail=near", "old"), k)
		}
	}
	drop := func(want string, r admin.PurgeRequest) {
		t.Helper()
		got, err := s.svc.Purge(context.Background(), r)
		if text := got.Dropped; err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %s, %v; want %s", r, text, err, want)
		}
	}
	fill()
	drop("all copies in this process; values in memcached are kept", admin.PurgeRequest{})
	s.wantAfter(0, hit("detail=memcached", "new"), "a")
	s.wantAfter(0, hit("detail=memcached", "new"), "b")
	s.svc.forgetAll()
	fill()
	drop("key n:a, also from "+s.server("a").Address(), admin.PurgeRequest{Key: []byte(`"a"`)})
	missing := "404\nCache-Status: kasoku; fwd=miss; detail=missing\n\n" + nothing
	s.wantAfter(0, missing, "a")
	s.wantAfter(0, hit("detail=near", "old"), "b")
	drop("key n:b, also from "+s.server("b").Address(), admin.PurgeRequest{Selector: purge.By(purge.URL, "http://host/k?callback=x&k=b")})
	s.wantAfter(0, missing, "b")
	drop("key n:b, also from "+s.server("b").Address(), admin.PurgeRequest{Selector: purge.By(purge.URL, "/k?k=b")}) // the value was deleted already

	drop("purged as a whole", admin.PurgeRequest{Table: "t"})
	drop("purged as a whole", admin.PurgeRequest{Selector: purge.By(purge.Prefix, "/k")})
	drop("a key is a text", admin.PurgeRequest{Key: []byte(`{}`)})
	drop("can be no key", admin.PurgeRequest{Key: []byte(`"a b"`)})
	drop("no location", admin.PurgeRequest{Selector: purge.By(purge.URL, "/x")})
	drop("lacks a part of the key", admin.PurgeRequest{Selector: purge.By(purge.URL, "/h")})
	s.set("a", "old", 0, 0)
	s.ask(nil, "GET /k?k=a")
	s.server("a").Stop()
	drop("maybe not from memcached: down", admin.PurgeRequest{Key: []byte(`"a"`)})
	s.wantAfter(0, "503\nCache-Status: kasoku; fwd=miss; detail=down\n\nService Unavailable: memcached is unavailable, and there is no fallback\n", "a")
}

// A reload replaces locations and servers. Copies of values from other servers are dropped.
func TestReconfigure(t *testing.T) {
	s := newNear(t)
	s.set("v", "one", 0, 0)
	s.wantAfter(0, hit("detail=memcached", "one"), "v")
	old := s.svc.settings.Load().client
	next := s.cfg
	next.Locations = append([]Location{{Path: "/new", Key: "${arg.k}", Fallback: None}}, s.cfg.Locations...)
	if err := s.svc.Reconfigure(next); err != nil {
		t.Fatal(err)
	}
	if s.svc.settings.Load().client != old {
		t.Error("a reload without a change of servers replaced the client")
	}
	s.wantAfter(0, hit("detail=near", "one"), "v")
	s.wantAnswer(hit("detail=memcached", "one"), status, "GET /new?k=v")

	for _, mode := range []jsonp.Mode{jsonp.Legacy, jsonp.Dotted} { // the wrapped part of a value differs
		next.Locations = slices.Clone(next.Locations)
		next.Locations[1].JSONP = dotted(t, mode)
		next.Locations[1].ContentType = "text/javascript"
		if err := s.svc.Reconfigure(next); err != nil {
			t.Fatal(err)
		}
		s.set("v", "\n1\n", 0, 0)
		want := map[jsonp.Mode]string{jsonp.Legacy: "cb(\n1\n);", jsonp.Dotted: "/**/cb(\n1);"}[mode]
		s.wantAnswer(hit("detail=memcached; jsonp=wrapped", want), status, "GET /k?k=v&callback=cb")
		s.wantAnswer(hit("detail=near; jsonp=wrapped", want), status, "GET /k?k=v&callback=cb")
	}

	other := memcachedtest.Start(t, false)
	other.Set("v", "two", 0, 0)
	next.Client.Servers = []client.Server{{Address: other.Address()}}
	if err := s.svc.Reconfigure(next); err != nil {
		t.Fatal(err)
	}
	s.wantAfter(0, hit("detail=memcached", "two"), "v")

	bad := next
	bad.Locations = []Location{{Path: "no", Key: "k", Fallback: None}}
	if err := s.svc.Reconfigure(bad); err == nil || !strings.Contains(err.Error(), "a path begins with a slash") {
		t.Errorf("an invalid location: got the error %v", err)
	}
	s.wantAfter(0, hit("detail=near", "two"), "v")
}

// A copy for one mode of callbacks is not used after the mode has changed, even if the
// location did not exist in between.
func TestCopiesForOtherCallbacks(t *testing.T) {
	with := func(modes ...jsonp.Mode) (list []Location) {
		for _, m := range modes {
			list = append(list, Location{Path: "/k", Key: "${arg.k}", NearTTL: time.Hour, ContentType: "text/javascript", Fallback: None, JSONP: dotted(t, m)})
		}
		return append(list, Location{Path: "/x", Key: "x", Fallback: None})
	}
	s := newSite(t, 1, with(jsonp.Legacy)...).start()
	s.set("v", "\n1\n", 0, 0)
	s.wantAnswer("200\n\ncb(\n1\n);", nil, "GET /k?k=v&callback=cb")
	for _, locations := range [][]Location{with(), with(jsonp.Dotted)} {
		next := s.cfg
		next.Locations = locations
		if err := s.svc.Reconfigure(next); err != nil {
			t.Fatal(err)
		}
	}
	s.wantAnswer("200\n\n/**/cb(\n1);", nil, "GET /k?k=v&callback=cb")
}

// Requests are answered while connections are replaced.
func TestReconfigureUnderLoad(t *testing.T) {
	s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", Fallback: None}).start()
	s.set("v", "value", 0, 0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.wantAnswer("200\n\nvalue", nil, "GET /k?k=v")
				}
			}
		})
	}
	next := s.cfg
	for i := range 20 {
		next.Client.Connections = 1 + i%2
		if err := s.svc.Reconfigure(next); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// With failover, the key of a server that is down is read from the server that other clients
// use for it then.
func TestFailover(t *testing.T) {
	s := newSite(t, 3, Location{Path: "/k", Key: "${arg.k}", Fallback: None})
	s.cfg.Ring.Rehash, s.cfg.Failover = true, true
	s.cfg.Client.Breaker = client.Breaker{Failures: 1, RetryEvery: time.Hour}
	s.start()
	s.set("v", "first", 0, 0)
	for _, m := range s.servers {
		if m != s.server("v") {
			m.Set("v", "next", 0, 0)
		}
	}
	s.wantAnswer(hit("detail=memcached", "first"), status, "GET /k?k=v")
	s.server("v").Stop()
	await.Until(t, func() bool {
		return s.ask(status, "GET /k?k=v") == hit("detail=memcached", "next")
	})
}
