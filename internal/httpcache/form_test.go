package httpcache

import (
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/kasoku/kasoku/internal/httpcache/coding"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

var page = strings.Repeat("<p>the same again</p>", 500)

// offered is an answer that is offered in codings.
func offered(q *Query, body string, fields ...string) *Answer {
	a := answer(q, body, fields...)
	a.Head.Offer(a.Length)
	return a
}

// encoded stores body and waits until its forms are made.
func encoded(t *testing.T, s *engine, q *Query, body string, fields ...string) *Object {
	t.Helper()
	fetch(t, s, q, gives(offered(q, body, fields...)))
	s.flights.wg.Wait()
	s.tasks.wg.Wait()
	f := s.Find(q)
	if f.Object == nil {
		t.Fatal("not stored")
	}
	return f.Object
}

// rests waits until no flight is under way and nothing is to be encoded. While clients are
// served, other work may begin at any time, so that there is no waiting for flights.wg.
func (s *engine) rests(t testing.TB) {
	t.Helper()
	until(t, func() bool {
		s.encoder.mu.Lock()
		defer s.encoder.mu.Unlock()
		return !s.encoder.running && s.flights.stats.running.Load() == 0
	})
}

func (s *site) rests(t testing.TB) {
	t.Helper()
	(&engine{s.store, s.flights}).rests(t)
}

func TestForms(t *testing.T) {
	s := open(t, FlightLimits{Stored: Limits{Codings: []string{"gzip", "br"}}})
	o := encoded(t, s, get(url), page, "Content-Type", "text/html", "ETag", `"1"`, "Accept-Ranges", "bytes")
	f := func(accept, want string) {
		t.Helper()
		got := ""
		if f := o.Form(get(url, "Accept-Encoding", accept)); f != nil {
			got = f.Coding
		}
		if got != want {
			t.Fatalf("who accepts %q gets %q; want %q", accept, got, want)
		}
	}
	f("", "")
	f("gzip", "gzip")
	f("gzip, deflate, br, zstd", "br")
	f("br;q=0, gzip;q=0.1", "gzip")
	f("zstd", "")
	f("*", "br")
	f("identity", "")
	f("brx", "")
	if o.Form(get(url)) != nil {
		t.Error("who accepts nothing gets a coding")
	}
	br := o.Form(get(url, "Accept-Encoding", "br"))
	var plain strings.Builder
	b, _ := br.Body.Bytes()
	if _, err := io.Copy(&plain, brotli.NewReader(strings.NewReader(string(b)))); err != nil || plain.String() != page {
		t.Errorf("it decodes to %d bytes, %v", plain.Len(), err)
	}
	want := "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\nCache-Control: max-age=60\r\nContent-Type: text/html\r\n" +
		"ETag: W/\"1\"\r\nVary: Accept-Encoding\r\n"
	if string(br.Lines) != want {
		t.Errorf("its lines are %q; want %q", br.Lines, want)
	}
	if !strings.HasSuffix(string(o.Head.Lines), "ETag: \"1\"\r\nAccept-Ranges: bytes\r\nVary: Accept-Encoding\r\n") {
		t.Errorf("the plain one's are %q", o.Head.Lines)
	}
	if w := s.resource(get(url).Key).weight(); w < int64(len(page))+o.forms.Load().weight() {
		t.Errorf("with its forms it weighs %d", w)
	}
}

// What is not fit for a coding, or not worth it, stays plain.
func TestWhatStaysPlain(t *testing.T) {
	noise := make([]byte, 5000)
	r := rand.NewChaCha8([32]byte{})
	r.Read(noise)
	f := func(name, body string, vary bool, fields ...string) {
		t.Helper()
		s := open(t, FlightLimits{Stored: Limits{Codings: coding.Names}})
		o := encoded(t, s, get(url), body, fields...)
		if o.forms.Load() != nil || strings.Contains(string(o.Head.Lines), "Accept-Encoding") != vary {
			t.Errorf("%s: it has forms, or its lines are %q", name, o.Head.Lines)
		}
	}
	f("a picture", page, false, "Content-Type", "image/png")
	f("no type", page, false)
	f("no-transform", page, false, "Content-Type", "text/html", "Cache-Control", "no-transform")
	f("encoded already", page, false, "Content-Type", "text/html", "Content-Encoding", "gzip")
	f("with a digest", page, false, "Content-Type", "text/html", "Repr-Digest", "sha-256=:AA==:")
	f("short", page[:leastEncoded-1], false, "Content-Type", "text/html")
	f("does not get smaller", string(noise), true, "Content-Type", "text/html")
	none := open(t, FlightLimits{})
	if o := encoded(t, none, get(url), page, "Content-Type", "text/html"); o.forms.Load() != nil {
		t.Error("encoded though no coding is wanted")
	}
}

// A Vary that names Accept-Encoding needs no second one.
func TestOfferKeepsVary(t *testing.T) {
	h := head(get(url), "Content-Type", "text/css", "Vary", "accept-encoding, x")
	h.Offer(-1)
	if h.Added != nil || !h.offered {
		t.Errorf("offered %v, with %q added", h.offered, h.Added)
	}
}

// A 304 changes the head of all forms and costs no encoding.
func TestFormsOutliveValidation(t *testing.T) {
	s := open(t, FlightLimits{Stored: Limits{Codings: []string{"gzip"}}})
	q := get(url, "Accept-Encoding", "gzip")
	old := encoded(t, s, q, page, "Content-Type", "text/html", "ETag", `"1"`)
	a := &Answer{Head: head(q, "Content-Type", "text/html", "ETag", `"1"`, "X", "new"), Validated: old, Share: true, Keep: true}
	a.Head.Offer(old.Body.Len())
	ticket := s.Fly(&Ask{Query: q, Seen: old, Fill: gives(a)})
	if _, err := ticket.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ticket.Leave()
	now := s.Find(q).Object
	f := now.Form(q)
	if now == old || f == nil || !strings.Contains(string(f.Lines), "X: new") || f.Body != old.Form(q).Body {
		t.Errorf("its form is %+v", f)
	}
	next := s.Update(q.Key, now, head(q, "Content-Type", "text/html"))
	if next.Form(q) != nil {
		t.Error("what is not offered any more has forms")
	}
	if n := s.Stats().Encoded; n != 1 {
		t.Errorf("encoded %d times", n)
	}
}

func TestFormAllocates(t *testing.T) {
	if race.Enabled {
		return
	}
	s := open(t, FlightLimits{Stored: Limits{Codings: coding.Names}})
	o := encoded(t, s, get(url), page, "Content-Type", "text/html")
	q := get(url, "Accept-Encoding", "gzip, deflate, br, zstd")
	if n := testing.AllocsPerRun(1000, func() { q.again(); o.Form(q) }); n > 0 {
		t.Errorf("choosing a form: %v allocations", n)
	}
}

// Through the service: who accepts a coding gets it once it is made, with a tag
// that is told apart, validates with that tag, and gets ranges of the plain one.
func TestCompress(t *testing.T) {
	s := newSite(t, func(a *asked) {
		a.ok(page, "Content-Type: text/html", `ETag: "1"`, "Last-Modified: Fri, 01 Jan 2021 00:00:00 GMT")
	}, func(c *Config) { c.Codings = coding.Names })
	first := s.ask("GET /a", "Accept-Encoding: gzip")
	if first.body != page || first.get("Content-Encoding") != "" || first.get("Vary") != "Accept-Encoding" {
		t.Fatalf("first: %s", first)
	}
	s.rests(t)
	coded := s.ask("GET /a", "Accept-Encoding: gzip")
	if coded.status != 200 || coded.get("Content-Encoding") != "gzip" || coded.get("ETag") != `W/"1"` || coded.get("Vary") != "Accept-Encoding" {
		t.Fatalf("coded: %s", coded)
	}
	z, err := gzip.NewReader(strings.NewReader(coded.body))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != page {
		t.Fatalf("it decodes to %d bytes, %v", len(b), err)
	}
	not := s.ask("GET /a", "Accept-Encoding: gzip", `If-None-Match: W/"1"`)
	if not.status != 304 || not.get("Content-Encoding") != "" || not.get("ETag") != `W/"1"` {
		t.Errorf("validated: %s", not)
	}
	part := s.ask("GET /a", "Accept-Encoding: gzip", "Range: bytes=0-4")
	if part.status != 206 || part.body != page[:5] || part.get("Content-Encoding") != "" || part.get("ETag") != `"1"` {
		t.Errorf("a part: %s", part)
	}
	plain := s.ask("GET /a")
	if plain.body != page || plain.get("Content-Encoding") != "" || plain.get("Vary") != "Accept-Encoding" || plain.get("ETag") != `"1"` {
		t.Errorf("plain: %s", plain)
	}
	size := s.ask("HEAD /a", "Accept-Encoding: gzip")
	if size.get("Content-Encoding") != "gzip" || size.get("Content-Length") != coded.get("Content-Length") {
		t.Errorf("HEAD: %s", size)
	}
	if n := len(s.origin.requests()); n != 1 {
		t.Errorf("%d requests at the origin", n)
	}
}
