package httpcache

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/coding"
)

var page = strings.Repeat("<p>the same again</p>", 500)

// waitIdle waits until no flight is running and nothing is to be encoded.
func (s *site) waitIdle(t testing.TB) {
	t.Helper()
	waitFor(t, func() bool {
		st := s.Stats()
		return !st.Encoding && st.Running == 0
	})
}

// A client that accepts a coding gets the encoded variant once there is one. The variant has
// a weak entity tag, with which clients validate. Ranges are ranges of the plain body.
func TestCompress(t *testing.T) {
	s := newSite(t, func(a *asked) {
		a.ok(page, "Content-Type: text/html", `ETag: "1"`, "Last-Modified: Fri, 01 Jan 2021 00:00:00 GMT")
	}, func(c *Config) { c.Codings = coding.Names })
	first := s.ask("GET /a", "Accept-Encoding: gzip")
	if first.body != page || first.get("Content-Encoding") != "" || first.get("Vary") != "Accept-Encoding" {
		t.Fatalf("first: %s", first)
	}
	s.waitIdle(t)
	coded := s.ask("GET /a", "Accept-Encoding: gzip")
	if coded.status != 200 || coded.get("Content-Encoding") != "gzip" || coded.get("ETag") != `W/"1"` || coded.get("Vary") != "Accept-Encoding" {
		t.Fatalf("coded: %s", coded)
	}
	z, err := gzip.NewReader(strings.NewReader(coded.body))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != page {
		t.Fatalf("the body decodes to %d bytes, %v", len(b), err)
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
		t.Errorf("the origin got %d requests", n)
	}
}
