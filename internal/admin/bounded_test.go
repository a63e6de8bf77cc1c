package admin

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// memoryListener is a listener in memory.
type memoryListener chan net.Conn

func (p memoryListener) Accept() (net.Conn, error) {
	if nc, ok := <-p; ok {
		return nc, nil
	}
	return nil, net.ErrClosed
}
func (p memoryListener) Close() error   { return nil }
func (p memoryListener) Addr() net.Addr { return &net.TCPAddr{} }

func limited(t *testing.T, token string, l Limits) *Server {
	t.Helper()
	o, _ := example()
	s, err := Listen(Config{Listen: "127.0.0.1:0", Token: token, Limits: l, Metrics: telemetry.NewRegistry(),
		Overview: func() Overview { return *o }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends a request and returns the status of its answer.
func ask(t *testing.T, nc net.Conn, path, token string) int {
	t.Helper()
	if _, err := io.WriteString(nc, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestUnauthenticatedIdle checks that a connection on which no request was accepted has a shorter
// idle timeout than others.
func TestUnauthenticatedIdle(t *testing.T) {
	const unproved, proved = 10 * time.Second, 2 * time.Minute
	f := func(what, token string, want time.Duration, asks ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := limited(t, token, Limits{UnauthenticatedIdle: unproved})
			in := make(memoryListener)
			s.ln.Listener = in
			go func() { _ = s.Serve() }()
			there, here := net.Pipe()
			in <- there
			for i := 0; i < len(asks); i += 2 {
				ask(t, here, asks[i], asks[i+1])
			}
			begin := time.Now()
			_, _ = io.Copy(io.Discard, here)
			if took := time.Since(begin); took != want {
				t.Errorf("%s: ended after %v; want %v", what, took, want)
			}
			close(in)
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	f("a health check", "secret", unproved, "/healthz", "")
	f("no token", "secret", unproved, "/api/v1/report", "")
	f("a wrong token", "secret", unproved, "/api/v1/report", "guess")
	f("the token", "secret", proved, "/api/v1/report", "secret")
	f("the token, then none", "secret", proved, "/api/v1/report", "secret", "/healthz", "")
	f("no token wanted", "", proved, "/healthz", "")
}

// TestConnections checks the bounds on the connections of one client and of all clients.
func TestConnections(t *testing.T) {
	s := limited(t, "", Limits{Connections: 3, ConnectionsPerClient: 2})
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	connect := func(from string) (net.Conn, int) {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		nc, err := d.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		return nc, ask(t, nc, "/healthz", "")
	}
	want := func(what string, got, status int) {
		t.Helper()
		if got != status {
			t.Errorf("%s: %d; want %d", what, got, status)
		}
	}
	first, status := connect("127.0.0.2")
	want("the first", status, 200)
	_, status = connect("127.0.0.2")
	want("the second", status, 200)
	_, status = connect("127.0.0.2")
	want("the third of one client", status, 503)
	_, status = connect("127.0.0.3")
	want("another client", status, 200)
	_, status = connect("127.0.0.3")
	want("the fourth", status, 503)
	first.Close()
	if !await.Until(t, func() bool { return s.ln.open.Load() == 2 }) {
		t.Fatal("a closed connection is counted")
	}
	_, status = connect("127.0.0.3")
	want("in the place of one that has ended", status, 200)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
