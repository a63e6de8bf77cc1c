package memcached

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

	"github.com/kasoku/kasoku/internal/memcached/client"
)

// TestSameServers compares servers that were read from a file twice.
func TestSameServers(t *testing.T) {
	authority := httptest.NewTLSServer(nil)
	defer authority.Close()
	pool := func() *x509.CertPool {
		p := x509.NewCertPool()
		p.AddCert(authority.Certificate())
		return p
	}
	server := func(change func(*tls.Config)) []client.Server {
		secure := &tls.Config{ServerName: "cache", MinVersion: tls.VersionTLS12, RootCAs: pool(), Certificates: authority.TLS.Certificates[:1:1]}
		change(secure)
		return []client.Server{{Address: "127.0.0.1:20000", TLS: secure}}
	}
	f := func(want bool, change func(*tls.Config)) {
		t.Helper()
		a, b := server(func(*tls.Config) {}), server(change)
		if got := sameServers(a, b); got != want {
			t.Errorf("sameServers returned %t, want %t", got, want)
		}
		x, y := client.Config{Servers: a, Timeout: 1}, client.Config{Servers: b, Timeout: 1}
		if got := sameClient(&x, &y); got != want {
			t.Errorf("sameClient returned %t, want %t", got, want)
		}
		if y.Timeout = 2; sameClient(&x, &y) {
			t.Error("sameClient returned true for another timeout")
		}
	}
	f(true, func(*tls.Config) {})
	f(false, func(c *tls.Config) { c.RootCAs = nil })
	f(false, func(c *tls.Config) { c.RootCAs = x509.NewCertPool() })
	f(false, func(c *tls.Config) { c.ServerName = "other" })
	f(false, func(c *tls.Config) { c.Certificates = nil })
	plain := []client.Server{{Address: "127.0.0.1:20000"}}
	if !sameServers(plain, plain) || sameServers(plain, nil) || sameServers(plain, server(func(*tls.Config) {})) {
		t.Error("sameServers is wrong for servers without TLS")
	}
}
