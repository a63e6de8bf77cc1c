package edge

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestChallengeOverHTTP checks that only requests for which there is an answer are not for
// the service.
func TestChallengeOverHTTP(t *testing.T) {
	log := newRecords()
	s := start(t, Config{Handler: &echo{}, Log: log, Challenge: func(path string) (string, bool) {
		return "token.key", path == "/.well-known/acme-challenge/token"
	}})
	c := dial(t, s)
	f := func(method, path, want string) {
		t.Helper()
		c.send(method + " " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		if a := c.read(method); a.StatusCode != 200 || a.text != want {
			t.Errorf("%s %s: %d %q, want %q", method, path, a.StatusCode, a.text, want)
		}
		local := log.next(t).Decision == telemetry.Local
		if want := want == "token.key"; local != want {
			t.Errorf("%s %s: answered locally: %v", method, path, local)
		}
	}
	const known, other = "/.well-known/acme-challenge/token", "/.well-known/acme-challenge/other"
	f("GET", known, "token.key")
	f("GET", known+"?x=1", "token.key")
	f("GET", other, "GET "+other+" a\n")
	f("POST", known, "POST "+known+" a\n")
	f("GET", "/.well-known/acme-challenge", "GET /.well-known/acme-challenge a\n")
	without := dial(t, start(t, Config{Handler: &echo{}}))
	without.send(target(known))
	if a := without.read("GET"); a.text != "GET "+known+" a\n" {
		t.Errorf("without challenges: %q", a.text)
	}
}

// TestChallengeOverTLS checks that a connection for a challenge gets its certificate and is
// closed, also where clients need a certificate, and that others get the usual certificate.
func TestChallengeOverTLS(t *testing.T) {
	usual, challenge, client := newIdentity(t, t.TempDir(), 1), newIdentity(t, t.TempDir(), 2), newIdentity(t, t.TempDir(), 3)
	obtain := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		switch {
		case len(hello.SupportedProtos) != 1 || hello.SupportedProtos[0] != ChallengeProtocol:
			return &usual.pair, nil
		case hello.ServerName == "a.example":
			return &challenge.pair, nil
		}
		return nil, errors.New("no challenge")
	}
	for _, ca := range []string{"", client.cert} {
		r, err := OpenCertificates(CertSource{Obtain: obtain, ClientCA: ca})
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, Config{Handler: &echo{}, TLS: r.Config()})
		if got, err := serialOf(t, s, &tls.Config{Certificates: []tls.Certificate{client.pair}}); got != 1 || err != nil {
			t.Errorf("certificate %d, %v; want 1", got, err)
		}
		dial := func(name string) (*tls.Conn, error) {
			return tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, ServerName: name, NextProtos: []string{ChallengeProtocol}})
		}
		nc, err := dial("a.example")
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(testTimeout))
		state := nc.ConnectionState()
		if got := state.PeerCertificates[0].SerialNumber.Int64(); got != 2 || state.NegotiatedProtocol != ChallengeProtocol {
			t.Errorf("certificate %d over %q", got, state.NegotiatedProtocol)
		}
		_, _ = io.WriteString(nc, get)
		if n, err := nc.Read(make([]byte, 1)); n != 0 || errors.Is(err, net.ErrClosed) {
			t.Errorf("the connection is not closed: %d, %v", n, err)
		}
		if _, err := dial("other.example"); err == nil {
			t.Error("a certificate without a challenge")
		}
	}
}
