package edge

import (
	"crypto/tls"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

func TestSessionKeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k SessionKeys
		first := k.current()
		f := func(wait time.Duration, keys int, firstIsKept bool) {
			t.Helper()
			time.Sleep(wait)
			s := k.current()
			kept := s.keys[len(s.keys)-1] == first.keys[0]
			if len(s.keys) != keys || len(s.made) != keys || kept != firstIsKept {
				t.Errorf("after %v: %d keys, the first is kept: %v; want %d, %v", wait, len(s.keys), kept, keys, firstIsKept)
			}
			if again := k.current(); again != s {
				t.Error("the keys change without time passing")
			}
		}
		f(time.Hour-1, 1, true)
		f(1, 2, true)
		for i := range 23 {
			f(time.Hour, 3+i, true)
		}
		f(time.Hour-1, 25, true)
		f(1, 25, false) // a day after the last session of the first key
		f(48*time.Hour, 1, false)
	})
}

// resume makes a request on a new connection and reports whether its session was resumed.
// err is not nil if the server has refused the client.
func resume(s *Server, cfg *tls.Config) (resumed bool, err error) {
	nc, err := tls.Dial("tcp", s.Addr().String(), cfg)
	if err != nil {
		return false, err
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	if _, err := io.WriteString(nc, get); err != nil {
		return false, err
	}
	if _, err := nc.Read(make([]byte, 1)); err != nil {
		return false, err
	}
	return nc.ConnectionState().DidResume, nil
}

// TestResumption resumes sessions on the listener that they are from and on another one with
// the same keys.
func TestResumption(t *testing.T) {
	id := newIdentity(t, t.TempDir(), 1)
	var keys SessionKeys
	listen := func(clientCA string, keys *SessionKeys) (*Server, *CertReloader) {
		t.Helper()
		r, err := OpenCertificates(CertSource{Cert: id.cert, Key: id.key, ClientCA: clientCA, Sessions: keys})
		if err != nil {
			t.Fatal(err)
		}
		return start(t, Config{Handler: &echo{}, TLS: r.Config()}), r
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	client, other := newIdentity(t, t.TempDir(), 2), newIdentity(t, t.TempDir(), 3)
	copyFile(t, client.cert, ca)
	one, oneFiles := listen("", &keys)
	two, _ := listen("", &keys)
	foreign, _ := listen("", nil)
	strict, strictFiles := listen(ca, &keys)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		copyFile(t, client.cert, ca)
		if err := strictFiles.Reload(); err != nil {
			t.Fatal(err)
		}
		f := func(s *Server, cfg *tls.Config, want, accepted bool) {
			t.Helper()
			if got, err := resume(s, cfg); got != want || (err == nil) != accepted {
				t.Errorf("%s: resumed %v, %v; want %v, accepted %v", tls.VersionName(version), got, err, want, accepted)
			}
		}
		config := func(certs ...tls.Certificate) *tls.Config {
			return &tls.Config{
				RootCAs: id.pool, ServerName: "127.0.0.1", MinVersion: version, MaxVersion: version,
				Certificates: certs, ClientSessionCache: tls.NewLRUClientSessionCache(1),
			}
		}
		plain := config()
		f(one, plain, false, true)
		f(one, plain, true, true)
		f(two, plain, true, true)
		if err := oneFiles.Reload(); err != nil {
			t.Fatal(err)
		}
		f(one, plain, true, true)
		f(foreign, plain, false, true)
		f(one, plain, false, true)
		f(strict, plain, false, false) // its session has no client's certificate

		certified := config(client.pair)
		f(strict, certified, false, true)
		f(strict, certified, true, true)
		f(strict, certified, true, true)
		copyFile(t, other.cert, ca)
		if err := strictFiles.Reload(); err != nil {
			t.Fatal(err)
		}
		f(strict, certified, false, false) // its authority is no longer accepted
	}
}

// TestHandshakeConfigAllocates checks that handshakes with the same files and keys share their
// configuration, also with authorities for clients.
func TestHandshakeConfigAllocates(t *testing.T) {
	id := newIdentity(t, t.TempDir(), 1)
	for _, ca := range []string{"", id.cert} {
		r, err := NewCertReloader(id.cert, id.key, ca)
		if err != nil {
			t.Fatal(err)
		}
		hello := &tls.ClientHelloInfo{SupportedProtos: alpn}
		first, err := r.configFor(hello)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := r.configFor(hello); again != first {
			t.Error("a second handshake has another configuration")
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = r.configFor(hello) }); n != 0 && !race.Enabled {
			t.Errorf("%v allocations", n)
		}
		if err := r.Reload(); err != nil {
			t.Fatal(err)
		}
		if next, _ := r.configFor(hello); next == first {
			t.Error("a handshake after a reload has the old configuration")
		}
	}
}
