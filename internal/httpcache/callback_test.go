package httpcache

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/purge"
)

// withJSONP configures a service with a filter for callbacks: the defaults as changed.
func withJSONP(change ...func(*jsonp.Config)) func(*Config) {
	return func(c *Config) { c.JSONP = filter(change...) }
}

// filter returns a filter for callbacks: the defaults as changed.
func filter(change ...func(*jsonp.Config)) *jsonp.Filter {
	cfg := jsonp.Defaults(jsonp.Dotted)
	cfg.Strip = []string{"_"}
	for _, f := range change {
		f(&cfg)
	}
	f, err := jsonp.New(cfg)
	if err != nil {
		panic(err)
	}
	return f
}

const jsonType = "Content-Type: application/json"

// firstLines returns the request lines that the origin has received.
func (o *rawOrigin) firstLines() string {
	var b strings.Builder
	for _, head := range o.requests() {
		line, _, _ := strings.Cut(head, "\n")
		b.WriteString(strings.TrimSuffix(line, " HTTP/1.1") + "\n")
	}
	return b.String()
}

// TestCallbackOnHitAndMiss checks that one stored body serves JSON and every callback.
func TestCallbackOnHitAndMiss(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(`{"n":1}`, jsonType, `ETag: "1"`, "Set-Cookie: a=b") }, withJSONP(), storeCookies)
	f := func(line, want, status string) *got {
		t.Helper()
		g := s.ask(line)
		if g.status != 200 || g.body != want || !strings.Contains(g.get("Cache-Status"), status) {
			t.Errorf("%s: got %d %q, Cache-Status: %s", line, g.status, g.body, g.get("Cache-Status"))
		}
		if want := fmt.Sprint(len(want)); g.get("Content-Length") != want {
			t.Errorf("%s: length %q; want %s", line, g.get("Content-Length"), want)
		}
		return g
	}
	g := f("GET /a?x=1&callback=cb&_=123&y=2", `/**/cb({"n":1});`, "fwd=uri-miss; stored; ttl=60; jsonp=wrapped")
	want := "Content-Type: application/javascript; charset=utf-8\nX-Content-Type-Options: nosniff\nAccept-Ranges: none\n"
	if all := written(g.fields); !strings.Contains(all, "application/javascript; charset=utf-8") || g.get("X-Content-Type-Options") != "nosniff" ||
		g.get("Accept-Ranges") != "none" || g.get("Set-Cookie") != "" || !strings.HasPrefix(g.get("ETag"), `"1;jp-`) {
		t.Errorf("the head is %s, want %s", all, want)
	}
	f("GET /a?x=1&callback=other.name[0]&y=2", `/**/other.name[0]({"n":1});`, "hit; ttl=60; jsonp=wrapped")
	f("GET /a?x=1&y=2&_=9", `{"n":1}`, "hit; ttl=60")
	f("GET /a?callback=&x=1&y=2", `{"n":1}`, "hit; ttl=60")
	f("GET /a?x=1&y=2&callback=cb&_=77", `/**/cb({"n":1});`, "hit; ttl=60; jsonp=wrapped")
	if got := s.origin.firstLines(); got != "GET /a?x=1&y=2\n" {
		t.Errorf("the origin was asked\n%s", got)
	}
}

