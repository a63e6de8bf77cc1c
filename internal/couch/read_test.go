package couch

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

const (
	missing = `{"error":"not_found","reason":"missing"}`
	view    = "/db/_design/d/_view/v"
)

func rows(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, `{"id":"`+pairs[i]+`","value":"`+pairs[i+1]+`"}`)
	}
	return `{"rows":[` + strings.Join(list, ",") + `]}`
}

// TestDocument checks that reads of a document are cached until it changes.
func TestDocument(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", `{"n":1}`)
	s.follow()
	s.requests()
	s.get("first", "/db/x", 200, `{"n":1}`, "fwd=uri-miss; stored")
	hit := s.get("again, in another form of the path", "//db//%78", 200, `{"n":1}`, "hit; detail=followed")
	if hit.header.Get("X-Couch-Request-Id") != "" || hit.header.Get("Age") != "" || hit.header.Get("Date") == "" {
		t.Errorf("a hit has %v", hit.header)
	}
	s.get("client has it", "/db/x", 304, "", "hit", "If-None-Match", hit.header.Get("ETag"))
	s.get("what is not there", "/db/y", 404, missing, "fwd=uri-miss; stored")
	s.get("what is not there, again", "/db/y", 404, missing, "hit")
	s.expectRequests("in all", "a GET /db/x", "a GET /db/y")

	a.store("x", `{"n":2}`)
	s.until(func() bool { return !strings.HasPrefix(s.do("GET", "/db/x", "").cacheStatus(), "hit") })
	s.get("past Kasoku", "/db/x", 200, `{"n":2}`, "hit")
	s.get("another document is kept", "/db/y", 404, missing, "hit")
}

// TestRevalidated checks that an invalidated copy is revalidated with the node's own
// validator, and kept if that still matches.
func TestRevalidated(t *testing.T) {
	s := newSite(t, 1)
	s.nodes[0].store("x", `{"n":1}`)
	s.follow()
	s.get("first", "/db/x", 200, `{"n":1}`, "fwd=uri-miss; stored")
	s.cache.Apply(fakeChange(s, "x"))
	s.get("moved", "/db/x", 200, `{"n":1}`, "fwd=stale; detail=invalidated; fwd-status=304; stored")
	s.get("again", "/db/x", 200, `{"n":1}`, "hit")
}

// TestResult checks that an answer without a validator gets one, which remains the same while the
// content does.
func TestResult(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	s.requests()
	first := s.get("first", view+"?a=1&b=2", 200, rows("x", "1"), "fwd=uri-miss; stored")
	tag := first.header.Get("ETag")
	if !strings.HasPrefix(tag, `"k-`) {
		t.Fatalf("got the ETag %s", tag)
	}
	s.get("again, parameters in another order", view+"?b=2&a=1", 200, rows("x", "1"), "hit")
	s.get("client has it", view+"?a=1&b=2", 304, "", "hit", "If-None-Match", tag)
	s.expectRequests("so far", "a GET "+view+"?a=1&b=2")
	s.cache.Apply(fakeChange(s, "x"))
	s.get("changed, and the same in the end", view+"?a=1&b=2", 304, "", "fwd=stale; detail=invalidated; stored", "If-None-Match", tag)
	s.do("PUT", "/db/y", "2")
	s.get("changed", view+"?a=1&b=2", 200, rows("x", "1", "y", "2"), "fwd=stale; detail=invalidated", "If-None-Match", tag)
}

// TestValidatorsOfNodesDiffer checks that a validator of a result is not sent to another node:
// CouchDB 1 derives it from the node's own positions, which may be equal by chance.
func TestValidatorsOfNodesDiffer(t *testing.T) {
	for _, path := range []string{view, "/db/_design/d/_list/l/v"} {
		s := newSite(t, 2)
		for _, n := range s.nodes {
			n.set(func() { n.fields["ETag"] = `"5"` })
		}
		s.follow()
		if first := s.do("GET", path, ""); first.header.Get("ETag") != `"5"` {
			t.Errorf("%s: got the fields %v", path, first.header)
		}
		s.do("PUT", "/db/x", "1")
		if second := s.do("GET", path, ""); !strings.Contains(second.body, `"x"`) {
			t.Errorf("%s: got %s (%s)", path, second.body, second.cacheStatus())
		}
	}
}

