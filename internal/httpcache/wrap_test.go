package httpcache

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/coding"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// inCall returns a wrapped body, without using package jsonp.
func inCall(name, body string) string {
	body = strings.TrimRight(strings.TrimPrefix(body, "\ufeff"), " \t\r\n")
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\u2028", `\u2028`), "\u2029", `\u2029`)
	return "/**/" + name + "(" + body + ");"
}

// inCoding returns a body in a content coding.
func inCoding(name, body string) string {
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "":
		return body
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, 6)
	default:
		c, err := coding.NewWriter(name)
		if err != nil {
			panic(err)
		}
		c.Reset(&b)
		w = c
	}
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

// bodyPlan specifies how an origin sends a body.
type bodyPlan struct {
	body, coding string
	pieces       []int // lengths of chunks; nil: it is sent at once with its length
	fields       []string
}

func (p *bodyPlan) send(a *asked) {
	if p.body == "" {
		a.ok("", jsonType)
		return
	}
	sent, head := inCoding(p.coding, p.body), "Cache-Control: max-age=60\n"+jsonType+"\n"+joined(p.fields)
	if p.coding != "" {
		head += "Content-Encoding: " + strings.Replace(p.coding, "raw", "deflate", 1) + "\n"
	}
	if p.pieces == nil {
		a.respond(fmt.Sprintf("HTTP/1.1 200 OK\n%sContent-Length: %d\n\n%s", head, len(sent), sent))
		return
	}
	a.respond("HTTP/1.1 200 OK\n" + head + "Transfer-Encoding: chunked\n\n")
	for i := 0; len(sent) > 0; i++ {
		n := min(p.pieces[i%len(p.pieces)], len(sent))
		a.raw(fmt.Sprintf("%x\r\n%s\r\n", n, sent[:n]))
		sent = sent[n:]
	}
	a.raw("0\r\n\r\n")
}

func drawBodyPlan(t *rapid.T) *bodyPlan {
	texts := []string{"x", "é", "\u2028", "\u2029", "\\u2028", "\xe2\x80", "\xe2", "{}", " "}
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "\ufeff", " "}).Draw(t, "begin") + `["`)
	size := rapid.SampledFrom([]int{0, 10, 16 << 10, 32<<10 - 8, 64 << 10, 100_000, 300_000, 1<<20 + 70_000}).Draw(t, "size")
	for b.Len() < size+rapid.IntRange(0, 20).Draw(t, "more") {
		b.WriteString(rapid.SampledFrom(texts).Draw(t, "text"))
		b.WriteString(strings.Repeat(rapid.SampledFrom([]string{"a", "bc"}).Draw(t, "fill"), rapid.IntRange(0, max(1, size/4)).Draw(t, "times")))
	}
	b.WriteString(`"]` + rapid.SampledFrom([]string{"", "\n", "\r\n \t"}).Draw(t, "end"))
	p := &bodyPlan{body: b.String(), coding: rapid.SampledFrom([]string{"", "", "gzip", "br", "zstd", "deflate", "raw"}).Draw(t, "coding")}
	if rapid.Bool().Draw(t, "tagged") {
		p.fields = []string{`ETag: "1"`}
	}
	if rapid.Bool().Draw(t, "chunked") {
		p.pieces = rapid.SliceOfN(rapid.SampledFrom([]int{1000, 4096, 16<<10 + 1, 32 << 10, 70_001}), 1, 5).Draw(t, "pieces")
	}
	return p
}

