package edge

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// identity is a self-signed certificate in files.
type identity struct {
	cert, key string
	pool      *x509.CertPool
	pair      tls.Certificate
}

// newIdentity writes cert.pem and key.pem with the given serial number to dir.
func newIdentity(t testing.TB, dir string, serial int64) identity {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	check(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	id := identity{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), pool: x509.NewCertPool()}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	check(os.WriteFile(id.cert, certPEM, 0o600))
	check(os.WriteFile(id.key, keyPEM, 0o600))
	id.pool.AppendCertsFromPEM(certPEM)
	id.pair, err = tls.X509KeyPair(certPEM, keyPEM)
	check(err)
	return id
}

func startTLS(t testing.TB, cfg Config) (*Server, identity) {
	t.Helper()
	id := newIdentity(t, t.TempDir(), 1)
	r, err := NewCertReloader(id.cert, id.key, "")
	if err != nil {
		t.Fatal(err)
	}
	cfg.TLS = r.Config()
	return start(t, cfg), id
}

func TestTLS(t *testing.T) {
	log := newRecords()
	s, id := startTLS(t, Config{Handler: &echo{}, Log: log})
	c := dialTLS(t, s, &tls.Config{RootCAs: id.pool})
	body := strings.Repeat("x", 70000)
	for range 3 {
		c.send(post(body))
		if a := c.read("POST"); a.StatusCode != 200 || a.text != "POST / a\n"+body {
			t.Fatalf("answer %d, %d bytes", a.StatusCode, len(a.text))
		}
		if r := log.next(t); !r.TLS {
			t.Error("the record's TLS is false")
		}
		c.send(get + get)
		for range 2 {
			if a := c.read("GET"); a.text != "GET / a\n" {
				t.Fatalf("answer %q", a.text)
			}
			log.next(t)
		}
	}
	c.send(target("https://other/"))
	if a := c.read("GET"); a.text != "GET https://other/ other\n" {
		t.Errorf("absolute form with https: %d %q", a.StatusCode, a.text)
	}
	c.send(target("http://other/"))
	if a := c.read("GET"); a.StatusCode != 400 {
		t.Errorf("absolute form with http over TLS: %d", a.StatusCode)
	}
	c.ended()
}

func TestTLSClientGone(t *testing.T) {
	causes := make(chan error, 1)
	s, id := startTLS(t, Config{Handler: waiter(causes)})
	c := dialTLS(t, s, &tls.Config{RootCAs: id.pool})
	c.send(get)
	_ = c.Close()
	if err := await(t, causes, "end of the context"); !errors.Is(err, ErrClientGone) {
		t.Errorf("cause %v", err)
	}
}

func TestTLSShutdown(t *testing.T) {
	s, id := startTLS(t, Config{Handler: &echo{}})
	c := dialTLS(t, s, &tls.Config{RootCAs: id.pool})
	c.send(get)
	c.read("GET")
	h2 := h2Client(id)
	if resp, err := h2.Get("https://" + s.Addr().String() + "/"); err != nil {
		t.Fatal(err)
	} else {
		_ = resp.Body.Close()
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	c.ended()
	if s.Open() != 0 {
		t.Errorf("%d connections left", s.Open())
	}
}

// TestShutdownDuringHandshake checks that a shutdown that does not wait ends a handshake in
// which the client sends nothing.
func TestShutdownDuringHandshake(t *testing.T) {
	s, _ := startTLS(t, Config{Handler: &echo{}, Limits: Limits{HeaderTimeout: time.Hour}})
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, nc)
	for s.Open() == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("the connection is not closed: %v", err)
	}
}

func h2Client(id identity) *http.Client {
	return &http.Client{Timeout: testTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: id.pool}, ForceAttemptHTTP2: true, DisableCompression: true}}
}

