package edge

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// TestFirstRequestOfNagleClient sends the first request of connections in two small writes,
// from a client with Nagle's algorithm. The kernel delays acknowledgements by 40 ms: with
// such a delay none of the connections could be faster than that.
func TestFirstRequestOfNagleClient(t *testing.T) {
	s, id := startTLS(t, Config{Handler: &echo{}})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		fastest := time.Hour
		for range 20 {
			nc, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if err := nc.(*net.TCPConn).SetNoDelay(false); err != nil {
				t.Fatal(err)
			}
			tc := tls.Client(nc, &tls.Config{RootCAs: id.pool, ServerName: "127.0.0.1", MinVersion: version, MaxVersion: version})
			c := newClient(t, tc)
			if err := tc.Handshake(); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			c.send(get[:5])
			c.send(get[5:])
			if a := c.read("GET"); a.text != "GET / a\n" {
				t.Fatalf("answer %q", a.text)
			}
			fastest = min(fastest, time.Since(begin))
			_ = c.Close()
		}
		if fastest >= 35*time.Millisecond {
			t.Errorf("%s: the fastest first request took %v", tls.VersionName(version), fastest)
		}
	}
}