// TestWrappedAnyWay checks that a wrapped answer is the same however it is made: of a
// streamed answer, of a stored one, in gzip, in HTTP/1.0, and for each content coding of the
// origin.
func TestWrappedAnyWay(t *testing.T) {
	var mu sync.Mutex
	shipments := map[string]*bodyPlan{}
	s := newSite(t, func(a *asked) {
		mu.Lock()
		p := shipments[strings.Fields(a.head)[1]]
		mu.Unlock()
		p.send(a)
	}, withJSONP(), func(c *Config) { c.Codings, c.MaxObject = coding.Names, 8<<20 })
	n, test := 0, t
	rapid.Check(t, func(t *rapid.T) {
		p := drawBodyPlan(t)
		n++
		path := fmt.Sprintf("/%d", n)
		mu.Lock()
		shipments[path] = p
		mu.Unlock()
		names := []string{"f", "jQuery1_2", "a.b[3].c"}
		tags := map[string]string{}
		for i, how := range []string{"miss", "hit", "hit again", "encoded"} {
			name := names[i%len(names)]
			g := s.ask("GET "+path+"?callback="+name, "Accept-Encoding: gzip, br")
			body := g.body
			if g.get("Content-Encoding") == "gzip" {
				body = ungzip(t, body)
			}
			if g.status != 200 || g.cut || body != inCall(name, p.body) {
				t.Fatalf("%s (%s): %d, %d bytes, cut %v; want %d\n%s", how, p.coding, g.status, len(body), g.cut, len(inCall(name, p.body)), written(g.fields))
			}
			if length := g.get("Content-Length"); length != "" && length != fmt.Sprint(len(g.body)) {
				t.Fatalf("%s: Content-Length is %s, received %d bytes", how, length, len(g.body))
			} else if length == "" && p.coding == "" && i > 0 {
				t.Fatalf("%s: no length", how)
			}
			if was := tags[name]; was != "" && was != g.get("ETag") && g.get("Content-Encoding") == "" {
				t.Fatalf("%s: tag %s, then %s", how, was, g.get("ETag"))
			}
			tags[name] = g.get("ETag")
			if i == 2 {
				s.waitIdle(test)
			}
		}
		if g := s.ask("GET "+path, "Accept-Encoding: identity"); g.body != inCoding(p.coding, p.body) {
			t.Fatalf("the plain answer has %d bytes, want %d", len(g.body), len(p.body))
		}
		if g := s.old("GET " + path + "?callback=f"); g.body != inCall("f", p.body) || g.get("Transfer-Encoding") != "" {
			t.Fatalf("in HTTP/1.0: %d bytes, %s", len(g.body), written(g.fields))
		}
	})
	if asked := len(s.origin.requests()); asked != n {
		t.Errorf("the origin was asked %d times for %d bodies", asked, n)
	}
}

func ungzip(t *rapid.T, body string) string {
	r, err := coding.NewReader("gzip", strings.NewReader(body))
	if err == nil {
		var b []byte
		if b, err = io.ReadAll(r); err == nil {
			return string(b)
		}
	}
	t.Fatal(err)
	return ""
}

// old sends a request in HTTP/1.0 without keep-alive.
func (s *site) old(line string) *got {
	c := s.dial()
	defer c.Close()
	c.send(line + " HTTP/1.0\nHost: site")
	return c.rest(c.head(), "GET")
}

// TestWrappedInParallel checks that several callbacks share one fetch.
func TestWrappedInParallel(t *testing.T) {
	half, joined := strings.Repeat("x\u2028", 50_000), make(chan struct{})
	s := newSite(t, func(a *asked) {
		a.respond(fmt.Sprintf("HTTP/1.1 200 OK\nCache-Control: max-age=60\n%s\nContent-Length: %d\n\n[\"%s", jsonType, 2*len(half)+4, half))
		<-joined
		a.raw(half + `"]`)
	}, withJSONP())
	var done sync.WaitGroup
	for _, name := range []string{"f", "g", "h"} {
		done.Go(func() {
			if g := s.ask("GET /a?_=" + name + "&callback=" + name); g.body != inCall(name, `["`+half+half+`"]`) || g.cut {
				t.Errorf("%s got %d bytes, cut %v, %s", name, len(g.body), g.cut, written(g.fields))
			}
		})
	}
	await.Until(t, func() bool { return s.Stats().Joined == 2 })
	close(joined)
	done.Wait()
	if got := s.origin.firstLines(); got != "GET /a\n" {
		t.Errorf("the origin was asked\n%s", got)
	}
}

