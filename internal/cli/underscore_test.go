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
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// fieldRecorder is an origin that records the unchanged names of the header and trailer fields that
// it receives, and sends one answer to all requests.
type fieldRecorder struct {
	net.Listener
	mu    sync.Mutex
	names []string
}

func newFieldRecorder(t *testing.T, answer string) *fieldRecorder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &fieldRecorder{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(conn, answer)
		}
	}()
	return w
}

func (w *fieldRecorder) serve(conn net.Conn, answer string) {
	defer conn.Close()
	for br := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.mu.Lock()
		for _, fields := range []http.Header{r.Header, r.Trailer} {
			for name := range fields {
				w.names = append(w.names, name)
			}
		}
		w.mu.Unlock()
		fmt.Fprintf(conn, "%s\r\n\r\n", answer)
	}
}

// received returns those of the given names that arrived since the last call.
func (w *fieldRecorder) received(of ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.DeleteFunc(w.names, func(name string) bool { return !slices.Contains(of, name) })
	w.names = nil
	slices.Sort(names)
	return names
}

// raw sends bytes as a request over a new connection, and returns the head of the answer.
func (r *running) raw(service, request string) string {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.ServiceAddr(service).String())
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		r.t.Fatal(err)
	}
	var head strings.Builder
	for br := bufio.NewReader(conn); ; {
		line, err := br.ReadString('\n')
		if err != nil {
			r.t.Fatalf("%q, %v", head.String(), err)
		}
		if line == "\r\n" {
			return head.String()
		}
		head.WriteString(line)
	}
}

// Names with underscores, as fieldRecorder records them, and a name that must always arrive.
var (
	spelled = []string{"X_forwarded_host", "X_forwarded_proto", "X_original_url", "X_http_method_override", "X_real_ip", "X-Amz-A_b", "Proxy", "X-Kept"}
	fields  = "X_Forwarded_Host: evil\nX_Forwarded_Proto: https\nX_Original_URL: /admin\nX_HTTP_Method_Override: DELETE\nX_Real_IP: 10.0.0.1\n" +
		"X-Amz-A_B: 1\nProxy: http://evil\nX-Kept: 1\n"
)

const plainAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nVary: X_Forwarded_Host\r\nCache-Control: max-age=60"

// Fields with underscores in their names don't reach the origins of any service, in any kind
// of request, unless the configuration allows it; Proxy never does.
func TestUnderscores(t *testing.T) {
	kept := []string{"X_http_method_override", "X-Amz-A_b", "X-Kept"} // the others are spelled like fields of proxies
	for _, f := range []struct{ name, service, request, answer string }{
		{"http", web1, "GET / HTTP/1.1\nHost: a\n" + fields + "\n", plainAnswer},
		{"write", web1, "POST / HTTP/1.1\nHost: a\nContent-Length: 0\n" + fields + "\n", plainAnswer},
		{"trailer", web1, "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n0\n" + fields + "\n", plainAnswer},
		{"upgrade", web1, "GET / HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: websocket\n" + fields + "\n",
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket"},
		{"couchdb", strings.Replace(strings.Replace(couch1, "NODE/", "ORIGIN", 1), "tweets", "site", 1),
			"POST /db/_find HTTP/1.1\nHost: a\nContent-Length: 0\n" + fields + "\n", plainAnswer},
		{"memcached", memcachedBefore, "GET /count HTTP/1.1\nHost: a\n" + fields + "\n", plainAnswer},
	} {
		for setting, want := range map[string][]string{
			"":                                    {"X-Kept"},
			"    underscores_in_headers: false\n": {"X-Kept"},
			"    underscores_in_headers: true\n":  kept,
		} {
			if f.name == "trailer" && len(want) > 1 {
				want = []string{"X-Amz-A_b", "X-Kept"}
			}
			t.Run(f.name+setting, func(t *testing.T) {
				w := newFieldRecorder(t, f.answer)
				r := run(t, strings.ReplaceAll(f.service, "ORIGIN", "http://"+w.Addr().String())+setting)
				head := r.raw("site", f.request)
				if got := w.received(spelled...); !slices.Equal(got, sorted(want)) {
					t.Errorf("the origin got %q; want %q\n%s", got, sorted(want), head)
				}
			})
		}
	}
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}

const memcachedBefore = `
admin: {listen: 127.0.0.1:0}
services:
  site:
    type: memcached
    listen: 127.0.0.1:0
    servers: ["127.0.0.1:1"]
    fallback: ["ORIGIN"]
    locations:
      - {path: /count, key: "k", content_type: text/plain}
`

// Fields that don't reach the origin select no variant, so that the origin gets one request for
// all of them. The second client may still join the first one's request.
func TestUnderscoresSelectNoVariant(t *testing.T) {
	w := newFieldRecorder(t, plainAnswer)
	r := run(t, strings.ReplaceAll(web1, "ORIGIN", "http://"+w.Addr().String()))
	for _, field := range []string{"", "X_Forwarded_Host: evil\n", "X_Forwarded_Host: other\n"} {
		if head := r.raw("site", "GET / HTTP/1.1\nHost: a\n"+field+"\n"); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
			t.Errorf("%q: %s", field, head)
		}
	}
	if got := w.received("Via"); len(got) != 1 {
		t.Errorf("the origin received %d requests, want 1", len(got))
	}
}

