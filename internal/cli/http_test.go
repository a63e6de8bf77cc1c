package cli

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// shop is an HTTP origin that counts its requests.
type shop struct {
	*httptest.Server
	asked atomic.Int64
}

func newShop(t *testing.T, name string) *shop {
	t.Helper()
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.asked.Add(1)
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Cache-Tag", "all")
		fmt.Fprintf(w, "%s %d to %s", name, n, r.Header.Get("X-Forwarded-Proto"))
	}))
	t.Cleanup(s.Close)
	return s
}

// fetch requests a path from a service and returns the body.
func (r *running) fetch(service, path string) string {
	r.t.Helper()
	resp, err := http.Get("http://" + r.ServiceAddr(service).String() + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(body)
}

const web1 = `
admin: {listen: 127.0.0.1:0}
services:
  site:
    type: http
    listen: 127.0.0.1:0
    origins: ["ORIGIN"]
`

// Answers are cached, the cache survives reloads, and commands purge it.
func TestHTTPService(t *testing.T) {
	one, two := newShop(t, "one"), newShop(t, "two")
	at := func(s *shop) string { return strings.ReplaceAll(web1, "ORIGIN", s.URL) }
	r := run(t, at(one))
	want := func(path, body string) {
		t.Helper()
		if got := r.fetch("site", path); got != body {
			t.Fatalf("%s is %q; want %q", path, got, body)
		}
	}
	want("/a", "one 1 to http")
	want("/a", "one 1 to http")
	r.mustReload(at(two) + "    forwarded: {fields: none}\n    purge_method: {enabled: true}\n")
	want("/a", "one 1 to http")
	want("/b", "two 1 to ")

	base := "http://" + r.ServiceAddr("site").String()
	purge := func(want string, flags ...string) {
		t.Helper()
		args := append([]string{"purge", "--service", "site", "--admin", "http://" + r.AdminAddr().String()}, flags...)
		var out, errs strings.Builder
		code := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv})
		if code != 0 || out.String() != "site: dropped "+want+"\n" {
			t.Fatalf("%q: %d %q %q", flags, code, out.String(), errs.String())
		}
	}
	purge(base+"/a", "--url", base+"/a")
	want("/a", "two 2 to ")
	want("/b", "two 1 to ")
	purge("all that is tagged all", "--tag", "all")
	want("/b", "two 3 to ")

	for _, part := range []string{"site     http", two.URL, "hit"} {
		if page := r.page("/api/v1/report"); !strings.Contains(page, part) {
			t.Errorf("the report lacks %q:\n%s", part, page)
		}
	}
	if err := r.reload(orders1); err == nil || !strings.Contains(err.Error(), "its type can't change from http to dynamodb") {
		t.Errorf("a reload with another type: got error %v", err)
	}
	r.mustReload(at(two) + "    proxy_protocol: true\n")
	if page := r.page("/api/v1/report"); !strings.Contains(page, "waits for a restart: services.site.proxy_protocol") {
		t.Errorf("the report does not mention the restart:\n%s", page)
	}
}

const orders1 = `
admin: {listen: 127.0.0.1:0}
services:
  site: {type: dynamodb, listen: 127.0.0.1:0, origin: "%s", region: local, auth: {mode: none}}
`

// Answers over HTTP/2 are the same, and are stored separately from those without TLS.
func TestHTTPServiceOverHTTP2(t *testing.T) {
	one := newShop(t, "one")
	cert, key := certs.SelfSigned(t, 1)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := run(t, strings.ReplaceAll(web1, "ORIGIN", one.URL)+"    tls: {cert: "+dir+"/cert.pem, key: "+dir+"/key.pem}\n")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, ask := range []struct{ method, body, status, want string }{
		{"GET", "", "kasoku; fwd=uri-miss; stored; ttl=", "one 1 to https"},
		{"GET", "", "kasoku; hit; ttl=", "one 1 to https"},
		{"POST", "text", "kasoku; fwd=method; detail=content-location", "one 2 to https"},
		{"GET", "", "kasoku; fwd=stale; detail=invalidated; stored; ttl=", "one 3 to https"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), ask.method, "https://"+r.ServiceAddr("site").String()+"/a", strings.NewReader(ask.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.ProtoMajor != 2 || string(body) != ask.want || !strings.HasPrefix(resp.Header.Get("Cache-Status"), ask.status) {
			t.Fatalf("%s: %s %q %q, %v", ask.method, resp.Proto, resp.Header.Get("Cache-Status"), body, err)
		}
	}
}

// endless is an endless reader of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A large upload passes with the default settings, and is not buffered.
func TestHTTPServiceForwardsLargeUploads(t *testing.T) {
	const size = 64 << 20
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	}))
	defer shop.Close()
	upload := func(r *running, announced int64) (status int, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+r.ServiceAddr("site").String()+"/", io.LimitReader(endless{}, size))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = announced
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	r := run(t, strings.ReplaceAll(web1, "ORIGIN", shop.URL))
	for _, announced := range []int64{size, -1} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, body := upload(r, announced)
		runtime.ReadMemStats(&after)
		if want := fmt.Sprint(size, error(nil)); status != 200 || body != want {
			t.Errorf("Content-Length %d: got %d %s, want %s", announced, status, body, want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > size/4 {
			t.Errorf("Content-Length %d: used %d bytes of memory for %d", announced, n, size)
		}
	}
	r.mustReload(strings.ReplaceAll(web1, "ORIGIN", shop.URL) + "    limits: {body_bytes: 1MiB}\n")
	c, err := net.Dial("tcp", r.ServiceAddr("site").String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: site\r\nContent-Length: %d\r\n\r\n", size)
	if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 413 ") {
		t.Errorf("an upload beyond a configured bound: got %q, %v", line, err)
	}
}