// TestWrappedBroken checks a body that breaks off: the answer is an error if nothing has
// been sent, and is cut otherwise.
func TestWrappedBroken(t *testing.T) {
	s := newSite(t, func(a *asked) {
		long := 10
		if strings.Contains(a.head, "/long") {
			long = 200_000
		}
		store := "max-age=60"
		if strings.Contains(a.head, "own") {
			store = "private"
		}
		a.respond(fmt.Sprintf("HTTP/1.1 200 OK\nCache-Control: %s\n%s\nContent-Length: %d\n\n[%s", store, jsonType, 2*long, strings.Repeat(" ", long)))
		a.conn.Close()
	}, withJSONP())
	for _, path := range []string{"/short", "/shortown", "/long", "/longown"} {
		g := s.ask("GET " + path + "?callback=f")
		if long := strings.HasPrefix(path, "/long"); long != g.cut || !long && g.status != 502 || strings.HasSuffix(g.body, ");") {
			t.Errorf("%s: %d, %d bytes, cut %v", path, g.status, len(g.body), g.cut)
		}
	}
}

// TestEncodedOrigin checks that supported content codings are decoded, and others refused.
func TestEncodedOrigin(t *testing.T) {
	s := newSite(t, func(a *asked) {
		if strings.Contains(a.head, "Accept-Encoding: gzip") {
			t.Errorf("asked with\n%s", a.head)
		}
		switch {
		case strings.Contains(a.head, "/unknown"):
			a.ok("[1]", jsonType, "Content-Encoding: compress")
		case strings.Contains(a.head, "/broken"):
			a.ok("[1]", jsonType, "Content-Encoding: gzip")
		case strings.Contains(a.head, "/cut"):
			text := gzipped("[1, 2, 3]")
			a.ok(text[:len(text)-12], jsonType, "Content-Encoding: gzip")
		case strings.Contains(a.head, "/twice"):
			a.ok(inCoding("br", gzipped("[1]")), jsonType, "Content-Encoding: gzip, br")
		case strings.Contains(a.head, "/other"):
			a.ok(gzipped("call(1)"), jsonType, "Content-Encoding: gzip", `ETag: "1"`, "Content-Digest: sha-256=:eA==:", "Content-MD5: eA==")
		case strings.Contains(a.head, "/html"):
			a.ok(gzipped("<p>"), "Content-Type: text/html", "Content-Encoding: gzip")
		case strings.Contains(a.head, "/much"):
			a.ok(gzipped("["+strings.Repeat(" ", 9<<20)+"1]"), jsonType, "Content-Encoding: gzip", "Cache-Control: private")
		case strings.Contains(a.head, "/own"):
			a.ok(gzipped("[1]"), jsonType, "Content-Encoding: gzip", "Cache-Control: private")
		}
	}, withJSONP())
	f := func(path string, status int, body, why string) {
		t.Helper()
		for range 2 {
			g := s.ask("GET "+path+"?callback=f", "Accept-Encoding: gzip")
			if g.status != status || body != "" && g.body != body || !strings.HasSuffix(g.get("Cache-Status"), why) || g.status == 200 && path != "/html" && g.get("Content-Encoding")+g.get("Content-Digest")+g.get("Content-MD5") != "" {
				t.Errorf("%s: got %d %q, fields %s", path, g.status, g.body, written(g.fields))
			}
		}
	}
	f("/unknown", 502, "", "")
	f("/broken", 502, "", "")
	f("/cut", 502, "", "")
	f("/twice", 200, "/**/f([1]);", "wrapped")
	f("/other", 200, "call(1)", "not-json")
	f("/html", 200, gzipped("<p>"), "type")
	f("/own", 200, "/**/f([1]);", "wrapped")
	if g := s.ask("GET /much?callback=f"); g.status != 200 || !g.cut || len(g.body) > 8<<20 {
		t.Errorf("an excessive expansion: %d, %d bytes, cut %v; want it cut", g.status, len(g.body), g.cut)
	}
	if g := s.ask("HEAD /twice?callback=f"); g.status != 200 || g.get("Content-Encoding") != "" || g.get("Content-Length") != "" {
		t.Errorf("HEAD: %s", g)
	}
}