// Fields with underscores don't reach the origin over HTTP/2 or after a reload either.
func TestUnderscoresOverHTTP2(t *testing.T) {
	w := newFieldRecorder(t, plainAnswer)
	cert, key := certs.SelfSigned(t, 1)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := strings.ReplaceAll(web1, "ORIGIN", "http://"+w.Addr().String()) + "    tls: {cert: " + dir + "/cert.pem, key: " + dir + "/key.pem}\n"
	r := run(t, at)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	wantFields := func(want ...string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+r.ServiceAddr("site").String()+"/", io.NopCloser(strings.NewReader("body")))
		if err != nil {
			t.Fatal(err)
		}
		req.Header["x_forwarded_host"], req.Header["Proxy"], req.Header["X-Kept"] = []string{"evil"}, []string{"evil"}, []string{"1"}
		req.Trailer = http.Header{"X_real_ip": {"1"}, "X-Amz-A_b": {"1"}, "Proxy": {"evil"}}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := w.received(spelled...); resp.ProtoMajor != 2 || !slices.Equal(got, sorted(want)) {
			t.Errorf("over %s the origin got %q; want %q", resp.Proto, got, sorted(want))
		}
	}
	wantFields("X-Kept")
	r.mustReload(at + "    underscores_in_headers: true\n")
	wantFields("X-Kept", "X-Amz-A_b")
}

// Of a dynamodb service only AWS's own fields reach the origin, and none of these with
// an underscore.
func TestUnderscoresOfDynamoDB(t *testing.T) {
	var mu sync.Mutex
	var names []string
	o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for name := range r.Header {
			if slices.Contains(spelled, name) {
				names = append(names, name)
			}
		}
		io.WriteString(w, `{"TableNames":[]}`)
	}))
	defer o.Close()
	for setting, want := range map[string][]string{"": nil, ", underscores_in_headers: true": {"X-Amz-A_b"}} {
		r := run(t, strings.Replace(strings.ReplaceAll(orders1, "%s", o.URL), "}}", "}"+setting+"}", 1))
		names = nil
		head := r.raw("site", "POST / HTTP/1.1\nHost: a\nContent-Type: application/x-amz-json-1.0\nX-Amz-Target: DynamoDB_20120810.ListTables\nContent-Length: 2\n"+fields+"\n{}")
		mu.Lock()
		if !slices.Equal(names, want) || !strings.HasPrefix(head, "HTTP/1.1 200") {
			t.Errorf("%q: the origin got %q; want %q\n%s", setting, names, want, head)
		}
		mu.Unlock()
	}
}