// TestUncacheableResults checks which results are not cached.
func TestUncacheableResults(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	s.follow()
	kept := func(path, body string, want bool) {
		t.Helper()
		a.set(func() { a.broken = body })
		s.cache.Apply(fakeChange(s, "x"))
		for range 2 {
			if g := s.do("GET", path, ""); !strings.HasSuffix(g.body, body) {
				t.Errorf("%.200s instead of %.200s", g.body, body)
			}
		}
		if got := strings.HasPrefix(s.do("GET", path, "").cacheStatus(), "hit"); got != want {
			t.Errorf("%.200s: got cached %v", body, got)
		}
	}
	kept(view, `{"rows":[]}`, true)
	kept(view, `{"rows":[{"key":"x","error":"not_found"}]}`, true)
	kept(view, `{"rows":[{"id":"x","value":{"error":"x"}}]}`, true)
	kept(view, `{"rows":[{"id":"x"},{"error":"timeout","reason":"x"}]}`, false)
	kept(view, `{"rows":[{"id":"x"},{"error":"timeout","reason":"x"}`, false)
	kept(view, `{"rows":[],"error":"x","reason":"y"}`, false)

	const list, late = "/db/_design/d/_list/l/v", "\n" + `{"code":500,"error":"os_process_error","reason":"x"}`
	long := `{"rows":[` + strings.Repeat(`{"id":"x"},`+"\r\n", maxChecked/10)
	for _, path := range []string{view, list} {
		kept(path, long+`{"id":"y"}]}`, true)
		kept(path, long+late, false)
		kept(path, "called("+long+late, false)
	}
	kept(list, "<ul><li>x</li>", true)
	kept(list, "<ul><li>x</li>"+late, false)
	kept(list, "<ul><li>x</li>\n"+`{"error":"of the page's own"}`, true)
	kept("/db/_design/d/_show/s", "# x\n"+late, false)
}