// TestWrappedFromDisk wraps bodies on disk, also after a restart, and fetches damaged ones
// again.
func TestWrappedFromDisk(t *testing.T) {
	dir := t.TempDir()
	body := `["` + strings.Repeat("abc\u2029", 60_000) + "\"]\n"
	script := func(a *asked) { a.ok(body, jsonType, `ETag: "1"`) }
	s, _ := newDiskSite(t, dir, script, withJSONP())
	f := func(name string) {
		t.Helper()
		g := s.ask("GET /a?callback=" + name)
		if g.status != 200 || g.body != inCall(name, body) || g.cut {
			t.Errorf("%s: %d, %d bytes, %s", name, g.status, len(g.body), g.get("Cache-Status"))
		}
		if not := s.ask("GET /a?callback="+name, "If-None-Match: "+g.get("ETag")); not.status != 304 {
			t.Errorf("%s: a condition with its tag: got %d, want 304", name, not.status)
		}
		if head := s.ask("HEAD /a?callback=" + name); head.status != 200 || head.get("ETag") != g.get("ETag") || head.get("Content-Length") != "" {
			t.Errorf("%s: HEAD is %s", name, head)
		}
	}
	f("f")
	f("g")
	if s.bodiesOnDisk() != 1 || len(s.origin.requests()) != 1 {
		t.Fatalf("%d bodies on disk, %d requests", s.bodiesOnDisk(), len(s.origin.requests()))
	}
	s.stop()
	s, _ = newDiskSite(t, dir, script, withJSONP())
	defer s.stop()
	f("f")
	if n := len(s.origin.requests()); n != 0 {
		t.Errorf("%d requests to the origin after the restart, want 0", n)
	}
}

// TestWrappedForm sends one encoded variant to every callback that accepts gzip.
func TestWrappedForm(t *testing.T) {
	for _, body := range []string{`["` + strings.Repeat("abcd", 20_000) + "\"]\n", `["` + strings.Repeat("ab\u2028", 20_000) + `"]`} {
		s := newSite(t, func(a *asked) { a.ok(body, jsonType, `ETag: "1"`) }, withJSONP(), func(c *Config) { c.Codings = coding.Names })
		s.ask("GET /a")
		s.waitIdle(t)
		f := func(accept, want, vary string) *got {
			t.Helper()
			g := s.ask("GET /a?callback=f", "Accept-Encoding: "+accept)
			text := g.body
			if want == "gzip" {
				text = gunzipped(t, text)
			}
			if g.get("Content-Encoding") != want || text != inCall("f", body) || g.get("Vary") != vary {
				t.Errorf("Accept-Encoding %q: got %d bytes in %q, Vary %q; want %q, %q", accept, len(text), g.get("Content-Encoding"), g.get("Vary"), want, vary)
			}
			return g
		}
		coded := f("gzip, deflate, br, zstd", "gzip", "Accept-Encoding")
		if !strings.HasPrefix(coded.get("ETag"), `W/"1;jp-`) || len(coded.body) > 1000 {
			t.Errorf("%d bytes with %s", len(coded.body), coded.get("ETag"))
		}
		plain := f("br", "", "Accept-Encoding")
		f("gzip;q=0", "", "Accept-Encoding")
		f("identity", "", "Accept-Encoding")
		if `W/`+plain.get("ETag") != coded.get("ETag") {
			t.Errorf("tags %s and %s", plain.get("ETag"), coded.get("ETag"))
		}
		for _, tag := range []string{plain.get("ETag"), coded.get("ETag")} {
			if g := s.ask("GET /a?callback=f", "Accept-Encoding: gzip", "If-None-Match: "+tag); g.status != 304 || g.get("Content-Encoding") != "" || g.body != "" {
				t.Errorf("with %s: %s", tag, g)
			}
		}
		if g := s.ask("HEAD /a?callback=f", "Accept-Encoding: gzip"); g.get("Content-Length") != fmt.Sprint(len(coded.body)) || g.get("Content-Encoding") != "gzip" {
			t.Errorf("HEAD: %s", g)
		}
		if g := s.ask("GET /a", "Accept-Encoding: gzip"); gunzipped(t, g.body) != body {
			t.Errorf("the plain one in gzip decodes to something else")
		}
	}
}

