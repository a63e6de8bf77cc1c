package store

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/kasoku/kasoku/internal/httpcache/coding"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

var page = strings.Repeat("<p>the same again</p>", 500)

// encoded stores body and waits until its encoded variants exist.
func encoded(t *testing.T, s *Store, q *Query, body string, fields ...string) *Object {
	t.Helper()
	h := head(q, fields...)
	h.Offer(int64(len(body)))
	put(t, s, q, h, body)
	s.tasks.wg.Wait()
	f := s.Find(q)
	if f.Object == nil {
		t.Fatal("not stored")
	}
	return f.Object
}

func TestEncodedVariants(t *testing.T) {
	s := open(t, Limits{Codings: []string{"gzip", "br"}})
	o := encoded(t, s, get(url), page, "Content-Type", "text/html", "ETag", `"1"`, "Accept-Ranges", "bytes")
	f := func(accept, want string) {
		t.Helper()
		got := ""
		if f := o.EncodedFor(get(url, "Accept-Encoding", accept)); f != nil {
			got = f.Coding
		}
		if got != want {
			t.Fatalf("Accept-Encoding %q: got %q, want %q", accept, got, want)
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
	if o.EncodedFor(get(url)) != nil {
		t.Error("a request without Accept-Encoding got an encoded variant")
	}
	br := o.EncodedFor(get(url, "Accept-Encoding", "br"))
	var plain strings.Builder
	b, _ := br.Body.Bytes()
	if _, err := io.Copy(&plain, brotli.NewReader(strings.NewReader(string(b)))); err != nil || plain.String() != page {
		t.Errorf("the variant decodes to %d bytes, %v; want %d", plain.Len(), err, len(page))
	}
	want := "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\nCache-Control: max-age=60\r\nContent-Type: text/html\r\n" +
		"ETag: W/\"1\"\r\nVary: Accept-Encoding\r\n"
	if string(br.Lines) != want {
		t.Errorf("the variant has the fields %q, want %q", br.Lines, want)
	}
	if !strings.HasSuffix(string(o.Head.Lines), "ETag: \"1\"\r\nAccept-Ranges: bytes\r\nVary: Accept-Encoding\r\n") {
		t.Errorf("the plain response has the fields %q", o.Head.Lines)
	}
	if w := s.resource(get(url).Key).weight(); w < int64(len(page))+o.encoded.Load().weight() {
		t.Errorf("the resource weighs %d, which does not include the encoded variants", w)
	}
}

// A response that cannot be encoded, or does not get smaller, remains plain.
func TestNotEncoded(t *testing.T) {
	noise := make([]byte, 5000)
	r := rand.NewChaCha8([32]byte{})
	r.Read(noise)
	f := func(name, body string, vary bool, fields ...string) {
		t.Helper()
		s := open(t, Limits{Codings: coding.Names})
		o := encoded(t, s, get(url), body, fields...)
		if o.encoded.Load() != nil || strings.Contains(string(o.Head.Lines), "Accept-Encoding") != vary {
			t.Errorf("%s: the response was encoded, or has the fields %q", name, o.Head.Lines)
		}
	}
	f("a picture", page, false, "Content-Type", "image/png")
	f("no type", page, false)
	f("no-transform", page, false, "Content-Type", "text/html", "Cache-Control", "no-transform")
	f("encoded already", page, false, "Content-Type", "text/html", "Content-Encoding", "gzip")
	f("with a digest", page, false, "Content-Type", "text/html", "Repr-Digest", "sha-256=:AA==:")
	f("short", page[:minEncoded-1], false, "Content-Type", "text/html")
	f("does not get smaller", string(noise), true, "Content-Type", "text/html")
	none := open(t, Limits{})
	if o := encoded(t, none, get(url), page, "Content-Type", "text/html"); o.encoded.Load() != nil {
		t.Error("encoded although no coding is configured")
	}
}

// A Vary that names Accept-Encoding already is not extended.
func TestOfferKeepsVary(t *testing.T) {
	h := head(get(url), "Content-Type", "text/css", "Vary", "accept-encoding, x")
	h.Offer(-1)
	if h.Added != nil || !h.offered {
		t.Errorf("offered %v, with %q added", h.offered, h.Added)
	}
}

// A 304 changes the head of all encoded variants, and their bodies are kept.
func TestEncodedVariantsAfterValidation(t *testing.T) {
	s := open(t, Limits{Codings: []string{"gzip"}})
	q := get(url, "Accept-Encoding", "gzip")
	old := encoded(t, s, q, page, "Content-Type", "text/html", "ETag", `"1"`)
	h := head(q, "Content-Type", "text/html", "ETag", `"1"`, "X", "new")
	h.Offer(old.Body.Len())
	validated := NewObject(h, old.Body, s.Fence(q.Key))
	validated.CopyEncoded(old)
	if !s.Put(q.Key, validated, old) {
		t.Fatal("not stored")
	}
	s.tasks.wg.Wait()
	now := s.Find(q).Object
	f := now.EncodedFor(q)
	if now == old || f == nil || !strings.Contains(string(f.Lines), "X: new") || f.Body != old.EncodedFor(q).Body {
		t.Errorf("after the 304 the encoded variant is %+v", f)
	}
	next := s.Update(q.Key, now, head(q, "Content-Type", "text/html"))
	if next.EncodedFor(q) != nil {
		t.Error("a response that may no longer be encoded has encoded variants")
	}
	if n := s.Stats().Encoded; n != 1 {
		t.Errorf("encoded %d times, want once", n)
	}
}

func TestEncodedForAllocates(t *testing.T) {
	if race.Enabled {
		return
	}
	s := open(t, Limits{Codings: coding.Names})
	o := encoded(t, s, get(url), page, "Content-Type", "text/html")
	q := get(url, "Accept-Encoding", "gzip, deflate, br, zstd")
	if n := testing.AllocsPerRun(1000, func() { q.resetNormalized(); o.EncodedFor(q) }); n > 0 {
		t.Errorf("EncodedFor allocates %v times", n)
	}
}
