package edge

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	polling "github.com/kasoku/kasoku/internal/testutil/await"
)

// TestUnauthenticatedIdle checks that an idle connection is closed after 10 s if no request was
// accepted on it, otherwise after 3 m.
func TestUnauthenticatedIdle(t *testing.T) {
	const unauthenticated, authenticated = 10 * time.Second, 3 * time.Minute
	f := func(what, sent string, answers int, want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s, err := Listen(Config{Listen: "127.0.0.1:0", Handler: HandlerFunc(func(x *Exchange) {
				x.Reply.Status = 200
				x.Unauthenticated = string(x.Request.Path) == "/forged"
			})})
			if err != nil {
				t.Fatal(err)
			}
			serverEnd, clientEnd := net.Pipe()
			s.conns.Accept(serverEnd)
			c := newClient(t, clientEnd)
			if err := clientEnd.SetDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if sent != "" {
				c.send(sent)
			}
			for range answers {
				c.read("GET")
			}
			c.ended()
			if took := time.Since(begin); took < want/2 || took > want {
				t.Errorf("%s: ended after %v; want %v", what, took, want)
			}
			_ = clientEnd.Close()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	f("nothing sent", "", 0, unauthenticated)
	f("a request", get, 1, authenticated)
	f("a refused request", target("/forged"), 1, unauthenticated)
	f("answered by the listener itself", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 1, unauthenticated)
	f("refused, then not", target("/forged")+get, 2, authenticated)
	f("not, then refused", get+target("/forged"), 2, authenticated)
}

// TestH2UnauthenticatedIdle is TestUnauthenticatedIdle for HTTP/2: a connection gets a
// GOAWAY and is closed a second later.
func TestH2UnauthenticatedIdle(t *testing.T) {
	const grace = time.Second
	f := func(what string, want time.Duration, ask func(w *wire)) {
		t.Helper()
		handler := HandlerFunc(func(x *Exchange) {
			x.Reply.Status = 200
			switch string(x.Request.Path) {
			case "/forged":
				x.Unauthenticated = true
			case "/slow":
				time.Sleep(time.Minute)
			}
		})
		overPipe(t, Config{Handler: handler}, func(t *testing.T, w *wire) {
			ask(w)
			begin := time.Now()
			if got := w.outcome(0); got != "closed" {
				t.Errorf("%s: got %s", what, got)
			}
			if took := time.Since(begin); took != want+grace {
				t.Errorf("%s: ended after %v; want %v", what, took, want+grace)
			}
		})
	}
	path := func(path string) func(w *wire) {
		return func(w *wire) {
			w.check(w.headers(1, true, ":path: "+path))
			if got := w.outcome(1); got != "200" {
				t.Errorf("%s: got %s", path, got)
			}
		}
	}
	f("nothing sent", 10*time.Second, func(*wire) {})
	f("a request", 3*time.Minute, path("/"))
	f("a slow request", 3*time.Minute, path("/slow"))
	f("a refused request", 10*time.Second, path("/forged"))
}

// dialFrom connects from a loopback address.
func dialFrom(t *testing.T, s *Server, address string) *client {
	t.Helper()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	nc, err := from.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, nc)
}

// TestConnectionsPerClient checks that a client is limited to its share of connections, and
// others can still connect.
func TestConnectionsPerClient(t *testing.T) {
	f := func(cfg Config, dial func(s *Server, from string) *client) {
		t.Helper()
		cfg.Handler, cfg.Limits = &echo{}, Limits{Connections: 10, ConnectionsPerClient: 2}
		s := start(t, cfg)
		connect := func(from string) (*client, int) {
			t.Helper()
			c := dial(s, from)
			c.send(get)
			return c, c.read("GET").StatusCode
		}
		first, status := connect("127.0.0.2")
		if status != 200 {
			t.Fatalf("first: %d", status)
		}
		if _, status := connect("127.0.0.2"); status != 200 {
			t.Errorf("second: %d", status)
		}
		third, status := connect("127.0.0.2")
		if status != 503 {
			t.Errorf("third: %d", status)
		}
		third.ended()
		if _, status := connect("127.0.0.3"); status != 200 {
			t.Errorf("another client: %d", status)
		}
		if n := s.stats.perClient.Value(); n != 1 {
			t.Errorf("%d refusals are counted", n)
		}
		_ = first.Close()
		if !polling.Until(t, func() bool { return s.Open() == 2 }) {
			t.Errorf("%d connections open", s.Open())
		}
		if _, status := connect("127.0.0.2"); status != 200 {
			t.Errorf("after a connection was closed: %d", status)
		}
		s.SetLimits(Limits{Connections: 10})
		if _, status := connect("127.0.0.2"); status != 200 {
			t.Errorf("without the limit: %d", status)
		}
	}
	f(Config{}, func(s *Server, from string) *client { return dialFrom(t, s, from) })
	f(Config{ProxyProtocol: true}, func(s *Server, from string) *client {
		c := dial(t, s)
		c.send("PROXY TCP4 " + from + " 10.1.1.1 1 80\r\n")
		return c
	})
}
