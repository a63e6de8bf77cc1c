package origin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// step is the faulty server's behavior for one request. br has the request, of which only the
// first byte is certain to have arrived. It reports whether the connection remains open.
type step func(s *faulty, conn net.Conn, br *bufio.Reader) bool

// faulty is a server in memory that follows a script: one step for each request, the last step
// for all further ones. It runs within a synctest bubble.
type faulty struct {
	mu       sync.Mutex
	script   []step
	dials    []error // errors of the first dials; nil succeeds
	dialed   int
	executed []string // bodies of the requests that were read whole
	headers  []http.Header
	conns    []net.Conn
	serving  sync.WaitGroup
}

func (s *faulty) dial(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialed++
	if s.dialed <= len(s.dials) && s.dials[s.dialed-1] != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: s.dials[s.dialed-1]}
	}
	client, server := net.Pipe()
	s.conns = append(s.conns, server)
	s.serving.Go(func() { s.serve(server) })
	return client, nil
}

func (s *faulty) serve(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	for {
		if _, err := br.Peek(1); err != nil {
			return
		}
		if !s.next()(s, conn, br) {
			return
		}
	}
}

func (s *faulty) next() step {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	return next
}

// set replaces the script.
func (s *faulty) set(script ...step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// read reads the whole request and records it as executed.
func (s *faulty) read(br *bufio.Reader) bool {
	r, err := http.ReadRequest(br)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.executed = append(s.executed, string(body))
	s.headers = append(s.headers, r.Header)
	return true
}

func (s *faulty) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.executed)
}

// closeIdle ends all connections from the server's side.
func (s *faulty) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// reply answers with a status and a body.
func reply(status int, body string) step {
	return func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
		if !s.read(br) {
			return false
		}
		_, err := fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nX-Step: reply\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
		return err == nil
	}
}

// raw reads the request, sends text and closes.
func raw(text string) step {
	return func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
		if s.read(br) {
			io.WriteString(conn, text)
		}
		return false
	}
}

// delayed waits before next.
func delayed(d time.Duration, next step) step {
	return func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
		time.Sleep(d) // in the bubble's time
		return next(s, conn, br)
	}
}

// resetUnread closes without having read the request.
func resetUnread(*faulty, net.Conn, *bufio.Reader) bool { return false }

// reset executes the request and closes without an answer.
func reset(s *faulty, _ net.Conn, br *bufio.Reader) bool {
	s.read(br)
	return false
}

// silent executes the request and never answers.
func silent(s *faulty, _ net.Conn, br *bufio.Reader) bool {
	s.read(br)
	br.Peek(1) // returns when the client hangs up
	return false
}

// drip answers with a body of n bytes, one each time d passes.
func drip(n int, d time.Duration) step {
	return func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
		if !s.read(br) {
			return false
		}
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n)
		for range n {
			time.Sleep(d) // in the bubble's time
			if _, err := conn.Write([]byte{'x'}); err != nil {
				return false
			}
		}
		return true
	}
}

// answerAfter executes the request and answers when release is closed.
func answerAfter(release <-chan struct{}) step {
	return func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
		<-release
		return reply(200, "{}")(s, conn, br)
	}
}

func newRegistry() *telemetry.Registry { return telemetry.NewRegistry() }

// classify is the tests' protocol: 400 with "throttled" is Throttled.
func classify(status int, _ http1.Fields, body []byte) Class {
	switch {
	case status == 400 && strings.Contains(string(body), "throttled"):
		return Throttled
	case status >= 500:
		return Failed
	case status >= 400:
		return Refused
	}
	return Good
}

// client returns a client of s that is closed at the end of the test.
func (s *faulty) client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Name, cfg.URL = "test", "http://origin.test"
	if cfg.Classify == nil {
		cfg.Classify = classify
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.pool.dialer = s.dial
	t.Cleanup(func() {
		c.Close()
		s.closeIdle()
		s.serving.Wait()
	})
	return c
}

func post(body string, repeatable bool) *Request {
	return &Request{Method: "POST", Path: "/", Body: []byte(body), Repeatable: repeatable,
		Header: http1.FieldsOf("X-Amz-Target", "T")}
}

// faultOf returns err as a fault, or fails the test.
func faultOf(t *testing.T, err error) *Fault {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("got the error %v (%T), want a fault", err, err)
	}
	return f
}

// wantFault checks kind, reached and attempts at once.
func wantFault(t *testing.T, err error, kind FaultKind, reached bool, attempts int) {
	t.Helper()
	if f := faultOf(t, err); f.Kind != kind || f.Reached != reached || f.Attempts != attempts {
		t.Fatalf("got the fault %v, want %s, reached %t, %d attempts", f, kind, reached, attempts)
	}
}
