package edge

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
)

// BenchmarkHandshake opens a connection, makes one request and closes the connection. The
// figures include the client.
func BenchmarkHandshake(b *testing.B) {
	id := newIdentity(b, b.TempDir(), 1)
	r, err := NewCertReloader(id.cert, id.key, "")
	if err != nil {
		b.Fatal(err)
	}
	s := start(b, Config{Handler: &echo{}, TLS: r.Config()})
	for _, c := range []struct {
		name   string
		secure *tls.Config
	}{
		{name: "X25519", secure: &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}}},
		{name: "X25519MLKEM768", secure: &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519MLKEM768}}},
		{name: "resumed", secure: &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}},
	} {
		secure := c.secure.Clone()
		secure.RootCAs, secure.ServerName = id.pool, "127.0.0.1"
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			answer := make([]byte, 1024)
			for b.Loop() {
				nc, err := net.Dial("tcp", s.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				tc := tls.Client(nc, secure)
				if _, err := io.WriteString(tc, get); err != nil {
					b.Fatal(err)
				}
				if _, err := tc.Read(answer); err != nil {
					b.Fatal(err)
				}
				_ = tc.Close()
			}
		})
	}
}
