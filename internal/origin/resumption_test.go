package origin

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// closingServer starts a TLS server that closes a connection after an answer, and returns the
// configuration with which it is trusted. resumed receives for each request whether its
// connection has resumed a session.
func closingServer(t testing.TB, resumed chan<- bool) (url string, trust *tls.Config) {
	t.Helper()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if resumed != nil {
			resumed <- r.TLS.DidResume
		}
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv.URL, &tls.Config{RootCAs: roots}
}

// TestResumption checks that new connections to an origin resume a session, of that origin
// only, although the origins share a configuration.
func TestResumption(t *testing.T) {
	resumed := make(chan bool, 1)
	url, trust := closingServer(t, resumed)
	f := func(tr *Transport, want bool) {
		t.Helper()
		in, fault := tr.Exchange(t.Context(), browserRequest())
		if fault != nil {
			t.Fatal(fault)
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Fatal(err)
		}
		in.Close()
		if got := <-resumed; got != want {
			t.Errorf("resumed %v, want %v", got, want)
		}
	}
	one, two := transport(t, TransportConfig{URL: url, TLS: trust}), transport(t, TransportConfig{URL: url, TLS: trust})
	f(one, false)
	f(one, true)
	f(two, false)
	f(one, true)
	f(two, true)
}

// noSessions stores no session.
type noSessions struct{}

func (noSessions) Get(string) (*tls.ClientSessionState, bool) { return nil, false }
func (noSessions) Put(string, *tls.ClientSessionState)        {}

// BenchmarkNewConnection makes an exchange on a new TLS connection. The figures include the
// server.
func BenchmarkNewConnection(b *testing.B) {
	for _, c := range []struct {
		name     string
		sessions tls.ClientSessionCache
	}{{"full", noSessions{}}, {"resumed", nil}} {
		b.Run(c.name, func(b *testing.B) {
			url, trust := closingServer(b, nil)
			trust.ClientSessionCache = c.sessions
			tr, err := NewTransport(TransportConfig{URL: url, TLS: trust})
			if err != nil {
				b.Fatal(err)
			}
			defer tr.Close()
			b.ReportAllocs()
			for b.Loop() {
				in, fault := tr.Exchange(b.Context(), browserRequest())
				if fault != nil {
					b.Fatal(fault)
				}
				if _, err := io.Copy(io.Discard, in); err != nil {
					b.Fatal(err)
				}
				in.Close()
			}
		})
	}
}
