package memcached

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/telemetry"
)

var status = []string{"Cache-Status"}

const nothing = "Not Found: memcached has no such value, and there is no fallback\n"

func TestHit(t *testing.T) {
	s := newSite(t, 3, Location{Path: "/count", Key: "${arg.user_id}::${arg.entry_id}", ContentType: "text/plain", Fallback: None})
	s.cfg.Rules.Namespace = "testapp::"
	s.start()
	s.set("100::7", "a value", 0, 0)
	s.set("100::8", "another", 0, time.Hour+time.Second/2)
	s.set("100::10", "", 0, 0)
	s.wantAnswer("200\nCache-Status: kasoku; hit; detail=memcached\n\na value", status, "GET /count?user_id=100&entry_id=7")
	s.wantAnswer("200\nCache-Status: kasoku; hit; ttl=3600; detail=memcached\n\nanother", status, "GET /count?user_id=100&entry_id=8")
	s.wantAnswer("200\nCache-Status: kasoku; hit; detail=memcached", status, "GET /count?user_id=100&entry_id=10")
	s.wantAnswer("404\nCache-Status: kasoku; fwd=miss; detail=missing\n\n"+nothing, status, "GET /count?user_id=100&entry_id=9")
	s.wantAnswer("404\nCache-Status: kasoku; fwd=miss; detail=no-key\n\n"+nothing, status, "GET /count?user_id=100")
	s.wantAnswer("404\n\nNot Found: there is no location for this path, and no fallback\n", status, "GET /counts")
	s.wantAnswer("405\nAllow: GET, HEAD\n\nMethod Not Allowed: memcached answers only GET and HEAD, and there is no fallback\n",
		[]string{"Allow"}, "POST /count?user_id=100&entry_id=7")
}

// The most specific location of a path applies.
func TestLocations(t *testing.T) {
	l := func(path, key string) Location { return Location{Path: path, Key: key, Fallback: None} }
	s := newSite(t, 1, l("/{rest...}", "rest ${path.rest}"), l("/a/{x}", "x ${path.x}"), l("/a/b", "b"), l("/{y}/b", "y ${path.y}"),
		l("/h", "${header.X-A}.${cookie.c}"), l("/d/{x}", "${path.x}"))
	s.cfg.Locations[5].Decode, s.cfg.Rules.Escape = true, key.NginxUpper
	s.start()
	for _, k := range []string{"rest%20c", "rest%20c/d", "x%20c", "b", "y%20c", "1.2", "%20%25"} {
		s.servers[0].Set(k, "value of "+k, 0, 0)
	}
	f := func(want, target string, fields ...string) {
		t.Helper()
		s.wantAnswer("200\n\nvalue of "+want, nil, "GET "+target, fields...)
	}
	f("rest%20c", "/c")
	f("rest%20c/d", "/c/d")
	f("x%20c", "/a/c")
	f("b", "/a/b")
	f("y%20c", "/c/b")
	f("1.2", "/h", "x-a", "1", "Cookie", "b=3; c=2")
	f("%20%25", "/d/%20%25")
}

// Keys that memcached does not allow are not sent.
func TestBadKeys(t *testing.T) {
	s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", Decode: true, Fallback: None})
	s.start()
	f := func(why, target string) {
		t.Helper()
		s.wantAnswer("404\nCache-Status: kasoku; fwd=miss; detail="+why+"\n\n"+nothing, status, "GET "+target)
	}
	f("bad-key", "/k?k=a%0d%0aset+evil+0+0+4%0d%0apwnd")
	f("bad-key", "/k?k=a+b")
	f("empty-key", "/k?k=")
	f("no-key", "/k?k=%zz")
	f("long-key", "/k?k="+strings.Repeat("k", 251))
	for _, c := range s.servers[0].Commands("") {
		if strings.ContainsAny(c, "kpw") {
			t.Errorf("memcached got %q", c)
		}
	}
}