// TestForwardedHosts checks that an answer for one host that a trusted proxy forwards is not served
// for another.
func TestForwardedHosts(t *testing.T) {
	s := newSite(t, 1, func(c *Config) {
		c.HTTP.Forwarding = httpcache.Forwarding{X: true, Standard: true, Trust: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	})
	s.follow()
	f := func(how string, fields ...string) {
		t.Helper()
		s.get(strings.Join(fields, " "), view, 200, rows(), how, fields...)
		s.get(strings.Join(fields, " "), "/db/_design/d/_list/l/v", 200, " sees "+rows(), how, fields...)
	}
	f("fwd=uri-miss")
	f("hit")
	f("fwd=uri-miss", "X-Forwarded-Host", "a")
	f("fwd=uri-miss", "X-Forwarded-Proto", "https")
	f("fwd=uri-miss", "Forwarded", "for=192.0.2.1;host=a")
	f("hit", "Forwarded", "for=192.0.2.2;host=a")
	f("hit", "X-Forwarded-For", "192.0.2.1")
}

// TestPostReads checks that POSTs that only read are cached by their bodies.
func TestPostReads(t *testing.T) {
	s := newSite(t, 1)
	s.follow()
	s.requests()
	const find = "/db/_find"
	f := func(body, how string) {
		t.Helper()
		g := s.do("POST", find, body, "Content-Type", "application/json", "If-None-Match", "*")
		if g.status != 200 || !strings.HasPrefix(g.cacheStatus(), how) || !strings.HasSuffix(g.body, strings.TrimSpace(body)) {
			t.Errorf("%s: got %d %s (%s); want %s", body, g.status, g.body, g.cacheStatus(), how)
		}
	}
	a := s.nodes[0]
	a.set(func() { a.broken = `{"docs":[]}` }) // followed by the body, so that it isn't JSON
	f(`{"selector":{"n":1}}`, "fwd=uri-miss")
	a.set(func() { a.broken = " " })
	f(`{"selector":{"n":2}}`, "fwd=uri-miss; stored")
	f(`{"selector":{"n":2}}`, "hit")
	f(`{"selector":{"n":3}}`, "fwd=uri-miss; stored")
	f(`{"selector":`, "fwd=bypass; detail=protocol")
	f(`{"selector":{"n":"`+strings.Repeat("x", maxQuery)+`"}}`, "fwd=bypass; detail=protocol")
}

// TestIdentities checks that only clients with permission get cached answers, and that an answer
// rendered for one client is not served to another.
func TestIdentities(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", "1")
	a.set(func() { a.allowed = map[string]bool{"Basic one": true, "Basic two": true} })
	s.follow("Authorization", "Basic one")
	s.get("one", "/db/x", 200, "1", "fwd=uri-miss; stored", "Authorization", "Basic one")
	s.get("another with permission", "/db/x", 200, "1", "hit", "Authorization", "Basic two")
	s.get("one without permission", "/db/x", 401, `{"error":"unauthorized"}`, "fwd=bypass; detail=not-allowed", "Authorization", "Basic three")
	s.get("anonymous", "/db/x", 401, `{"error":"unauthorized"}`, "fwd=bypass; detail=not-allowed")

	list := "/db/_design/d/_list/l/v"
	s.get("list for one", list, 200, "Basic one sees "+rows("x", "1"), "fwd=uri-miss; stored", "Authorization", "Basic one")
	s.get("list for two", list, 200, "Basic two sees "+rows("x", "1"), "fwd=uri-miss; stored", "Authorization", "Basic two")
	s.get("list for one", list, 200, "Basic one sees "+rows("x", "1"), "hit", "Authorization", "Basic one")

	a.set(func() { a.allowed = map[string]bool{"Basic one": true} })
	s.get("not checked yet", "/db/x", 200, "1", "hit", "Authorization", "Basic two")
	s.do("PUT", "/db/_security", "{}", "Authorization", "Basic one")
	s.get("security was changed", "/db/x", 401, `{"error":"unauthorized"}`, "fwd=bypass; detail=not-allowed", "Authorization", "Basic two")
}

// TestTrustedProxyFields checks that the fields with which a proxy names the user are ignored from
// other clients: they reach no node, and give no access to cached answers.
func TestTrustedProxyFields(t *testing.T) {
	s := newSite(t, 1, func(c *Config) {
		c.HTTP.Forwarding.Trust = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	})
	a, proxy := s.nodes[0], s.from("127.0.0.2")
	a.store("x", "1")
	a.set(func() { a.allowed = map[string]bool{"bob": true} })
	proxy.follow("X-Auth-CouchDB-UserName", "bob")
	for _, path := range []string{"/db/x", "/db/_design/d/_list/l/v"} {
		first := proxy.do("GET", path, "", "X-Auth-CouchDB-UserName", "bob")
		proxy.get("bob, named by the proxy", path, 200, first.body, "hit", "X-Auth-CouchDB-UserName", "bob")
		if how := proxy.do("GET", path, "", "X-Auth-CouchDB-UserName", "bob", "X-Couchdb-Requested-Path", "/b").cacheStatus(); !strings.HasPrefix(how, "fwd=uri-miss") {
			t.Errorf("with another path in front of the proxy: %s", how)
		}
		s.get("bob, named by a client", path, 401, `{"error":"unauthorized"}`, "fwd=bypass; detail=not-allowed", "X-Auth-CouchDB-UserName", "bob")
	}
}

// TestVariants checks what distinguishes answers for the same path.
func TestVariants(t *testing.T) {
	s := newSite(t, 1)
	s.nodes[0].store("x", "1")
	s.follow()
	f := func(how string, fields ...string) {
		t.Helper()
		s.get(strings.Join(fields, " "), "/db/x", 200, "1", how, fields...)
	}
	f("fwd=uri-miss; stored")
	f("hit", "Accept-Encoding", "gzip")
	f("hit", "Cache-Control", "no-cache")
	f("fwd=uri-miss; stored", "Origin", "http://app")
	f("hit", "Origin", "http://app")
	f("fwd=uri-miss; stored", "Prefer", "return=minimal")
	f("fwd=uri-miss; stored", "Accept", "multipart/mixed")
	f("hit", "Accept", "*/*")
	f("fwd=uri-miss; stored", "Host", "virtual")
	f("hit", "Host", "virtual")
	f("fwd=bypass; detail=protocol", "User-Agent", "CouchDB-Replicator/3.5.0")
}

// TestCookies checks that a session that a node prolongs is passed to that client only, and that
// the answer is cached nevertheless.
func TestCookies(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	a.set(func() { a.cookie, a.fields["Vary"] = "AuthSession=new", "Accept-Encoding" })
	if g := s.get("first", "/db/x", 200, "1", "fwd=uri-miss; stored", "Cookie", "AuthSession=old"); g.header.Get("Set-Cookie") != "AuthSession=new" {
		t.Error("the session was not prolonged")
	}
	a.set(func() { a.cookie = "" })
	if g := s.get("another", "/db/x", 200, "1", "hit", "Cookie", "AuthSession=other"); g.header.Get("Set-Cookie") != "" {
		t.Error("got another client's session")
	}
}

// TestSessions checks that a client whose reads are served from the cache remains logged in: it
// gets the cookie from the node's answer to the permission check.
func TestSessions(t *testing.T) {
	s := newSite(t, 1, func(c *Config) { c.VisibleTTL = time.Nanosecond })
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	s.do("GET", "/db/x", "")
	a.set(func() { a.cookie = "AuthSession=new" })
	g := s.get("hit", "/db/x", 200, "1", "hit", "Cookie", "AuthSession=old")
	if got := g.header.Values("Set-Cookie"); len(got) != 1 || got[0] != "AuthSession=new" {
		t.Errorf("the session was not prolonged: %q", got)
	}
	if g := s.get("anonymous", "/db/x", 200, "1", "hit"); g.header.Get("Set-Cookie") != "" {
		t.Error("got another client's session")
	}
	a.set(func() { a.cookie = "" })
	if g := s.get("hit", "/db/x", 200, "1", "hit", "Cookie", "AuthSession=old"); g.header.Get("Set-Cookie") != "" {
		t.Error("prolonged twice by one answer")
	}
}

// TestUncacheableRequests checks which requests are never served from the cache.
func TestUncacheableRequests(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	for _, path := range []string{
		"/", "/_all_dbs", "/db", "/db/_changes", "/db/_local/x", "/_users/x", "/_session", view + "?update=false", view + "?stale=ok",
		"/db/x?local_seq=true", "/db/x;y?a;b",
	} {
		for range 2 {
			if how := s.do("GET", path, "").cacheStatus(); !strings.HasPrefix(how, "fwd=bypass; detail=protocol") {
				t.Errorf("%s: got %s", path, how)
			}
		}
	}
	for _, status := range []int{302, 401, 403, 500, 503} {
		a.set(func() { a.status = status })
		for range 2 {
			if g := s.do("GET", "/db/status", ""); g.status != status || strings.HasPrefix(g.cacheStatus(), "hit") {
				t.Errorf("status %d: got %d %s", status, g.status, g.cacheStatus())
			}
		}
	}
	a.set(func() { a.status = 0 })
	s.get("a revision that is not there", "/db/y?rev=1-a", 404, missing, "fwd=uri-miss; detail=unsound")
	s.get("a revision that is not there", "/db/y?rev=1-a", 404, missing, "fwd=uri-miss; detail=unsound")
}

// TestFunctions checks that the lifetime that lists and shows set themselves applies, too.
func TestFunctions(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	s.follow()
	f := func(control, second string) {
		t.Helper()
		a.set(func() { a.fields["Cache-Control"] = control })
		s.cache.Apply(fakeChange(s, "x"))
		s.do("GET", "/db/_design/d/_list/l/v", "")
		if got := s.do("GET", "/db/_design/d/_list/l/v", "").cacheStatus(); !strings.HasPrefix(got, second) {
			t.Errorf("%s: got %s; want %s", control, got, second)
		}
	}
	f("max-age=60", "hit")
	f("no-store", "fwd=")
	f("private", "fwd=")
	f("max-age=0", "fwd=")
}

// TestUnfollowed checks that cached answers are revalidated instead of served while a feed is
// silent.
func TestUnfollowed(t *testing.T) {
	s := newSite(t, 1, func(c *Config) { c.MaxUnfollowed = 100 * time.Millisecond })
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	s.until(func() bool { return strings.HasPrefix(s.do("GET", "/db/x", "").cacheStatus(), "hit") })
	a.set(func() { a.silent = true })
	s.until(func() bool { // a heartbeat may still be in transit
		g := s.do("GET", "/db/x", "")
		return g.body == "1" && strings.HasPrefix(g.cacheStatus(), "fwd=stale; detail=unfollowed; fwd-status=304")
	})
	a.set(func() { a.silent = false })
	s.until(func() bool { return strings.HasPrefix(s.do("GET", "/db/x", "").cacheStatus(), "hit") })
}

// TestSharedRequest checks that concurrent clients of a result share one request.
func TestSharedRequest(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	s.follow()
	s.requests()
	hold, held := make(chan struct{}), make(chan struct{}, 100)
	a.set(func() { a.hold, a.held = hold, held })
	const many = 30
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			if g, err := s.tryDo("GET", view, ""); err != nil || g.status != 200 {
				t.Errorf("%v %v", g, err)
			}
		})
	}
	<-held
	close(hold)
	wg.Wait()
	s.expectRequests("by all", "a GET "+view)
}