// TestCallbackNames checks which names are valid, and that no request is sent for an invalid
// one.
func TestCallbackNames(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(`[1]`, jsonType) }, withJSONP())
	long := strings.Repeat("a", 255)
	f := func(query, want string) {
		t.Helper()
		if g := s.ask("GET /a" + query); g.status != 200 || g.body != want {
			t.Errorf("%s: got %d %q, want %q", query, g.status, g.body, want)
		}
	}
	f("?callback=jQuery1_2", `/**/jQuery1_2([1]);`)
	f("?callback=angular%2Ecallbacks._0", `/**/angular.callbacks._0([1]);`)
	f("?callback=CKEDITOR._.jsonpCallbacks%5B197%5D", `/**/CKEDITOR._.jsonpCallbacks[197]([1]);`)
	f("?callback="+long, `/**/`+long+`([1]);`)
	f("?callback=a&callback=a", `/**/a([1]);`)
	f("?callback", `[1]`)
	f("?callback=", `[1]`)
	asked := len(s.origin.requests())
	for _, query := range []string{"?callback=a-b", "?callback=" + long + "a", "?callback=a&callback=b", "?callback=alert(1)", "?callback=if"} {
		for _, method := range []string{"GET", "HEAD"} {
			g := s.ask(method + " /other" + query)
			if g.status != 400 || g.get("Content-Type") != "application/json" || g.get("Cache-Status") != "kasoku; detail=local; jsonp=bad-name" ||
				method == "GET" && g.body != jsonp.BadName.Info().Refusal {
				t.Errorf("%s %s: got %d %q, Cache-Status: %s", method, query, g.status, g.body, g.get("Cache-Status"))
			}
		}
	}
	if got := len(s.origin.requests()); got != asked || asked != 1 {
		t.Errorf("the origin was asked %d times for valid names, %d times for invalid ones; want 1, 0", asked, got-asked)
	}
}

// TestCallbackForScripts checks that a callback is refused if the browser's request is not
// for a script.
func TestCallbackForScripts(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(`[1]`, jsonType) }, withJSONP(func(c *jsonp.Config) { c.ScriptOnly = true }))
	f := func(destination string, status int, body, how string) {
		t.Helper()
		g := s.ask("GET /a?callback=f", "Sec-Fetch-Dest: "+destination)
		if g.status != status || g.body != body || !strings.HasSuffix(g.get("Cache-Status"), how) {
			t.Errorf("%s: got %d %q, %s; want %d %q", destination, g.status, g.body, g.get("Cache-Status"), status, body)
		}
	}
	f("document", 403, jsonp.NotScript.Info().Refusal, "kasoku; detail=local; jsonp=not-script")
	f("script", 200, "/**/f([1]);", "; jsonp=wrapped")
	if n := len(s.origin.requests()); n != 1 {
		t.Errorf("the origin was asked %d times, want once", n)
	}
}

// TestCallbackNotWrapped lists answers that are not wrapped, with the reason.
func TestCallbackNotWrapped(t *testing.T) {
	s := newSite(t, func(a *asked) {
		switch {
		case strings.Contains(a.head, "/html"):
			a.ok("<p>", "Content-Type: text/html")
		case strings.Contains(a.head, "/other"):
			a.ok("cb(1)", jsonType)
		case strings.Contains(a.head, "/empty"):
			a.ok(" \n", jsonType)
		case strings.Contains(a.head, "/none"):
			a.respond("HTTP/1.1 204 No Content\n\n")
		case strings.Contains(a.head, "/404"):
			a.respond("HTTP/1.1 404 Not Found\nContent-Length: 4\n" + jsonType + "\n\nnull")
		case strings.Contains(a.head, "/500"):
			a.respond("HTTP/1.1 500 Oops\nContent-Length: 4\n" + jsonType + "\n\nnull")
		default:
			a.ok("{}", jsonType, "Cache-Control: public")
		}
	}, withJSONP())
	f := func(line, body, why string, fields ...string) {
		t.Helper()
		for range 2 {
			g := s.ask(line, fields...)
			status := g.get("Cache-Status")
			_, reason, _ := strings.Cut(status, "jsonp=")
			if g.body != body || reason != why || (why == "credentials") != strings.Contains(written(g.fields), "Cache-Control: private\n") {
				t.Errorf("%s: %d %q, %s; want %q for %s", line, g.status, g.body, status, body, why)
			}
		}
	}
	f("GET /html?callback=f", "<p>", "type")
	f("GET /other?callback=f", "cb(1)", "not-json")
	f("GET /empty?callback=f", " \n", "empty")
	f("GET /none?callback=f", "", "no-body")
	f("GET /404?callback=f", "null", "status")
	f("GET /500?callback=f", "null", "status")
	f("GET /a?callback=f", "{}", "credentials", "Cookie: a=b")
	f("GET /a?callback=f", "{}", "credentials", "Authorization: Basic YTpi")
	f("GET /a?callback=f", "/**/f({});", "wrapped")
	f("POST /a?callback=f", "{}", "")
	f("GET /a", "{}", "")
	if got := s.origin.firstLines(); !strings.Contains(got, "POST /a?callback=f\n") || strings.Contains(got, "GET /a?") {
		t.Errorf("the origin was asked\n%s", got)
	}
}