// The answer has the location's fields and the ones that depend on the request.
func TestHead(t *testing.T) {
	s := newSite(t, 1, Location{
		Path: "/k", Key: "${arg.k}${header.Accept-Language:-}${cookie.c:-}", ContentType: "text/css", Headers: []Header{{"X-A", "b"}, {"X-C", "d"}},
		ETag: true, CacheControl: "max-age=5", Fallback: None,
	}, Location{Path: "/ttl", Key: "${arg.k}", CacheControl: "no-cache", Lifetime: true, Fallback: None})
	s.start()
	s.set("v", "value", 0, 0)
	s.set("short", "value", 0, 10*time.Second+time.Second/2)
	x := request("GET /k?k=v", "Range", "bytes=0-1")
	s.svc.Serve(x)
	want := "Content-Type: text/css\r\nX-A: b\r\nX-C: d\r\nAccept-Ranges: none\r\nVary: Accept-Language, Cookie\r\nCache-Control: max-age=5\r\n" +
		"ETag: " + tagText("value") + "\r\nCache-Status: kasoku; hit; detail=memcached\r\n"
	if got := string(x.Reply.Head()); x.Reply.Status != 200 || got != want || string(x.Reply.Body) != "value" {
		t.Errorf("got %d\n%s%q\nwant\n%s", x.Reply.Status, got, x.Reply.Body, want)
	}
	if r := &x.Record; r.Service != "counts" || r.Operation != "GET" || string(r.Path) != "/k" || string(r.Route) != "/k" || r.KeyHash == 0 || r.Decision != telemetry.Hit {
		t.Errorf("the record is %+v", r)
	}
	x.Reply.Reset()
	control := []string{"Cache-Control", "Content-Type", "Vary", "ETag"}
	s.wantAnswer("200\nCache-Control: no-cache\n\nvalue", control, "GET /ttl?k=v")
	s.wantAnswer("200\nCache-Control: max-age=10\n\nvalue", control, "GET /ttl?k=short")
}

func TestNotModified(t *testing.T) {
	s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", ETag: true, Fallback: None}, Location{Path: "/no", Key: "${arg.k}", Fallback: None})
	s.start()
	s.set("v", "value", 0, 0)
	tag := tagText("value")
	yes, no := "304\nETag: "+tag, "200\nETag: "+tag+"\n\nvalue"
	f := func(want string, fields ...string) {
		t.Helper()
		s.wantAnswer(want, []string{"ETag"}, "GET /k?k=v", fields...)
	}
	f(no)
	f(yes, "If-None-Match", tag)
	f(yes, "If-None-Match", "W/"+tag)
	f(yes, "if-none-match", `"a" , `+tag+` ,"b"`)
	f(yes, "If-None-Match", `"a"`, "If-None-Match", tag)
	f(yes, "If-None-Match", "*")
	f(no, "If-None-Match", `"a"`)
	f(no, "If-None-Match", "")
	f(no, "If-None-Match", `"a`+tag[1:])
	f(no, "If-None-Match", "x"+tag)
	f(no, "If-None-Match", strings.Trim(tag, `"`))
	f(no, "If-Modified-Since", "Sun, 06 Nov 2044 08:49:37 GMT")
	s.wantAnswer(yes, []string{"ETag"}, "HEAD /k?k=v", "If-None-Match", tag)
	s.wantAnswer(no, []string{"ETag"}, "HEAD /k?k=v") // its body is not sent
	s.wantAnswer("200\n\nvalue", []string{"ETag"}, "GET /no?k=v", "If-None-Match", "*")
}

