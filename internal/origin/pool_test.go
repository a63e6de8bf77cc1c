package origin

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestIdleConnections checks how many connections are kept, for how long, and which is used
// first.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &faulty{script: []step{answerAfter(release)}}
		c := s.client(t, Config{MaxIdleConns: 3, IdleTimeout: 10 * time.Second})
		kept := func(want int) {
			t.Helper()
			c.pool.mu.Lock()
			defer c.pool.mu.Unlock()
			if len(c.pool.idle) != want || (c.pool.timer != nil) != (want > 0) {
				t.Errorf("%d idle connections, timer %t; want %d", len(c.pool.idle), c.pool.timer != nil, want)
			}
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if _, err := c.Do(t.Context(), post("b", false)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		kept(3)
		s.set(reply(200, "{}"))
		for range 4 { // on the same connection
			time.Sleep(4 * time.Second) // in the bubble's time
			if _, err := c.Do(t.Context(), post("b", false)); err != nil {
				t.Fatal(err)
			}
		}
		kept(1)
		if s.dialed != 5 {
			t.Errorf("%d dials; want 5", s.dialed)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		kept(0)
		if _, err := c.Do(t.Context(), post("b", false)); err != nil || s.dialed != 6 {
			t.Errorf("%v after %d dials; want the sixth", err, s.dialed)
		}
		c.Close()
		kept = func(int) {
			if len(c.pool.idle) != 0 {
				t.Error("a connection is kept by a closed client")
			}
		}
		kept(0)
		if _, err := c.Do(t.Context(), post("b", false)); err != nil {
			t.Error(err)
		}
		kept(0)
	})
}

// breakingConn is a connection that breaks after left bytes were written.
type breakingConn struct {
	net.Conn
	left *int
}

func (c breakingConn) Write(b []byte) (int, error) {
	if len(b) <= *c.left {
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:*c.left])
	c.Conn.Close()
	return n, &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
}

// TestReachedAfterFirstByte checks connections, new or idle, that break while the request is
// written: once a byte was sent, a write may have been executed.
func TestReachedAfterFirstByte(t *testing.T) {
	f := func(name string, bytes int, repeatable bool, check func(*testing.T, *faulty, *Response, error)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &faulty{script: []step{reply(200, "{}")}}
				c := s.client(t, Config{Retry: Retry{Attempts: 2}})
				first, room := true, 1<<20
				c.pool.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := s.dial(ctx, network, addr)
					if first {
						first = false
						return breakingConn{conn, &room}, err
					}
					return conn, err
				}
				if _, err := c.Do(t.Context(), post("first", false)); err != nil {
					t.Fatal(err)
				}
				room = bytes
				resp, err := c.Do(t.Context(), post("second", repeatable))
				check(t, s, resp, err)
			})
		})
	}
	f("no byte", 0, false, func(t *testing.T, s *faulty, resp *Response, err error) {
		if err != nil || resp.Attempts != 1 || s.count() != 2 {
			t.Errorf("got %+v, %v; %d requests were executed", resp, err, s.count())
		}
	})
	f("one byte, write", 1, false, func(t *testing.T, s *faulty, resp *Response, err error) {
		wantFault(t, err, Reset, true, 1)
	})
	f("one byte, read", 1, true, func(t *testing.T, s *faulty, resp *Response, err error) {
		if err != nil || resp.Attempts != 2 || s.count() != 2 {
			t.Errorf("got %+v, %v; %d requests were executed", resp, err, s.count())
		}
	})
}

// limitedConn is a connection that accepts a number of bytes and no more, but can be read.
type limitedConn struct {
	net.Conn
	accepts int
}

func (c limitedConn) Write(b []byte) (int, error) {
	n, _ := c.Conn.Write(b[:min(len(b), c.accepts)])
	return n, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
}

// TestAnsweredEarly checks an origin that refuses a body before it has read it.
func TestAnsweredEarly(t *testing.T) {
	f := func(name string, answer string, check func(*testing.T, *Response, error)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &faulty{script: []step{func(_ *faulty, conn net.Conn, br *bufio.Reader) bool {
					io.WriteString(conn, answer)
					return false
				}}}
				c := s.client(t, Config{})
				c.pool.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := s.dial(ctx, network, addr)
					return limitedConn{conn, 1000}, err
				}
				resp, err := c.Do(t.Context(), post(string(make([]byte, 100_000)), false))
				check(t, resp, err)
				if len(c.pool.idle) != 0 {
					t.Error("the connection was kept")
				}
			})
		})
	}
	f("answer", "HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno", func(t *testing.T, resp *Response, err error) {
		if err != nil || resp.Status != 413 || string(resp.Body) != "no" {
			t.Errorf("got %+v, %v", resp, err)
		}
	})
	f("half an answer", "HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nn", func(t *testing.T, resp *Response, err error) {
		wantFault(t, err, Reset, true, 1)
		if !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the cause is %v, want the error of the write", err)
		}
	})
}

