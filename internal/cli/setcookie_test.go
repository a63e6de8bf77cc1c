package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// greeter is an origin that answers each request with a new cookie, and with the name in the
// request's cookie. The fields of the answer are those in the query.
func greeter(t *testing.T) *httptest.Server {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		for name, values := range r.URL.Query() {
			w.Header().Set(name, values[0])
		}
		if !strings.HasPrefix(r.URL.Path, "/plain") {
			w.Header().Set("Set-Cookie", fmt.Sprint("sid=", n))
		}
		name := "anonymous"
		if c, err := r.Cookie("name"); err == nil {
			name = c.Value
		}
		fmt.Fprintf(w, "%s %s", name, strings.Repeat("x", 100_000))
	}))
	t.Cleanup(s.Close)
	return s
}

// parts formats an answer of the greeter: the cookie that it sets, the name on its page, and
// its Cache-Status.
func (a answer) parts() (cookie, name, how string) {
	name, _, _ = strings.Cut(a.body, " ")
	how, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Cache-Status"), "kasoku; "), "; ttl")
	return a.header.Get("Set-Cookie"), name, how
}

// wantGreeting requests a path and compares the parts of the answer.
func (r *running) wantGreeting(path, cookie, name, how string, pairs ...string) {
	r.t.Helper()
	gotCookie, gotName, gotHow := r.request("site", "GET", path, pairs...).parts()
	if gotCookie != cookie || gotName != name || gotHow != how {
		r.t.Errorf("%s %q: got cookie %q, page of %q, %q; want %q, %q, %q", path, pairs, gotCookie, gotName, gotHow, cookie, name, how)
	}
}

// An answer that sets a cookie is for one client by default.
func TestSetCookie(t *testing.T) {
	f := func(keys string, check func(r *running, page string)) {
		t.Run(keys, func(t *testing.T) {
			r := run(t, strings.ReplaceAll(web1, "ORIGIN", greeter(t).URL)+"    "+keys+"\n")
			check(r, "/?Cache-Control=max-age=60")
		})
	}
	alone := func(r *running, page string) {
		r.wantGreeting(page, "sid=1", "anonymous", "fwd=uri-miss; detail=set-cookie")
		r.wantGreeting(page, "sid=2", "anonymous", "fwd=uri-miss; detail=uncacheable")
		if page := r.page("/metrics"); !strings.Contains(page, `kasoku_http_origin_answers_total{reason="set-cookie",service="site"} 2`) {
			t.Errorf("the metrics lack the reason")
		}
	}
	f("host: client", alone)
	f("set_cookie: nostore", alone)
	f("set_cookie: strip", func(r *running, page string) {
		r.wantGreeting(page, "sid=1", "anonymous", "fwd=uri-miss; stored")
		r.wantGreeting(page, "", "anonymous", "hit")
	})
	f("set_cookie: store", func(r *running, page string) {
		r.wantGreeting(page, "sid=1", "anonymous", "fwd=uri-miss; stored")
		r.wantGreeting(page, "sid=1", "anonymous", "hit")
		r.wantGreeting("/?Last-Modified=Tue,%2015%20Nov%201994%2012:45:26%20GMT", "sid=2", "anonymous", "fwd=uri-miss; detail=set-cookie")
	})
	f("profile: full-score", func(r *running, page string) {
		r.wantGreeting(page, "sid=1", "anonymous", "fwd=uri-miss; stored")
		r.wantGreeting(page, "sid=1", "anonymous", "hit")
	})
	f("profile: full-score\n    set_cookie: nostore", alone)
}

// An answer stored with `store` is not served with another value of set_cookie, from memory
// and from disk, after a reload and after a restart.
func TestSetCookieStoredBefore(t *testing.T) {
	origin := greeter(t)
	for name, cached := range map[string]string{
		"memory": "",
		"disk":   "cache: {disk: {path: " + filepath.Join(t.TempDir(), "bodies") + ", size: 64MiB, threshold: 64KiB}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			at := cached + strings.ReplaceAll(web1, "ORIGIN", origin.URL) + "    set_cookie: "
			get := func(r *running, page string) (cookie, how string) {
				cookie, _, how = r.request("site", "GET", "/"+name+page+"?Cache-Control=max-age=60", "Host", "shop").parts()
				return cookie, how
			}
			r := run(t, at+"store\n")
			stored := map[string]string{}
			for _, page := range []string{"1", "2", "3", "4"} {
				stored[page], _ = get(r, page)
				if cookie, how := get(r, page); cookie != stored[page] || how != "hit" {
					t.Fatalf("cookie %q, %q; want a hit with %q", cookie, how, stored[page])
				}
			}
			want := func(page, how string) {
				t.Helper()
				if cookie, got := get(r, page); cookie == stored[page] || got != how {
					t.Errorf("page %s: cookie %q, %q; want another cookie than %q, %q", page, cookie, got, stored[page], how)
				}
			}
			r.mustReload(at + "strip\n")
			want("1", "fwd=uri-miss; stored")
			r.mustReload(at + "nostore\n")
			want("2", "fwd=uri-miss; detail=set-cookie")
			if name == "memory" {
				return
			}
			if err := r.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			r = run(t, at+"nostore\n")
			want("3", "fwd=uri-miss; detail=set-cookie")
			if err := r.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			r = run(t, at+"strip\n")
			want("4", "fwd=uri-miss; stored") // the second start discarded it
		})
	}
}

// An answer without an explicit lifetime is not shared if its request had a Cookie, and does
// not answer requests with one.
func TestCookieWithoutLifetime(t *testing.T) {
	r := run(t, strings.ReplaceAll(web1, "ORIGIN", greeter(t).URL))
	modified := "?Last-Modified=" + strings.ReplaceAll(time.Now().Add(-240*time.Hour).UTC().Format(http.TimeFormat), " ", "%20")
	const alice = "name=alice"
	r.wantGreeting("/plain"+modified, "", "alice", "fwd=uri-miss; detail=cookie-heuristic", "Cookie", alice)
	r.wantGreeting("/plain"+modified, "", "anonymous", "fwd=uri-miss; stored")
	r.wantGreeting("/plain"+modified, "", "anonymous", "hit")
	r.wantGreeting("/plain"+modified, "", "alice", "fwd=request; detail=cookie-heuristic", "Cookie", alice)
	r.wantGreeting("/plain"+modified, "", "anonymous", "hit")
	// With a lifetime of the response's own the cookie makes no difference.
	r.wantGreeting("/plain?Cache-Control=max-age=60", "", "alice", "fwd=uri-miss; stored", "Cookie", alice)
	r.wantGreeting("/plain?Cache-Control=max-age=60", "", "alice", "hit")
}
