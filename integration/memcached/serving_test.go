package memcached

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// rawClient is a client that sends no Accept-Encoding of its own and decodes nothing.
var rawClient = &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 20 * time.Second}

// page is an answer.
type page struct {
	status int
	header http.Header
	body   []byte
}

// fetch sends a request; fields are names and values of its header.
func fetch(t testing.TB, method, url string, fields ...string) page {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := rawClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return page{resp.StatusCode, resp.Header, body}
}

// TestServedValues stores values with the client libraries and serves them: uncompressed, or
// compressed for clients that accept it.
func TestServedValues(t *testing.T) {
	for _, w := range writers() {
		t.Run(w.profile, func(t *testing.T) {
			w.wantServed(t, Start(t))
		})
	}
}

// wantServed stores the writer's values on a server and checks that a service in front of it serves
// them.
func (w *writer) wantServed(t *testing.T, s *Server, service ...string) {
	t.Helper()
	w.run(t, s)
	node := harness.Start(t, harness.Options{Type: "memcached", Origin: Addrs([]*Server{s})[0], Env: s.loginEnv(), Service: append(service,
		"values: "+w.profile,
		"locations:",
		`  - {path: "/value/{key}", key: "${path.key}", content_type: application/json}`,
		`  - {path: "/near/{key}", key: "${path.key}", content_type: application/json, near_ttl: 1h}`,
		`  - {path: "/call/{key}", key: "${path.key}", content_type: application/json, jsonp: {param: callback}}`,
	)})
	held := s.Held(t, keysOf(w.values)...)
	for _, x := range w.values {
		if held[x.key].Flags != x.flags {
			t.Errorf("%s has the flags %#x, want %#x", x.key, held[x.key].Flags, x.flags)
		}
		x.check(t, node.URL+"/value/"+x.key, held[x.key])
		x.check(t, node.URL+"/near/"+x.key, held[x.key]) // fetched
		x.check(t, node.URL+"/near/"+x.key, held[x.key]) // from the near cache
		x.checkCall(t, node.URL+"/call/"+x.key)
	}
}

func keysOf(values []written) (keys []string) {
	for i := range values {
		keys = append(keys, values[i].key)
	}
	return keys
}

// check requests a value with each kind of request that clients make.
func (x *written) check(t *testing.T, url string, item Item) {
	t.Helper()
	if x.reason != value.OK {
		x.checkMiss(t, fetch(t, http.MethodGet, url, "Accept-Encoding", "gzip"))
		x.checkMiss(t, fetch(t, http.MethodGet, url))
		return
	}
	plain := fetch(t, http.MethodGet, url)
	x.checkHit(t, plain, "", []byte(x.want))
	x.checkHit(t, fetch(t, http.MethodGet, url, "Accept-Encoding", "br, deflate"), "", []byte(x.want))
	zipped := fetch(t, http.MethodGet, url, "Accept-Encoding", "br, gzip")
	switch x.coding {
	case value.Gzip:
		x.checkHit(t, zipped, "gzip", item.Value)
		fallthrough
	case value.Zlib:
		x.checkHit(t, zipped, "gzip", nil)
		if got := unzip(t, zipped.body); string(got) != x.want {
			t.Errorf("%s in gzip is %.100q", url, got)
		}
		if zipped.header.Get("ETag") == plain.header.Get("ETag") || zipped.header.Get("Vary") == "" || plain.header.Get("Vary") == "" {
			t.Errorf("%s: the compressed and the plain answer have the same validator, or no Vary: %v, %v", url, zipped.header, plain.header)
		}
	default:
		x.checkHit(t, zipped, "", []byte(x.want))
	}
	x.checkRevalidation(t, url, plain, "")
	x.checkRevalidation(t, url, zipped, "gzip")
}

// checkHit checks that p is a hit with the coding and, unless want is nil, the body want.
func (x *written) checkHit(t *testing.T, p page, coding string, want []byte) {
	t.Helper()
	if p.status != http.StatusOK || p.header.Get("Content-Encoding") != coding || !strings.HasPrefix(p.header.Get("Cache-Status"), "kasoku; hit") {
		t.Errorf("%s: got status %d and header %v", x.key, p.status, p.header)
	}
	if want != nil && !bytes.Equal(p.body, want) {
		t.Errorf("%s: got %.100q (%d bytes), want %.100q (%d)", x.key, p.body, len(p.body), want, len(want))
	}
}

// checkRevalidation sends HEAD, and then a conditional request for the page.
func (x *written) checkRevalidation(t *testing.T, url string, p page, accept string) {
	t.Helper()
	head := fetch(t, http.MethodHead, url, "Accept-Encoding", accept)
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Type", "ETag"} {
		if got, want := head.header.Get(name), p.header.Get(name); got != want {
			t.Errorf("HEAD %s: %s is %q, want %q", url, name, got, want)
		}
	}
	same := fetch(t, http.MethodGet, url, "Accept-Encoding", accept, "If-None-Match", p.header.Get("ETag"))
	if same.status != http.StatusNotModified || len(same.body) > 0 {
		t.Errorf("%s with its own ETag: got status %d and %d bytes, want 304 and none", url, same.status, len(same.body))
	}
}

// checkMiss checks that a value that can't be sent is answered like a missing one, with the
// reason in Cache-Status.
func (x *written) checkMiss(t *testing.T, p page) {
	t.Helper()
	if status := p.header.Get("Cache-Status"); p.status != http.StatusNotFound || !strings.Contains(status, "detail="+x.reason.String()) {
		t.Errorf("%s: got status %d, body %q, Cache-Status %q", x.key, p.status, p.body, status)
	}
}

// checkCall requests the value as a JSONP call.
func (x *written) checkCall(t *testing.T, url string) {
	t.Helper()
	if x.reason != value.OK || !x.json {
		return
	}
	p := fetch(t, http.MethodGet, url+"?callback=cb", "Accept-Encoding", "gzip")
	if want := "/**/cb(" + x.want + ");"; p.status != http.StatusOK || string(p.body) != want {
		t.Errorf("%s in a callback: got status %d and %.100q, want %.100q", x.key, p.status, p.body, want)
	}
}

func unzip(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
