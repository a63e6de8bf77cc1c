package edge

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// testTimeout is the time after which a wait in a test fails.
const testTimeout = 10 * time.Second

// echo answers with method, target, host and body, and counts its calls.
type echo struct{ calls atomic.Int64 }

func (e *echo) Serve(x *Exchange) {
	e.calls.Add(1)
	x.Reply.Status = http.StatusOK
	x.Reply.Field("Content-Type", "text/plain")
	b := append(x.Reply.Buf, x.Request.Method...)
	b = append(append(b, ' '), x.Request.Target...)
	b = append(append(b, ' '), x.Request.Host...)
	b = append(append(b, '\n'), x.Body...)
	x.Reply.Build(b)
}

// records stores copies of the logged records.
type records struct {
	mu   sync.Mutex
	all  []telemetry.Record
	news chan struct{}
}

func newRecords() *records { return &records{news: make(chan struct{}, 1024)} }

func (l *records) Log(r *telemetry.Record) {
	l.mu.Lock()
	c := *r
	c.RequestID = append([]byte(nil), r.RequestID...)
	c.UserAgent = append([]byte(nil), r.UserAgent...)
	c.TraceID = append([]byte(nil), r.TraceID...)
	l.all = append(l.all, c)
	l.mu.Unlock()
	l.news <- struct{}{}
}

func (l *records) Close(context.Context) error { return nil }

// next waits for a record and returns the newest.
func (l *records) next(t *testing.T) telemetry.Record {
	t.Helper()
	await(t, l.news, "a record")
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[len(l.all)-1]
}

// await returns the next value of c, and fails after testTimeout.
func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(testTimeout):
		t.Fatalf("no %s within %s", what, testTimeout)
		panic("unreachable")
	}
}

// start starts a server that is stopped at the end of the test.
func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg.Name = "test"
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// client is a raw connection to a server.
type client struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func dial(t testing.TB, s *Server) *client {
	t.Helper()
	nc, err := net.Dial(s.Addr().Network(), s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, nc)
}

func dialTLS(t testing.TB, s *Server, cfg *tls.Config) *client {
	t.Helper()
	nc, err := tls.Dial("tcp", s.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, nc)
}

func newClient(t testing.TB, nc net.Conn) *client {
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	return &client{nc, t, bufio.NewReader(nc)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	text string
}

// read reads one answer to a request with the given method.
func (c *client) read(method string) answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read body: %v", err)
	}
	return answer{resp, string(body)}
}

// ended checks that the server closes the connection and sends nothing more.
func (c *client) ended() {
	c.t.Helper()
	if b, err := io.ReadAll(c.r); err != nil || len(b) > 0 {
		c.t.Fatalf("connection not just closed: %q, %v", b, err)
	}
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func post(body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func TestKeepAlive(t *testing.T) {
	s := start(t, Config{Handler: &echo{}})
	c := dial(t, s)
	for i := range 20 {
		body := strings.Repeat("x", i*i*100)
		c.send(post(body))
		if a := c.read("POST"); a.StatusCode != 200 || a.text != "POST / a\n"+body {
			t.Fatalf("request %d: %d, %d bytes", i, a.StatusCode, len(a.text))
		}
	}
	if s.stats.accepted.Value() != 1 {
		t.Errorf("%d connections", s.stats.accepted.Value())
	}
}

func TestPipelining(t *testing.T) {
	e := &echo{}
	c := dial(t, start(t, Config{Handler: e}))
	var all strings.Builder
	const n = 300
	for i := range n {
		fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", i)
		fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", i)
	}
	go func() { _, _ = io.WriteString(c.Conn, all.String()) }()
	for i := range 2 * n {
		if a, want := c.read("POST"), fmt.Sprintf("POST /%d a\nabc", i/2); a.text != want {
			t.Fatalf("answer %d is %q; want %q", i, a.text, want)
		}
	}
}