// TestCallbackErrors checks that errors are wrapped in the modes that require it.
func TestCallbackErrors(t *testing.T) {
	script := func(a *asked) {
		switch {
		case strings.Contains(a.head, "/text"):
			a.respond("HTTP/1.1 503 Oops\nContent-Length: 2\nContent-Type: text/plain\n\nno")
		case strings.Contains(a.head, "/empty"):
			a.ok("", jsonType)
		case strings.Contains(a.head, "/gone"):
			a.conn.Close()
		default:
			a.respond("HTTP/1.1 404 Not Found\nContent-Length: 7\nCache-Control: max-age=60\nETag: \"e\"\n" + jsonType + "\n\n{\"e\":1}")
		}
	}
	f := func(s *site, path string, status int, body, original string) {
		t.Helper()
		for _, method := range []string{"GET", "HEAD", "GET"} {
			g := s.ask(method + " " + path + "?callback=f")
			if g.status != status || method == "GET" && g.body != body || g.get("X-Status") != original {
				t.Errorf("%s %s: got %d %q, %s; want %d %q", method, path, g.status, g.body, written(g.fields), status, body)
			}
		}
	}
	s := newSite(t, script, withJSONP(func(c *jsonp.Config) { c.Errors = jsonp.Envelope }))
	f(s, "/a", 200, `/**/f({"status":404,"data":{"e":1}});`, "404")
	f(s, "/text", 200, `/**/f({"status":503,"data":null});`, "503")
	f(s, "/empty", 200, `/**/f();`, "")
	f(s, "/gone", 200, `/**/f({"status":502,"data":null});`, "502")
	s = newSite(t, script, withJSONP(func(c *jsonp.Config) { c.Errors = jsonp.AsIs }))
	f(s, "/a", 404, `/**/f({"e":1});`, "")
	f(s, "/text", 503, `no`, "")
	f(s, "/empty", 200, ``, "")
}