func TestHTTP2(t *testing.T) {
	e := &echo{}
	log := newRecords()
	s, id := startTLS(t, Config{Handler: e, Log: log, Limits: Limits{BodyBytes: 100000}})
	cl := h2Client(id)
	f := func(method, path, body string, status int, text string) *http.Response {
		t.Helper()
		req, err := http.NewRequest(method, "https://"+s.Addr().String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "a"
		req.Header.Set("X-Request-Id", "mine")
		resp, err := cl.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ProtoMajor != 2 || resp.StatusCode != status || string(got) != text {
			t.Errorf("%s %s: %s %d %q; want %d %q", method, path, resp.Proto, resp.StatusCode, got, status, text)
		}
		if r := log.next(t); r.Status != status || !r.TLS || !r.Client.IsValid() {
			t.Errorf("%s %s: record %+v", method, path, r)
		}
		return resp
	}
	resp := f("GET", "/x?y=1", "", 200, "GET /x?y=1 a\n")
	if resp.Header.Get("Content-Type") != "text/plain" || resp.Header.Get("X-Request-Id") != "mine" {
		t.Errorf("header %q", resp.Header)
	}
	body := strings.Repeat("z", 90000)
	f("POST", "/", body, 200, "POST / a\n"+body)
	f("POST", "/", body+body, 413, "")
	f("HEAD", "/", "", 200, "")
	f("GET", "/%2e%2e/x", "", 400, "")
	f("TRACE", "/", "", 405, "")
	if n := e.calls.Load(); n != 3 {
		t.Errorf("%d requests were executed, want 3", n)
	}
	s.SetHandler(HandlerFunc(func(*Exchange) { panic("bug") }))
	f("GET", "/", "", 500, "")
	s.SetLimits(Limits{RequestsPerSecond: 0.001})
	f("GET", "/", "", 500, "")
	f("GET", "/", "", 429, "")
	s.SetLimits(Limits{})
	s.SetHandler(HandlerFunc(func(x *Exchange) {
		<-x.Context().Done()
		x.Reply.Status = http.StatusGatewayTimeout
	}))
	s.SetLimits(Limits{RequestTimeout: 10 * time.Millisecond})
	f("GET", "/", "", 504, "")
}

// serialOf returns the serial number of the server's certificate.
func serialOf(t *testing.T, s *Server, cfg *tls.Config) (int64, error) {
	t.Helper()
	cfg.InsecureSkipVerify = true
	nc, err := tls.Dial("tcp", s.Addr().String(), cfg)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	if _, err := io.WriteString(nc, get); err != nil {
		return 0, err
	}
	if _, err := nc.Read(make([]byte, 1)); err != nil {
		return 0, err
	}
	return nc.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestCertReload(t *testing.T) {
	dir := t.TempDir()
	id := newIdentity(t, dir, 1)
	r, err := NewCertReloader(id.cert, id.key, "")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Handler: &echo{}, TLS: r.Config()})
	f := func(want int64) {
		t.Helper()
		if got, err := serialOf(t, s, &tls.Config{}); err != nil || got != want {
			t.Errorf("certificate %d, %v; want %d", got, err, want)
		}
	}
	f(1)
	if changed, err := r.ReloadIfChanged(); changed || err != nil {
		t.Errorf("nothing has changed, but: %v %v", changed, err)
	}
	newIdentity(t, dir, 2)
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(id.cert, future, future); err != nil {
		t.Fatal(err)
	}
	if changed, err := r.ReloadIfChanged(); !changed || err != nil {
		t.Errorf("new files: %v %v", changed, err)
	}
	f(2)
	if err := os.WriteFile(id.key, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "key.pem") {
		t.Errorf("bad key: %v", err)
	}
	f(2)
}

func TestClientCA(t *testing.T) {
	dir := t.TempDir()
	server, good, other := newIdentity(t, dir, 1), newIdentity(t, t.TempDir(), 2), newIdentity(t, t.TempDir(), 3)
	ca := filepath.Join(dir, "ca.pem")
	copyFile(t, good.cert, ca)
	r, err := NewCertReloader(server.cert, server.key, ca)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Handler: &echo{}, TLS: r.Config()})
	f := func(success bool, certs ...tls.Certificate) {
		t.Helper()
		if _, err := serialOf(t, s, &tls.Config{Certificates: certs}); (err == nil) != success {
			t.Errorf("client with %d certificates: %v", len(certs), err)
		}
	}
	f(false)
	f(true, good.pair)
	f(false, other.pair)
	copyFile(t, other.cert, ca)
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	f(true, other.pair)
	f(false, good.pair)
	if err := os.WriteFile(ca, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "ca.pem") {
		t.Errorf("bad CA: %v", err)
	}
	f(true, other.pair)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