// TestFollowOff checks that without following Kasoku balances reads and caches no databases.
func TestFollowOff(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Follow = false })
	for _, n := range s.nodes {
		n.store("x", "1")
	}
	for range 4 {
		s.get("read", "/db/x", 200, "1", "fwd=bypass; detail=protocol")
	}
	if got := strings.Join(s.requests(), " "); strings.Count(got, "a GET") != 2 || strings.Count(got, "b GET") != 2 {
		t.Errorf("reads are not balanced: %s", got)
	}
	s.do("PUT", "/db/y", "2")
	s.requests()
	for range 3 {
		s.get("own write", "/db/y", 200, "2", "fwd=bypass")
	}
	s.expectRequests("after a write", "a GET /db/y", "a GET /db/y", "a GET /db/y")
}

func TestHitAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates")
		return
	}
	s := newSite(t, 1)
	s.nodes[0].store("x", "1")
	s.follow()
	for _, target := range []string{"/db/x", view + "?limit=10&descending=true", "/db/_design/d/_list/l/v?limit=10"} {
		for _, fields := range []string{"", "Authorization: Basic eA==\r\nAccept: application/json\r\n", "Cookie: AuthSession=x\r\nAccept-Encoding: gzip\r\n"} {
			var r http1.Request
			if _, err := http1.ParseRequest([]byte("GET "+target+" HTTP/1.1\r\nHost: h\r\n"+fields+"\r\n"), &http1.Limits{}, &r); err != nil {
				t.Fatal(err)
			}
			x := edge.Detached(t.Context(), r, nil, time.Now())
			f := func() {
				x.Reply.Reset()
				s.Serve(x)
			}
			s.until(func() bool { f(); return x.Record.Decision.String() == "hit" })
			if n := testing.AllocsPerRun(1000, f); n != 0 {
				t.Errorf("%s with %q: %v allocations", target, fields, n)
			}
			if x.Reply.Status != http.StatusOK || x.Record.Decision.String() != "hit" {
				t.Errorf("%s with %q: %d, a %s", target, fields, x.Reply.Status, x.Record.Decision)
			}
		}
	}
}

// TestAnswerOfProxy checks that an answer that is not from a CouchDB node is forwarded and never
// cached, because no change would invalidate it.
func TestAnswerOfProxy(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", `{"n":1}`)
	s.follow()
	for _, path := range []string{"/db/x", "/db/x/file", "/db/_design/d/_view/v", "/db/_design/d/_list/l/v", "/db/_design/d/_show/s"} {
		a.set(func() { a.byProxy = true })
		if got := s.do("GET", path, ""); !strings.Contains(got.body, "It works") || strings.Contains(got.cacheStatus(), "stored") {
			t.Errorf("%s: got %q, %s", path, got.body, got.cacheStatus())
		}
		a.set(func() { a.byProxy = false })
		if got := s.do("GET", path, ""); strings.Contains(got.body, "It works") {
			t.Errorf("%s later: got %q, %s", path, got.body, got.cacheStatus())
		}
	}
}
