package couch

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// calling configures callbacks as in CouchDB, except for change.
func calling(change ...func(*jsonp.Config)) func(*Config) {
	cfg := jsonp.Defaults(jsonp.Dotted)
	cfg.Prefix, cfg.Newline, cfg.Strip = "/* CouchDB */", true, []string{"_"}
	for _, f := range change {
		f(&cfg)
	}
	f, err := jsonp.New(cfg)
	if err != nil {
		panic(err)
	}
	return func(c *Config) { c.HTTP.JSONP = f }
}

// TestCallback checks that cached documents and views are served with any callback.
func TestCallback(t *testing.T) {
	s := newSite(t, 1, calling())
	s.nodes[0].store("x", `"one"`)
	s.follow()
	s.requests()
	f := func(path, name, how string, fields ...string) *got {
		t.Helper()
		plain := strings.TrimRight(s.do("GET", path, "").body, "\n")
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		g := s.do("GET", path+sep+"callback="+name+"&_=1", "", fields...)
		want := "/* CouchDB */" + name + "(" + plain + ");\n"
		if g.status != 200 || g.body != strings.TrimSpace(want) || !strings.HasPrefix(g.cacheStatus(), how) || g.header.Get("Content-Type") != "application/javascript; charset=utf-8" {
			t.Errorf("%s for %s: %d %q, %s; want %q", path, name, g.status, g.body, g.cacheStatus(), want)
		}
		if n := fmt.Sprint(len(want)); g.header.Get("Content-Length") != n {
			t.Errorf("%s: length %q; want %s", path, g.header.Get("Content-Length"), n)
		}
		return g
	}
	const wrapped = "hit; detail=followed; jsonp=wrapped"
	first := f("/db/x", "f", wrapped)
	f("/db/x", "a.b", wrapped)
	f("/db/_all_docs", "f", wrapped)
	f("/db/_design/d/_view/v?limit=3", "f", wrapped)
	if g := s.do("GET", "/db/x?callback=f", "", "If-None-Match", first.header.Get("ETag")); g.status != 304 || g.body != "" {
		t.Errorf("with the answer's ETag: got %d %q", g.status, g.body)
	}
	if got := s.requests(); len(got) != 3 || strings.Contains(strings.Join(got, " "), "callback") {
		t.Errorf("the nodes received %q", got)
	}
	s.do("PUT", "/db/x?callback=f", `{"_rev":"`+s.nodes[0].docs["x"].rev+`","v":2}`)
	f("/db/x", "f", wrapped)
	e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://" + s.addr + "/db/x?callback=g"})
	if err != nil || e.Decision != "hit" || !strings.Contains(fmt.Sprint(e.Steps), "callback wrapped") {
		t.Errorf("explained as %s: %v, %v", e.Decision, e.Steps, err)
	}
}

// TestCallbackRefused checks that no node gets a request with an invalid callback, and that
// answers for one user are not wrapped.
func TestCallbackRefused(t *testing.T) {
	s := newSite(t, 1, calling(), func(c *Config) { c.HTTP.Forwarding.Trust = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	s.nodes[0].store("x", `"one"`)
	s.follow()
	s.requests()
	for _, path := range []string{"/db/x", "/db/_design/d/_view/v", "/db/_changes", "/db/_changes?feed=continuous", "/", "/_all_dbs"} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		g := s.do("GET", path+sep+"callback=alert(1)", "")
		if g.status != 400 || g.body != jsonp.BadName.Info().Refusal || !strings.HasSuffix(g.cacheStatus(), "detail=local; jsonp=bad-name") {
			t.Errorf("%s: got %d %q, %s", path, g.status, g.body, g.cacheStatus())
		}
	}
	if got := s.requests(); len(got) > 0 {
		t.Errorf("the nodes received %q", got)
	}
	for _, field := range []string{"Cookie", "Authorization", "X-Auth-CouchDB-UserName"} {
		g := s.do("GET", "/db/x?callback=f", "", field, "Basic YTpi")
		if g.status != 200 || g.body != `"one"` || !strings.HasSuffix(g.cacheStatus(), "jsonp=credentials") {
			t.Errorf("with %s: %d %q, %s", field, g.status, g.body, g.cacheStatus())
		}
	}
}

// TestCallbackPassed checks that forwarded answers are wrapped, except endless feeds.
func TestCallbackPassed(t *testing.T) {
	s := newSite(t, 1, calling(func(c *jsonp.Config) { c.Errors, c.Types = jsonp.AsIs, []string{"text/plain"} }))
	s.nodes[0].store("x", `"one"`)
	f := func(path, begins, ends string) {
		t.Helper()
		g := s.do("GET", path, "")
		if !strings.HasPrefix(g.body, begins) || !strings.HasSuffix(g.body, ends) {
			t.Errorf("%s: got %d %q, %s", path, g.status, g.body, g.cacheStatus())
		}
	}
	f("/db/none?callback=f", `/* CouchDB */f({"error":"not_found"`, "});")
	f("/db/_changes?callback=f", `/* CouchDB */f({`, "});")
	f("/db/_changes?feed=longpoll&callback=f", `/* CouchDB */f({`, "});")
}
