// Package acme has tests in which Kasoku obtains certificates from Pebble, Let's Encrypt's
// own server for tests of ACME clients.
package acme

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

// authority is a Pebble in this process. It rejects some requests on purpose, which clients
// have to repeat.
type authority struct {
	server *httptest.Server
	roots  *x509.CertPool // for the certificates that it issues
	ca     string         // file with the authority of its own certificate
}

// startAuthority starts a Pebble that verifies domains at ports of this machine, by challenges
// of one type.
func startAuthority(t *testing.T, tlsPort, httpPort, challenge string) *authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	number := func(port string) int {
		n, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	quiet, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	verifier := va.New(quiet, number(httpPort), number(tlsPort), false, startDNS(t), store)
	front := wfe.New(quiet, store, verifier, issuer, []string{"pebble.letsencrypt.org"}, false, false, 1, 1)
	a := &authority{server: httptest.NewTLSServer(only(challenge, front.Handler())), roots: x509.NewCertPool()}
	t.Cleanup(a.server.Close)
	a.roots.AppendCertsFromPEM(issuer.GetRootCert(0).PEM())
	a.ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	if err := os.WriteFile(a.ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// directory returns the URL of the authority's directory.
func (a *authority) directory() string { return a.server.URL + wfe.DirectoryPath }

// only removes challenges of other types from the answers of next.
func only(challenge string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		var fields map[string]any
		if json.Unmarshal(body, &fields) == nil {
			if offered, ok := fields["challenges"].([]any); ok {
				fields["challenges"] = slices.DeleteFunc(offered, func(c any) bool { return c.(map[string]any)["type"] != challenge })
				if changed, err := json.Marshal(fields); err == nil {
					body = changed
				}
			}
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = io.Copy(w, bytes.NewReader(body))
	})
}

// startDNS starts a server that has 127.0.0.1 as the address of every name, and returns its
// address.
func startDNS(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // which Pebble uses
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: ln, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		answer := new(dns.Msg)
		answer.SetReply(q)
		for _, question := range q.Question {
			if question.Qtype == dns.TypeA {
				answer.Answer = append(answer.Answer, &dns.A{
					Hdr: dns.RR_Header{Name: question.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1),
				})
			}
		}
		_ = w.WriteMsg(answer)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { _ = server.Shutdown() })
	return ln.Addr().String()
}