// packed returns text in a coding.
func packed(t testing.TB, text string, w func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	z := w(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
func zlibbed(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }

// unzip decodes a body in gzip.
func unzip(t testing.TB, body []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A compressed value is sent as it is stored to clients that accept gzip, and plain to others.
// The two forms have different tags.
func TestCodings(t *testing.T) {
	for _, near := range []time.Duration{0, time.Hour} {
		s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", ContentType: "text/javascript", ETag: true, NearTTL: near, Fallback: None,
			JSONP: dotted(t, jsonp.Dotted)})
		s.cfg.Values = value.Pylibmc
		s.start()
		text := `{"a":"` + strings.Repeat("long ", 1000) + `"}`
		s.set("gzip", packed(t, text, gzipped), 8, 0)
		s.set("zlib", packed(t, text, zlibbed), 8, 0)
		s.set("plain", text, 0, 0)
		ask := func(k string, fields ...string) (body, encoding, vary, tag string, length int) {
			t.Helper()
			x := request("GET /k?k="+k, fields...)
			s.svc.Serve(x)
			defer x.Reply.Reset()
			if x.Reply.Status != 200 {
				t.Errorf("%s: got status %d", k, x.Reply.Status)
			}
			for line := range strings.Lines(string(x.Reply.Head())) {
				name, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch name {
				case "Content-Encoding":
					encoding = v
				case "Vary":
					vary = v
				case "ETag":
					tag = v
				}
			}
			body = string(x.Reply.Body)
			if encoding == "gzip" {
				body = unzip(t, x.Reply.Body)
			}
			return body, encoding, vary, tag, len(x.Reply.Body)
		}
		for _, k := range []string{"gzip", "zlib"} {
			body, encoding, vary, plainTag, _ := ask(k)
			if body != text || encoding != "" || vary != "Accept-Encoding" {
				t.Errorf("%s plain: %.20q, %s, %s", k, body, encoding, vary)
			}
			if body, encoding, _, _, _ := ask(k, "Accept-Encoding", "br, gzip;q=0"); body != text || encoding != "" {
				t.Errorf("%s without gzip: %.20q, %s", k, body, encoding)
			}
			body, encoding, vary, tag, n := ask(k, "Accept-Encoding", "deflate, gzip;q=0.5")
			if body != text || encoding != "gzip" || vary != "Accept-Encoding" || tag == plainTag || n > 200 {
				t.Errorf("%s in gzip: got %.20q, %s, %s, the tag %s after %s, %d bytes", k, body, encoding, vary, tag, plainTag, n)
			}
			s.wantAnswer("304\nETag: "+tag, []string{"ETag", "Content-Encoding"}, "GET /k?k="+k, "Accept-Encoding", "gzip", "If-None-Match", tag)
			if body, encoding, vary, _, _ := ask(k+"&callback=cb", "Accept-Encoding", "gzip"); body != "/**/cb("+text+");" || encoding != "" || vary != "Accept-Encoding" {
				t.Errorf("%s wrapped: %.20q, %s, %s", k, body, encoding, vary)
			}
		}
		if body, encoding, vary, _, _ := ask("plain", "Accept-Encoding", "gzip"); body != text || encoding != "" || vary != "" {
			t.Errorf("a plain value: got %.20q, %s, %s", body, encoding, vary)
		}
	}
}

// A value that only its writer can read is a miss.
func TestUnreadable(t *testing.T) {
	for _, near := range []time.Duration{0, time.Hour} {
		s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", NearTTL: near, Fallback: None})
		s.cfg.Values, s.cfg.Client.MaxValue = value.CMF, 1<<20
		s.start()
		s.set("storable", "\x04\x0b...", 1, 0)
		s.set("cut", packed(t, "text", gzipped)[:20], 2, 0)
		s.set("no-gzip", "text", 2, 0)
		s.set("bomb", packed(t, strings.Repeat("0", 2<<20), gzipped), 2, 0)
		s.set("flags", "text", 1<<20, 0)
		for k, why := range map[string]string{"storable": "serialised", "cut": "corrupt", "no-gzip": "corrupt", "bomb": "too-large", "flags": "unknown-flags"} {
			s.wantAnswer("404\nCache-Status: kasoku; fwd=miss; detail="+why+"\n\n"+nothing, status, "GET /k?k="+k)
		}
	}
}

// A failure of memcached is a miss with its reason.
func TestFailedServer(t *testing.T) {
	for _, near := range []time.Duration{0, time.Hour} {
		s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", NearTTL: near, Fallback: None})
		s.start()
		s.servers[0].Script(func(command string) (string, bool) {
			switch {
			case strings.Contains(command, " error"):
				return "SERVER_ERROR out of memory\r\n", true
			case strings.Contains(command, " garbage"):
				return "<html>\r\n", true
			}
			return "", false
		})
		f := func(why, k string) {
			t.Helper()
			s.wantAnswer("503\nCache-Status: kasoku; fwd=miss; detail="+why+"\n\nService Unavailable: memcached is unavailable, and there is no fallback\n",
				status, "GET /k?k="+k)
		}
		f("refused", "error")
		f("garbled", "garbage")
		s.servers[0].Stop()
		f("down", "key")
	}
}

// The key does not include the callback. In legacy mode the answer is that of the old module.
func TestCallback(t *testing.T) {
	l := func(mode jsonp.Mode, path string) Location {
		return Location{Path: path, Key: "${uri}", ContentType: "text/javascript", ETag: true, Fallback: None, JSONP: dotted(t, mode)}
	}
	for _, near := range []time.Duration{0, time.Hour} {
		s := newSite(t, 1, l(jsonp.Legacy, "/legacy"), l(jsonp.Dotted, "/dotted"))
		s.cfg.Locations[0].NearTTL, s.cfg.Locations[1].NearTTL = near, near
		s.start()
		for _, k := range []string{"/legacy?a=1", "/dotted?a=1", "/dotted"} {
			s.set(k, `{"status":"success", "count":1000}`+"\n", 0, 0)
		}
		s.set("/dotted?html", "<html>", 0, 0)
		from := "memcached"
		if near > 0 {
			s.ask(nil, "GET /legacy?a=1")
			s.ask(nil, "GET /dotted?a=1")
			s.ask(nil, "GET /dotted")
			s.ask(nil, "GET /dotted?html")
			from = "near"
		}
		lines := []string{"Cache-Status", "Content-Type"}
		f := func(want, what string, fields ...string) {
			t.Helper()
			s.wantAnswer(strings.ReplaceAll(want, "FROM", from), lines, what, fields...)
		}
		const plain, script = "Content-Type: text/javascript", "Content-Type: application/javascript; charset=utf-8"
		const value = `{"status":"success", "count":1000}`
		f("200\n"+plain+"\nCache-Status: kasoku; hit; detail=FROM; jsonp=wrapped\n\ncb_func_hoge("+value+"\n);", "GET /legacy?callback=cb_func_hoge&a=1")
		f("200\n"+plain+"\nCache-Status: kasoku; hit; detail=FROM; jsonp=bad-name-passed\n\n"+value+"\n", "GET /legacy?callback=a.b&a=1")
		f("200\n"+script+"\nCache-Status: kasoku; hit; detail=FROM; jsonp=wrapped\n\n/**/a.b("+value+");", "GET /dotted?a=1&callback=a.b")
		f("200\n"+script+"\nCache-Status: kasoku; hit; detail=FROM; jsonp=wrapped\n\n/**/a("+value+");", "GET /dotted?callback=a")
		f("200\n"+plain+"\nCache-Status: kasoku; hit; detail=FROM; jsonp=credentials\n\n"+value+"\n", "GET /dotted?callback=a", "Cookie", "a=b")
		f("200\n"+plain+"\nCache-Status: kasoku; hit; detail=FROM\n\n"+value+"\n", "GET /dotted", "Cookie", "a=b")
		f("200\n"+plain+"\nCache-Status: kasoku; hit; detail=FROM; jsonp=not-json\n\n<html>", "GET /dotted?html&callback=a")
		f("400\nContent-Type: application/json\nCache-Status: kasoku; detail=bad-callback; jsonp=bad-name\n\n"+jsonp.BadName.Info().Refusal, "GET /dotted?callback=a-b")

		lines = []string{"Cache-Control"}
		f("200\nCache-Control: private\n\n"+value+"\n", "GET /dotted?callback=a", "Cookie", "a=b")
		f("200\n\n"+value+"\n", "GET /dotted", "Cookie", "a=b")

		tag := func(target string, fields ...string) string {
			_, tag, _ := strings.Cut(s.ask([]string{"ETag"}, "GET "+target, fields...), "ETag: ")
			tag, _, _ = strings.Cut(tag, "\n")
			return tag
		}
		one, two, none := tag("/dotted?callback=one"), tag("/dotted?callback=two"), tag("/dotted")
		if one == two || one == none || one == "" {
			t.Errorf("tags %s, %s and %s", one, two, none)
		}
		s.wantAnswer("304\nETag: "+one, []string{"ETag"}, "GET /dotted?callback=one", "If-None-Match", one)
		if got := tag("/dotted?callback=one", "If-None-Match", none); got != one+"\n" && got != one {
			t.Errorf("got %q", got)
		}
	}
}

// A service counts its answers by reason and decision.
func TestMetrics(t *testing.T) {
	s := newSite(t, 1, Location{Path: "/k", Key: "${arg.k}", Fallback: None})
	s.start()
	s.set("v", "value", 0, 0)
	for range 3 {
		s.ask(nil, "GET /k?k=v")
	}
	s.ask(nil, "GET /k?k=w")
	s.ask(nil, "GET /x")
	for reason, want := range map[string]uint64{"memcached": 3, "missing": 1, "no-location": 1} {
		c := s.registry.Counter("kasoku_memcached_requests_total", "", "service", "counts", "reason", reason)
		if got := c.Value(); got != want {
			t.Errorf("%s: counted %d, want %d", reason, got, want)
		}
	}
	got := fmt.Sprint(s.svc.Report().Decisions)
	if want := fmt.Sprint(map[telemetry.Decision]uint64{telemetry.Hit: 3, telemetry.Miss: 1, telemetry.Pass: 1}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