// TestLargeBodies checks that large bodies are sent completely, with and without TLS.
func TestLargeBodies(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Write(body)
	})
	plain, secure := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer plain.Close()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	for _, url := range []string{plain.URL, secure.URL} {
		c := socketClient(t, Config{URL: url, TLS: &tls.Config{RootCAs: roots}})
		for _, size := range []int{1, maxJoinedWrite - 200, maxJoinedWrite, 3 << 20} {
			body := strings.Repeat("0123456789abcdef", size/16+1)[:size]
			resp, err := c.Do(t.Context(), post(body, true))
			if err != nil || string(resp.Body) != body {
				t.Errorf("%s, %d bytes: %v", url, size, err)
			}
		}
	}
}

// TestReachedOverTLS checks sockets that break within a TLS record: crypto/tls then reports
// that nothing was written.
func TestReachedOverTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	for _, bytes := range []int{0, 1} {
		c := socketClient(t, Config{URL: srv.URL, TLS: &tls.Config{RootCAs: roots}, Retry: Retry{Attempts: 1}})
		first, room, plain := true, 1<<20, c.pool.dialer
		c.pool.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := plain(ctx, network, addr)
			if first && err == nil {
				first = false
				return breakingConn{conn, &room}, nil
			}
			return conn, err
		}
		if _, err := c.Do(t.Context(), post("first", false)); err != nil {
			t.Fatal(err)
		}
		room = bytes
		resp, err := c.Do(t.Context(), post("second", false))
		if bytes > 0 {
			wantFault(t, err, Reset, true, 1)
		} else if err != nil || resp.Attempts != 1 {
			t.Errorf("no byte written: %+v, %v", resp, err)
		}
	}
}

// TestKeptConnectionReset checks an origin that reads a second request on a connection and then
// closes it without an answer.
func TestKeptConnectionReset(t *testing.T) {
	for _, repeatable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &faulty{script: []step{reply(200, "{}"), reset, reply(200, "{}")}}
			c := s.client(t, Config{})
			for range 2 {
				resp, err := c.Do(t.Context(), post("b", repeatable))
				switch {
				case s.count() == 1:
				case repeatable:
					if err != nil || resp.Attempts != 2 {
						t.Errorf("read: %+v, %v", resp, err)
					}
				default:
					wantFault(t, err, Reset, true, 1)
				}
			}
		})
	}
}

// TestUnsolicitedOverTLS checks bytes or an end right after an answer, which TLS has buffered
// before the next request.
func TestUnsolicitedOverTLS(t *testing.T) {
	f := func(name string, answer func(conn *tls.Conn)) {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(nil) // for its certificate
			srv.StartTLS()
			defer srv.Close()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					raw, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						cork := &corked{Conn: raw}
						conn := tls.Server(cork, srv.TLS)
						br := bufio.NewReader(conn)
						for {
							r, err := http.ReadRequest(br)
							if err != nil {
								return
							}
							io.Copy(io.Discard, r.Body)
							cork.buffering = true
							answer(conn)
							raw.SetWriteDeadline(time.Time{}) // CloseWrite has set it
							raw.Write(cork.buffered)
							cork.buffered, cork.buffering = nil, false
						}
					}()
				}
			}()
			roots := x509.NewCertPool()
			roots.AddCert(srv.Certificate())
			c := socketClient(t, Config{URL: "https://" + l.Addr().String(), TLS: &tls.Config{RootCAs: roots}, Retry: Retry{Attempts: 1}})
			for range 5 {
				resp, err := c.Do(t.Context(), post("b", false))
				if err != nil || resp.Status != 200 || string(resp.Body) != "{}" {
					t.Fatalf("got %+v, %v", resp, err)
				}
			}
		})
	}
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	f("nothing", func(conn *tls.Conn) { io.WriteString(conn, ok) })
	f("one answer too many", func(conn *tls.Conn) {
		io.WriteString(conn, ok)
		io.WriteString(conn, "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n")
	})
	f("the end", func(conn *tls.Conn) {
		io.WriteString(conn, ok)
		conn.CloseWrite()
	})
}

