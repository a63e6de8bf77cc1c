package memcached

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// TestUnixSocket reads from a server that listens on a Unix socket.
func TestUnixSocket(t *testing.T) {
	s := StartSocket(t)
	s.Set(t, "k", 0, 0, "v")
	node := startKasoku(t, []*Server{s}, append(longTimeouts, "locations:", `  - {path: /v, key: "${arg.k}"}`)...)
	if got := mustAsk(t, "GET", node.URL+"/v?k=k"); got.status != http.StatusOK || got.body != "v" {
		t.Errorf("answered with %+v", got)
	}
}

// TestAuthentication reads from a server that requires a name and a password, with the right
// password and with wrong ones.
func TestAuthentication(t *testing.T) {
	s := StartAuth(t, "reader", "s3cret")
	s.Set(t, "k", 0, 0, "v")
	back := startBackend(t, fromFallback)
	location := []string{"locations:", `  - {path: /v, key: "${arg.k}", fallback: "` + back.url + `"}`}
	f := func(password, want string) {
		t.Helper()
		node := harness.Start(t, harness.Options{Type: "memcached", Origin: strings.Join(Addrs([]*Server{s}), ", "), Env: []string{"MC_PASSWORD=" + password},
			Service: append(append(longTimeouts, "auth: {username: reader, password_env: MC_PASSWORD}"), location...)})
		if got := mustAsk(t, "GET", node.URL+"/v?k=k"); got.status != http.StatusOK || got.body != want {
			t.Errorf("with the password %q: %+v", password, got)
		}
	}
	f("s3cret", "v")
	f("another", fromFallback)
}

// TestTLS reads from a server over TLS. With an authority other than that of its certificate every
// key is a miss.
func TestTLS(t *testing.T) {
	cert, key := writeCertificate(t, 1)
	other, _ := writeCertificate(t, 2)
	s := StartTLS(t, cert, key)
	s.Set(t, "k", 0, 0, "v")
	back := startBackend(t, fromFallback)
	f := func(ca, want string) {
		t.Helper()
		node := harness.Start(t, harness.Options{Type: "memcached", Origin: fmt.Sprintf("{address: %q, tls: true}", s.Addr),
			Service: append(longTimeouts, fmt.Sprintf("server_tls: {ca: %q, server_name: localhost}", ca),
				"locations:", `  - {path: /v, key: "${arg.k}", fallback: "`+back.url+`"}`)})
		if got := mustAsk(t, "GET", node.URL+"/v?k=k"); got.status != http.StatusOK || got.body != want {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	f(cert, "v")
	f(other, fromFallback)
}

// writeCertificate makes a self-signed certificate for localhost.
func writeCertificate(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM, keyPEM := certs.SelfSigned(t, serial)
	for file, text := range map[string][]byte{cert: certPEM, key: keyPEM} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