// TestCallbackConditions checks that conditions are compared with the tag of the wrapped
// answer, and that ranges are ignored.
func TestCallbackConditions(t *testing.T) {
	s := newSite(t, func(a *asked) {
		a.ok(`{"n":1}`, jsonType, `ETag: "1"`, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "Accept-Ranges: bytes")
	}, withJSONP())
	first := s.ask("GET /a?callback=f")
	tag := first.get("ETag")
	f := func(line string, status int, field string) {
		t.Helper()
		g := s.ask(line, field)
		if g.status != status || status == 200 && strings.HasPrefix(line, "GET") && g.body != `/**/f({"n":1});` || g.get("Last-Modified") != "" || g.get("Content-Range") != "" {
			t.Errorf("%s with %s: got %d %q, want %d", line, field, g.status, g.body, status)
		}
		if g.get("ETag") != tag {
			t.Errorf("%s with %s: got the tag %s, want %s", line, field, g.get("ETag"), tag)
		}
	}
	f("GET /a?callback=f", 304, "If-None-Match: "+tag)
	f("HEAD /a?callback=f", 304, "If-None-Match: \"x\", W/"+tag)
	f("GET /a?callback=f", 304, "If-None-Match: *")
	f("GET /a?callback=f", 200, `If-None-Match: "1"`)
	f("GET /a?callback=f", 200, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT")
	f("GET /a?callback=f", 200, "Range: bytes=0-3")
	f("GET /b?callback=f", 200, "Range: bytes=0-3")
	f("GET /c?callback=f", 304, "If-None-Match: "+tag)
	f("GET /c?callback=f", 304, "If-None-Match: "+tag)
	if g := s.ask("GET /a?callback=g"); g.get("ETag") == tag {
		t.Error("another name has the same tag")
	}
	if g := s.ask("GET /a", `If-None-Match: "1"`); g.status != 304 {
		t.Errorf("the plain response with its tag: got %d, want 304", g.status)
	}
	if g := s.ask("GET /a", "Range: bytes=0-3"); g.status != 206 || g.body != `{"n"` {
		t.Errorf("a range of the plain response: got %d %q", g.status, g.body)
	}
}

// TestHeadOfCallback checks that HEAD and GET have the same fields.
func TestHeadOfCallback(t *testing.T) {
	for _, body := range []string{`{"n":1}`, "[\"\u2028\"]", `["` + strings.Repeat("x", 100_000) + `"]`} {
		s := newSite(t, func(a *asked) { a.ok(body, jsonType, `ETag: "1"`) }, withJSONP())
		s.ask("GET /a")
		get, head := s.ask("GET /a?callback=f"), s.ask("HEAD /a?callback=f")
		same := func(g *got) string {
			var b strings.Builder
			for _, f := range g.fields {
				if string(f.Name) != "X-Request-Id" {
					fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
				}
			}
			return b.String()
		}
		if a, b := same(get), same(head); a != b || get.get("Content-Length") != fmt.Sprint(len(get.body)) {
			t.Errorf("GET has\n%sHEAD has\n%s", a, b)
		}
	}
}

// TestCallbackPurge checks that a purge of any URL with a callback drops the response that
// all callbacks share.
func TestCallbackPurge(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(fmt.Sprint(a.n), jsonType) }, withJSONP())
	f := func(want string) {
		t.Helper()
		if g := s.ask("GET /a?callback=f&x=1"); g.body != "/**/f("+want+");" {
			t.Errorf("got %q, want %s", g.body, want)
		}
	}
	f("1")
	f("1")
	if _, err := s.Purge(t.Context(), admin.PurgeRequest{Selector: purge.By(purge.URL, "http://site/a?x=1&callback=other&_=3")}); err != nil {
		t.Fatal(err)
	}
	f("2")
	if _, err := s.Purge(t.Context(), admin.PurgeRequest{Selector: purge.By(purge.URL, "http://site/a?x=1")}); err != nil {
		t.Fatal(err)
	}
	f("3")
}

// TestCallbackPurgeMethod checks that PURGE drops the response that all callbacks share, and
// is forwarded unchanged if the method is not enabled.
func TestCallbackPurgeMethod(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		s := newSite(t, func(a *asked) { a.ok(fmt.Sprint(a.n), jsonType) }, withJSONP(), func(c *Config) {
			if enabled {
				c.Purgers = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
		})
		s.ask("GET /a?callback=f")
		s.ask("PURGE /a?callback=g")
		s.ask("GET /a?callback=f")
		want := "GET /a\nGET /a\n"
		if !enabled {
			want = "GET /a\nPURGE /a?callback=g\n"
		}
		if got := s.origin.firstLines(); got != want {
			t.Errorf("with PURGE enabled %v the origin was asked\n%swant\n%s", enabled, got, want)
		}
	}
}

// TestCallbackExplained checks that explain uses the key of the request without callback.
func TestCallbackExplained(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("1", jsonType) }, withJSONP())
	s.ask("GET /a?callback=f")
	f := func(path, want string, headers map[string]string) {
		t.Helper()
		e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://site" + path, Headers: headers})
		if err != nil {
			t.Fatal(err)
		}
		got := e.Decision
		for _, step := range e.Steps {
			if step.What == "callback" || step.What == "key" {
				got += " " + step.Value
			}
		}
		if got != want {
			t.Errorf("%s: got %s; want %s", path, got, want)
		}
	}
	f("/a?callback=g&_=1", "hit http://site/a wrapped", nil)
	f("/a?callback=g", "hit http://site/a credentials", map[string]string{"Cookie": "a=b"})
	f("/a?callback=a-b", "local http://site/a bad-name", nil)
	f("/a", "hit http://site/a", nil)
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

func gunzipped(t *testing.T, body string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