// wrappedHits are requests that a stored response answers in a call.
var wrappedHits = map[string]string{
	"small":       "GET /s?callback=f&_=1 HTTP/1.1\r\nHost: site\r\nAccept-Encoding: br\r\n\r\n",
	"large":       "GET /l?x=1&callback=jQuery1_2 HTTP/1.1\r\nHost: site\r\n\r\n",
	"escaped":     "GET /e?callback=f HTTP/1.1\r\nHost: site\r\n\r\n",
	"gzip":        "GET /l?x=1&callback=f HTTP/1.1\r\nHost: site\r\nAccept-Encoding: gzip, br\r\n\r\n",
	"head":        "HEAD /s?callback=f HTTP/1.1\r\nHost: site\r\n\r\n",
	"conditional": "GET /s?callback=f HTTP/1.1\r\nHost: site\r\nIf-None-Match: \"x\"\r\n\r\n",
	"credentials": "GET /s?callback=f HTTP/1.1\r\nHost: site\r\nCookie: a=b\r\n\r\n",
}

// wrappedSite returns an exchange that is a wrapped hit, and a function that answers it.
func wrappedSite(t testing.TB, text string, change ...func(*Config)) (*edge.Exchange, func()) {
	s := newSite(t, func(a *asked) {
		switch a.head[5] {
		case 'l':
			a.ok(`["`+strings.Repeat("hello", 40_000)+`"]`, "ETag: \"1\"", jsonType)
		case 'e':
			a.ok(`["`+strings.Repeat("hello\u2028", 4_000)+`"]`, "ETag: \"1\"", jsonType)
		default:
			a.ok(`{"status":"success", "count":1000}`, "ETag: \"1\"", jsonType)
		}
	}, append(change, func(c *Config) { c.Codings = coding.Names })...)
	for _, path := range []string{"/s", "/l?x=1", "/e"} {
		s.ask("GET " + path)
	}
	s.waitIdle(t)
	var r http1.Request
	if _, err := http1.ParseRequest([]byte(text), &http1.Limits{}, &r); err != nil {
		t.Fatal(err)
	}
	was := r.Fields.Clone()
	x := edge.Detached(t.Context(), r, nil, time.Now())
	return x, func() {
		x.Reply.Reset()
		x.Request.Fields = append(x.Request.Fields[:0], was...)
		s.Serve(x)
	}
}

func TestWrappedHitAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates")
		return
	}
	for name, text := range wrappedHits {
		t.Run(name, func(t *testing.T) {
			x, serve := wrappedSite(t, text, withJSONP())
			serve()
			serve()
			if got := x.Record.Decision.String(); got != "hit" {
				t.Fatalf("the decision is %s, want hit", got)
			}
			if n := testing.AllocsPerRun(100, serve); n != 0 {
				t.Errorf("%v allocations", n)
			}
			around := len(x.Reply.Before) > 0 && len(x.Reply.After) > 0
			if want := name == "large" || name == "gzip"; around != want {
				t.Errorf("its body is sent from where it is: %v", around)
			}
		})
	}
}

// BenchmarkWrappedHit measures a wrapped hit, to be compared with BenchmarkHit.
func BenchmarkWrappedHit(b *testing.B) {
	for name, text := range wrappedHits {
		line, rest, _ := strings.Cut(text, "callback=")
		_, rest, _ = strings.Cut(rest, " ")
		plain := strings.TrimRight(line, "?&") + " " + rest
		for kind, text := range map[string]string{"plain": plain, "call": text} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				x, serve := wrappedSite(b, text, withJSONP())
				serve()
				if got := x.Record.Decision.String(); got != "hit" {
					b.Fatalf("it is a %s", got)
				}
				b.ReportAllocs()
				for b.Loop() {
					serve()
				}
			})
		}
	}
}
