package httpcache

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// awaitDetached waits until the client of a write has disconnected.
func (s *site) awaitDetached() { waitFor(s.t, func() bool { return s.detached.count.Load() == 1 }) }

// readTwice reads a URL twice and returns the number of requests to the origin for each read:
// 0 0 if the stored response is still valid, 1 0 if it is fetched again, 1 1 if the URL is
// not cached.
func (s *site) readTwice(reads func() int) (n [2]int) {
	for i := range n {
		before := reads()
		s.ask("GET /a")
		n[i] = reads() - before
	}
	return n
}

// The outcome of a write is known although its client has disconnected, so that writes of
// such clients do not keep a URL uncached.
func TestWriterDisconnectsAfterBody(t *testing.T) {
	f := func(name, response string, want [2]int, prepare ...func(*site)) {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			s := newSite(t, func(a *asked) {
				switch {
				case strings.HasPrefix(a.head, "GET "):
					a.ok("hello")
				case response == "given up":
					a.conn.Read(make([]byte, 1))
					close(gate)
				default:
					<-gate
					a.respond(response)
					a.conn.Close()
				}
			})
			for _, p := range prepare {
				p(s)
			}
			s.ask("GET /a")
			c := s.dial()
			c.send("POST /a HTTP/1.1\nHost: site\nContent-Length: 3\n\nabc")
			waitFor(t, func() bool { return len(s.origin.requests()) == 2 })
			c.Close()
			if response == "given up" {
				<-gate
			} else {
				s.awaitDetached()
				close(gate)
			}
			waitFor(t, func() bool { return s.server.Open() == 0 })
			if got := s.readTwice(func() int { return len(s.origin.requests()) }); got != want {
				t.Errorf("two reads: the origin got %v requests, want %v", got, want)
			}
		})
	}
	f("done", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", [2]int{1, 0})
	f("refused", "HTTP/1.1 405 Method Not Allowed\nContent-Length: 0\n\n", [2]int{0, 0})
	f("no answer", "", [2]int{1, 1})
	f("too many", "given up", [2]int{1, 1}, func(s *site) { s.detached.count.Store(maxDetached) })
}

// A client that disconnects within a request body does not keep the URL uncached either, if
// the origin answers or closes the connection.
func TestWriterDisconnectsInBody(t *testing.T) {
	f := func(name, request string, status int, response string, want [2]int, prepare ...func(*site)) {
		t.Run(name, func(t *testing.T) {
			var reads atomic.Int64
			received := make(chan struct{}, 1)
			s := newSiteWithOrigin(t, newRawOrigin(t, &rawOrigin{whole: func(r *bufio.Reader, w io.Writer) {
				for {
					line, err := r.ReadString('\n')
					for first := line; err == nil; line, err = r.ReadString('\n') {
						if line == "\r\n" && strings.HasPrefix(first, "GET ") {
							reads.Add(1)
							io.WriteString(w, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nhello")
							break
						} else if line == "\r\n" {
							received <- struct{}{}
							io.Copy(io.Discard, r)
							if response == "reset" {
								w.(*net.TCPConn).SetLinger(0)
							} else {
								io.WriteString(w, response)
							}
							return
						}
					}
					if err != nil {
						return
					}
				}
			}}))
			for _, p := range prepare {
				p(s)
			}
			s.ask("GET /a")
			c := s.dial()
			c.send("POST /a HTTP/1.1\nHost: site\n" + request)
			<-received
			if status == 0 {
				c.Close()
			} else if g := c.rest(c.head(), "POST"); g.status != status {
				t.Errorf("the client got %s, want %d", g, status)
			}
			c.Close()
			waitFor(t, func() bool { return s.server.Open() == 0 })
			if got := s.readTwice(func() int { return int(reads.Load()) }); got != want {
				t.Errorf("two reads: the origin got %v requests, want %v", got, want)
			}
		})
	}
	const part, bad = "Content-Length: 10\n\nhello", "Transfer-Encoding: chunked\n\nhello"
	f("ended", part, 0, "", [2]int{1, 0})
	f("reset", part, 0, "reset", [2]int{1, 0})
	f("refused", part, 0, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", [2]int{0, 0})
	f("executed", part, 0, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", [2]int{1, 0})
	f("malformed", bad, 400, "", [2]int{1, 0})
	f("malformed, refused", bad, 422, "HTTP/1.1 422 X\r\nContent-Length: 0\r\n\r\n", [2]int{0, 0})
	f("too many", part, 0, "", [2]int{1, 1}, func(s *site) { s.detached.count.Store(maxDetached) })
}

// A server that stops waits for writes whose clients have disconnected, for a limited time.
func TestShutdownWithDetachedWrites(t *testing.T) {
	f := func(hard bool) {
		gate, ended := make(chan struct{}), make(chan error, 1)
		s := newSite(t, func(a *asked) {
			if hard {
				_, err := a.conn.Read(make([]byte, 1))
				ended <- err
				return
			}
			<-gate
			a.respond("HTTP/1.1 200 OK\nContent-Length: 0\n\n")
			ended <- io.EOF
		})
		c := s.dial()
		c.send("POST /a HTTP/1.1\nHost: site\nContent-Length: 3\n\nabc")
		waitFor(t, func() bool { return len(s.origin.requests()) == 1 })
		c.Close()
		s.awaitDetached()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		down := make(chan error, 1)
		go func() { down <- s.server.Shutdown(ctx) }()
		waitFor(t, func() bool {
			c, err := net.Dial("tcp", s.addr)
			if err == nil {
				c.Close()
			}
			return err != nil
		})
		if n := s.detached.count.Load(); n != 1 {
			t.Errorf("%d detached writes while the server stops, want 1", n)
		}
		if hard {
			cancel()
		} else {
			close(gate)
		}
		if err := <-ended; err == nil {
			t.Error("the origin received more bytes, want a closed connection")
		}
		if err := <-down; (err != nil) != hard {
			t.Errorf("hard %v: Shutdown returned %v", hard, err)
		}
	}
	f(false)
	f(true)
}

// A detached write continues until the server stops or the request timeout is over. It is
// counted until its end.
func TestDetachedWriteLifetime(t *testing.T) {
	f := func(name string, timeout time.Duration, before int64, why error, lasts time.Duration, held int64) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &detachedWrites{}
				o.observe(telemetry.NewRegistry(), "s")
				o.count.Store(before)
				lasting, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				client, leave := context.WithCancelCause(t.Context())
				var limit time.Time
				if timeout > 0 {
					limit = time.Now().Add(timeout)
				}
				start := time.Now()
				s := newDetachedWrite(lasting, client, limit, o)
				leave(why)
				synctest.Wait()
				if n := o.count.Load(); n != held {
					t.Errorf("%d detached writes, want %d", n, held)
				}
				<-s.ctx.Done()
				if d := time.Since(start); d != lasts {
					t.Errorf("the write continued for %s, want %s", d, lasts)
				}
				s.end()
				if n := o.count.Load(); n != before {
					t.Errorf("%d detached writes after the end, want %d", n, before)
				}
				if s.detach() {
					t.Error("a write that has ended could be detached")
				}
			})
		})
	}
	f("as long as the server", 0, 5, edge.ErrClientGone, time.Hour, 6)
	f("a stream of HTTP/2", 0, 0, context.Canceled, time.Hour, 1)
	f("with a request timeout", time.Minute, 0, edge.ErrClientGone, time.Minute, 1)
	f("timed out", time.Minute, 0, edge.ErrRequestTimeout, 0, 0)
	f("too many", 0, maxDetached, edge.ErrClientGone, 0, maxDetached)
}
