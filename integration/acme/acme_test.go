package acme

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// stablePort returns a free port that the system gives to no outgoing connection.
func stablePort(t *testing.T) string {
	t.Helper()
	address, err := harness.StablePort()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	return port
}

// site is a node with a service that obtains its certificate.
type site struct {
	*harness.Node
	*authority
	t      *testing.T
	port   string
	folder string
}

// startSite starts an authority that offers one type of challenge, and a node. The node also
// has a service without TLS, at the port to which the authority sends requests over HTTP.
func startSite(t *testing.T, challenge string) *site {
	t.Helper()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "from the origin")
	}))
	t.Cleanup(origin.Close)
	s := &site{t: t, port: stablePort(t), folder: filepath.Join(t.TempDir(), "acme")}
	plain := stablePort(t)
	s.authority = startAuthority(t, s.port, plain, challenge)
	s.Node = harness.Start(t, harness.Options{Type: "http", Origin: origin.URL, Services: []string{
		fmt.Sprintf("plain: {type: http, listen: 127.0.0.1:%s, origins: [%q]}", plain, origin.URL),
		fmt.Sprintf("secure: {type: http, listen: 127.0.0.1:%s, origins: [%q], tls: {acme: {domains: [shop.example, www.shop.example], "+
			"email: ops@shop.example, directory: %q, ca: %q, cache: %q}}}", s.port, origin.URL, s.directory(), s.ca, s.folder),
	}})
	return s
}

// get makes a request on a new connection for a domain, and returns the serial number of the
// certificate.
func (s *site) get(domain string) (*big.Int, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots, ServerName: domain}, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	resp, err := client.Get("https://127.0.0.1:" + s.port + "/")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "from the origin" {
		return nil, fmt.Errorf("answer %q, %w", body, err)
	}
	return resp.TLS.PeerCertificates[0].SerialNumber, nil
}

// await makes requests until there is a certificate. Each waits for it for some seconds.
func (s *site) await(domain string) *big.Int {
	s.t.Helper()
	for {
		serial, err := s.get(domain)
		if err == nil {
			return serial
		}
		if s.Logged(s.t, noCertificate) > 0 {
			s.t.Fatal(err)
		}
	}
}

// noCertificate is logged after a failed attempt.
const noCertificate = "acme: no certificate obtained, trying again later"

// TestCertificate obtains a certificate by either challenge, and checks that it is used again
// after a restart without the authority.
func TestCertificate(t *testing.T) {
	for _, challenge := range []string{"tls-alpn-01", "http-01"} {
		t.Run(challenge, func(t *testing.T) {
			s := startSite(t, challenge)
			first := s.await("shop.example")
			if other, err := s.get("www.shop.example"); err != nil || other.Cmp(first) != 0 {
				t.Errorf("www: certificate %v, %v; want %v", other, err, first)
			}
			if got := s.Logged(t, "acme: obtained a certificate"); got != 1 {
				t.Errorf("%d certificates were obtained", got)
			}
			files, err := os.ReadDir(s.folder)
			if err != nil || len(files) != 2 {
				t.Errorf("files %v, %v; want those of the certificate and of the account", files, err)
			}
			s.Terminate(t)
			s.server.Close()
			s.Restart(t)
			if again, err := s.get("shop.example"); err != nil || again.Cmp(first) != 0 {
				t.Errorf("after a restart: certificate %v, %v; want %v", again, err, first)
			}
		})
	}
}

// TestNoChallenge checks that a node whose authority can't verify the domains reports that,
// refuses handshakes without a long wait, and serves everything else.
func TestNoChallenge(t *testing.T) {
	s := startSite(t, "dns-01")
	if serial, err := s.get("shop.example"); err == nil {
		t.Errorf("certificate %v", serial)
	}
	for s.Logged(t, noCertificate) == 0 {
		if _, err := s.get("shop.example"); err == nil {
			t.Fatal("a certificate was obtained")
		}
	}
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}
