package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// TestCallbackOfHTTP checks how a service of type http wraps its answers by its keys, and that a
// reload changes that, for stored answers too.
func TestCallbackOfHTTP(t *testing.T) {
	var asked atomic.Int64
	o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.RawQuery != "" {
			t.Errorf("the origin received the query %q", r.URL.RawQuery)
		}
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"n":1}`)
	}))
	t.Cleanup(o.Close)
	at := strings.ReplaceAll(web1, "ORIGIN", o.URL)
	r := run(t, at+"    jsonp: {strip: [_]}\n")
	f := func(query string, status int, want string) {
		t.Helper()
		if a := r.request("site", "GET", "/"+query); a.status != status || a.body != want && status == 200 {
			t.Errorf("%s: %d %q; want %q", query, a.status, a.body, want)
		}
	}
	f("?callback=a.b&_=1", 200, `/**/a.b({"n":1});`)
	f("?callback=a-b", 400, "")
	r.mustReload(at + "    jsonp: {param: cb, mode: strict, prefix: \"\", newline: true}\n")
	f("?cb=ab", 200, "ab({\"n\":1});\n")
	f("?cb=a.b", 400, "")
	r.mustReload(at + "    jsonp: {mode: legacy, types: [application/json], public: true}\n")
	f("?callback=1a", 200, `1a({"n":1});`)
	f("?callback=a.b", 200, `{"n":1}`)
	if n := asked.Load(); n != 1 {
		t.Errorf("the origin received %d requests", n)
	}
	if err := r.reload(at + "    jsonp: {prefix: \"\\n\"}\n"); err == nil || !strings.Contains(err.Error(), "services.site.jsonp.prefix") {
		t.Errorf("an invalid configuration: got error %v", err)
	}
}

// TestCallbackOfCouchDB has answers of nodes wrapped as CouchDB wraps them.
func TestCallbackOfCouchDB(t *testing.T) {
	r := run(t, strings.ReplaceAll(couch1, "NODE", newRelax(t, "one").URL)+`    jsonp: {prefix: "/* CouchDB */", newline: true}`+"\n")
	for _, name := range []string{"f", "g.h"} {
		a := r.request("tweets", "GET", "/db/a?callback="+name)
		want := "/* CouchDB */" + name + `({"_id":"a","_rev":"1-a","node":"one"});` + "\n"
		if a.body != want || a.header.Get("Content-Type") != "application/javascript; charset=utf-8" {
			t.Errorf("%d %q; want %q", a.status, a.body, want)
		}
	}
}

// TestCallbackOverHTTP2 requests short and long wrapped bodies over HTTP/2, from the origin and
// then from the cache.
func TestCallbackOverHTTP2(t *testing.T) {
	texts := map[string]string{"/short": `{"n":1}`, "/long": `["` + strings.Repeat("x", 200_000) + `"]`}
	o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, texts[r.URL.Path])
	}))
	t.Cleanup(o.Close)
	cert, key := certs.SelfSigned(t, 1)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := run(t, strings.ReplaceAll(web1, "ORIGIN", o.URL)+"    jsonp: {}\n    tls: {cert: "+dir+"/cert.pem, key: "+dir+"/key.pem}\n")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for path, text := range texts {
		for _, name := range []string{"f", "g", "f"} {
			resp, err := client.Get("https://" + r.ServiceAddr("site").String() + path + "?callback=" + name)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if want := "/**/" + name + "(" + text + ");"; err != nil || resp.ProtoMajor != 2 || string(body) != want {
				t.Errorf("%s for %s: %s, %d bytes, %v; want %d", path, name, resp.Proto, len(body), err, len(want))
			}
		}
	}
}