// corked buffers writes, so that they are sent, and read, in one piece.
type corked struct {
	net.Conn
	buffering bool
	buffered  []byte
}

func (c *corked) Write(b []byte) (int, error) {
	if !c.buffering {
		return c.Conn.Write(b)
	}
	c.buffered = append(c.buffered, b...)
	return len(b), nil
}

// TestCutOverTLS checks a connection that ends without TLS's closing alert, as a third party
// could cause: a body that ends with the connection is then incomplete.
func TestCutOverTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nhello")
		conn.(*tls.Conn).NetConn().Close()
	}))
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	c := socketClient(t, Config{URL: srv.URL, TLS: &tls.Config{RootCAs: roots}, Retry: Retry{Attempts: 1}})
	_, err := c.Do(t.Context(), post("b", false))
	wantFault(t, err, Reset, true, 1)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the cause is %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// TestLateCancellation cancels requests around the moment of their answer. Other requests
// are not affected.
func TestLateCancellation(t *testing.T) {
	o := newRawOrigin(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", keepsOpen)
	c := socketClient(t, Config{URL: o.url(), Retry: Retry{Attempts: 1}})
	go func() {
		for range o.conns { // makes room for the next ones
		}
	}()
	defer o.listener.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				if resp, err := c.Do(ctx, post("b", false)); err == nil && string(resp.Body) != "{}" {
					t.Errorf("got %+v", resp)
				} else if err != nil && faultOf(t, err).Kind != Canceled {
					t.Error(err)
				}
				cancel()
				if _, err := c.Do(t.Context(), post("b", false)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// cancelOnRead is a connection that cancels the request when an answer arrives.
type cancelOnRead struct {
	net.Conn
	cancel context.CancelFunc
}

func (c cancelOnRead) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.cancel()
	return n, err
}

// TestCancelledWithAnswer checks that an answer that arrives with the cancellation is used, but
// its connection is not kept: the cancellation may change its deadline at any later time.
func TestCancelledWithAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(200, "{}")}}
		c := s.client(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		c.pool.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := s.dial(ctx, network, addr)
			return cancelOnRead{conn, cancel}, err
		}
		resp, err := c.Do(ctx, post("b", false))
		if err != nil || resp.Status != 200 || len(c.pool.idle) != 0 {
			t.Errorf("got %+v, %v, %d connections kept; want the answer and none", resp, err, len(c.pool.idle))
		}
	})
}

// TestExchangeIsReused checks that no data of a failed request, or of an earlier answer,
// appears in the next.
func TestExchangeIsReused(t *testing.T) {
	x := exchanges.New().(*exchange)
	receive := func(text string) (*Response, error) {
		client, server := net.Pipe()
		go func() {
			io.WriteString(server, text)
			server.Close()
		}()
		x.expectAnswer()
		return x.receive(newConn(client), 1000)
	}
	first, err := receive("HTTP/1.1 200 OK\r\nA: first\r\nContent-Length: 5\r\n\r\nhello")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := receive("HTTP/1.1 500 X\r\nB: second\r\nConnection: close\r\nConte"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a head: got the error %v, want %v", err, io.ErrUnexpectedEOF)
	}
	third, err := receive("HTTP/1.1 404 Y\r\nC: third\r\nD: 4\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbye\r\n0\r\n\r\n")
	if err != nil || third.Status != 404 || len(third.Header) != 3 || string(third.Header.Get("C")) != "third" || string(third.Body) != "bye" || x.response.Close {
		t.Errorf("got %+v, %v", third, err)
	}
	if first.Status != 200 || len(first.Header) != 2 || string(first.Header.Get("A")) != "first" || string(first.Body) != "hello" {
		t.Errorf("the first answer was changed to %+v", first)
	}
}

// TestDoAllocates limits a request's allocations to the results and the limiter's permit.
func TestDoAllocates(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	o := newMinimalServer(t, benchBody)
	c := socketClient(t, Config{URL: o})
	r := post(string(benchBody), false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := func(name string, ctx context.Context, want float64) {
		t.Helper()
		if n := testing.AllocsPerRun(200, func() {
			if _, err := c.Do(ctx, r); err != nil {
				t.Fatal(err)
			}
		}); n > want {
			t.Errorf("%s: %v allocations; want %v", name, n, want)
		}
	}
	// Response, its fields in two pieces, body, permit.
	f("not to be cancelled", context.Background(), 5)
	f("to be cancelled", ctx, 7)
}
