package origin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// transport returns a transport to s that is closed at the end of the test.
func (s *faulty) transport(t *testing.T, cfg TransportConfig) *Transport {
	t.Helper()
	cfg.URL = "http://origin.test"
	tr := transport(t, cfg)
	tr.pool.dialer = s.dial
	t.Cleanup(func() {
		tr.Close()
		s.closeIdle()
		s.serving.Wait()
	})
	return tr
}

// bubble runs f within a synctest bubble, and fails if a goroutine is still running after f.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// wantKind checks a fault's kind and whether the origin was reached.
func wantKind(t *testing.T, err error, kind FaultKind, reached bool) {
	t.Helper()
	if f := faultOf(t, err); f.Kind != kind || f.Reached != reached || f.Origin != "m" {
		t.Errorf("got the fault %v, want %s, reached %t", f, kind, reached)
	}
}

// sent makes an exchange, discards its answer, and returns the error.
func sent(tr *Transport, ctx context.Context, q *Outbound) error {
	in, f := tr.Exchange(ctx, q)
	if f != nil {
		return f
	}
	defer in.Close()
	_, err := io.Copy(io.Discard, in)
	return err
}

// quietBody is a body that returns nothing until it is stopped.
type quietBody struct{ stopped chan struct{} }

func (b quietBody) Read([]byte) (int, error) {
	<-b.stopped
	return 0, errors.New("stopped")
}

// upload returns a request with a body of text and then silence.
func upload(text string, length int64) *Outbound {
	b := quietBody{make(chan struct{})}
	return &Outbound{Method: []byte("POST"), Target: []byte("/"), Body: io.MultiReader(strings.NewReader(text), b), Length: length,
		Stop: func() { close(b.stopped) }}
}

// head reads the head of a request and answers with text.
func head(text string, then step) step {
	return func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
		if _, err := http.ReadRequest(br); err != nil {
			return false
		}
		io.WriteString(conn, text)
		return then(s, conn, br)
	}
}

// hold keeps the connection open until the client closes it.
func hold(_ *faulty, _ net.Conn, br *bufio.Reader) bool {
	io.Copy(io.Discard, br)
	return false
}

// stopReading reads nothing until the client closes the connection, which only a write detects,
// as net.Pipe has no buffer.
func stopReading(_ *faulty, conn net.Conn, _ *bufio.Reader) bool {
	for {
		if _, err := conn.Write(nil); err != nil {
			return false
		}
		time.Sleep(time.Second) // in the bubble's time
	}
}

// TestTransportTimeouts checks the timeouts for an origin that stops at any point.
func TestTransportTimeouts(t *testing.T) {
	f := func(name string, next step, q func() *Outbound, shortest, longest time.Duration) {
		bubble(t, name, func(t *testing.T) {
			s := &faulty{script: []step{next}}
			tr := s.transport(t, TransportConfig{HeadTimeout: 10 * time.Second, StallTimeout: 4 * time.Second, ExpectTimeout: 3 * time.Second})
			start := time.Now()
			in, fault := tr.Exchange(t.Context(), q())
			err := error(fault)
			if fault == nil {
				_, err = io.ReadAll(in)
				in.Close()
			}
			wantKind(t, err, Timeout, true)
			if took := time.Since(start); took < shortest || took > longest {
				t.Errorf("the timeout was after %s, want %s to %s", took, shortest, longest)
			}
			if len(tr.pool.idle) != 0 {
				t.Error("the connection was kept")
			}
		})
	}
	asks := func() *Outbound { return get("/") }
	sends := func() *Outbound {
		return &Outbound{Method: []byte("POST"), Target: []byte("/"), Body: bytes.NewReader(make([]byte, 1<<20)), Length: 1 << 20}
	}
	f("no head", silent, asks, 10*time.Second, 10*time.Second)
	f("no head after the body", silent, sends, 10*time.Second, 10*time.Second)
	f("half a head", head("HTTP/1.1 200 OK\r\n", hold), asks, 10*time.Second, 10*time.Second)
	f("interim answers only", delayed(9*time.Second, head("HTTP/1.1 102 X\r\n\r\n", hold)), asks, 19*time.Second, 19*time.Second)
	f("no body", head(ok200+"Content-Length: 5\r\n\r\n", hold), asks, 4*time.Second, 5*time.Second)
	f("half a body", head(ok200+"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", hold), asks, 4*time.Second, 5*time.Second)
	f("does not read the body", head("", stopReading), sends, 14*time.Second, 15*time.Second) // then an answer is waited for
	patient := func() *Outbound {
		q := get("/")
		q.HeadTimeout, q.StallTimeout = time.Hour, 2*time.Hour
		return q
	}
	f("no head, for longer", silent, patient, time.Hour, time.Hour)
	f("no body, for longer", head(ok200+"Content-Length: 5\r\n\r\n", hold), patient, 2*time.Hour, 150*time.Minute)
	f("a body in slow bytes", drip(5, 5*time.Second+1), asks, 4*time.Second, 5*time.Second)
}

// TestSlowBodyIsNotStalled checks a body that takes much longer than StallTimeout, but never
// pauses for that long.
func TestSlowBodyIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{drip(100, 3*time.Second)}}
		tr := s.transport(t, TransportConfig{StallTimeout: 3*time.Second + 1})
		if got := take(t, tr, get("/")); len(got.body) != 100 || !got.whole {
			t.Errorf("got %d bytes, whole %t; want 100, true", len(got.body), got.whole)
		}
	})
}

// TestTransportInterrupted ends the context at every point of an exchange, by cancellation and
// by its deadline.
func TestTransportInterrupted(t *testing.T) {
	f := func(name string, next step, q func() *Outbound, reached bool) {
		for _, deadline := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, deadline %t", name, deadline), func(t *testing.T) {
				s := &faulty{script: []step{next}}
				tr := s.transport(t, TransportConfig{})
				if next == nil {
					tr.pool.dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				want := Canceled
				if deadline {
					ctx, cancel = context.WithTimeout(t.Context(), time.Second)
					want = Timeout
				} else {
					time.AfterFunc(time.Second, cancel)
				}
				defer cancel()
				start := time.Now()
				in, fault := tr.Exchange(ctx, q())
				err := error(fault)
				if fault == nil {
					_, err = io.ReadAll(in)
					in.Close()
				}
				wantKind(t, err, want, reached)
				if ctx.Err() == nil || time.Since(start) != time.Second || !errors.Is(err, ctx.Err()) {
					t.Errorf("got %v after %s, want the context's error after 1s", err, time.Since(start))
				}
			})
		}
	}
	asks := func() *Outbound { return get("/") }
	f("dialling", nil, asks, false)
	f("before the head", silent, asks, true)
	f("within the body", head(ok200+"Content-Length: 5\r\n\r\nhel", hold), asks, true)
	f("while the body is awaited", head("", hold), func() *Outbound { return upload("hello", -1) }, true)
	f("while the body is sent", head("", stopReading), func() *Outbound { return upload("hello", 10) }, true)
	f("while it is asked whether the body is wanted", head("", hold), func() *Outbound {
		q := upload("", 10)
		q.Expect = true
		return q
	}, true)
	f("with an answer under way too", head(ok200+"Content-Length: 5\r\n\r\nhel", hold), func() *Outbound { return upload("hello", -1) }, true)
}

// TestContextDone checks that a request with an ended context is not sent.
func TestContextDone(t *testing.T) {
	s := &faulty{script: []step{reply(200, "{}")}}
	tr := s.transport(t, TransportConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, f := tr.Exchange(ctx, get("/"))
	wantKind(t, f, Canceled, false)
	if s.dialed != 0 {
		t.Error("the origin was dialed")
	}
}

// TestRefusedDial checks the cause and the attempts of a failed dial.
func TestRefusedDial(t *testing.T) {
	refused := errors.New("refused")
	s := &faulty{script: []step{reply(200, "{}")}, dials: []error{refused}}
	tr := s.transport(t, TransportConfig{})
	_, f := tr.Exchange(t.Context(), get("/"))
	wantKind(t, f, Dial, false)
	if !errors.Is(f, refused) || f.Attempts != 1 {
		t.Errorf("got %v after %d attempts, want %v after 1", f, f.Attempts, refused)
	}
}

// TestTransportAnsweredEarly checks answers that arrive while a body is still being sent.
func TestTransportAnsweredEarly(t *testing.T) {
	f := func(name, answer string, then step, status int, body string) {
		bubble(t, name, func(t *testing.T) {
			s := &faulty{script: []step{head(answer, then)}}
			tr := s.transport(t, TransportConfig{})
			got := take(t, tr, upload("hello", -1)) // returns because the body is stopped
			if got.status != status || got.body != body || !got.whole || len(tr.pool.idle) != 0 {
				t.Errorf("got %+v, %d connections kept; want %d %q and none", got, len(tr.pool.idle), status, body)
			}
		})
	}
	f("refused, read on", "HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno", hold, 413, "no")
	f("refused, closed", "HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno", resetUnread, 413, "no")
	f("refused without a body", "HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n", hold, 413, "")
	f("refused, nothing read", "HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno", stopReading, 413, "no")
	f("answered, rest not needed", "HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok", hold, 200, "ok")
}

// TestBothWays checks an origin that answers while the request's body is sent: the next piece
// is sent after the previous one was received.
func TestBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{func(_ *faulty, conn net.Conn, br *bufio.Reader) bool {
			r, err := http.ReadRequest(br)
			if err != nil {
				return false
			}
			io.WriteString(conn, ok200+"Transfer-Encoding: chunked\r\n\r\n")
			for p := make([]byte, 100); ; {
				n, err := r.Body.Read(p)
				if n > 0 {
					fmt.Fprintf(conn, "%x\r\n%s\r\n", n, p[:n])
				}
				if err != nil {
					io.WriteString(conn, "0\r\n\r\n")
					return err == io.EOF
				}
			}
		}}}
		tr := s.transport(t, TransportConfig{})
		pr, pw := io.Pipe()
		in, f := tr.Exchange(t.Context(), &Outbound{Method: []byte("POST"), Target: []byte("/"), Body: pr, Length: -1})
		if f != nil {
			t.Fatal(f)
		}
		defer in.Close()
		p := make([]byte, 10)
		for i := range 10 {
			fmt.Fprint(pw, i)
			if n, err := in.Read(p); err != nil || string(p[:n]) != fmt.Sprint(i) {
				t.Fatalf("got %q, %v; want %d", p[:n], err, i)
			}
		}
		pw.Close()
		if n, err := in.Read(p); n != 0 || err != io.EOF || len(tr.pool.idle) != 1 {
			t.Errorf("got %d bytes, %v, %d connections kept; want the end and 1", n, err, len(tr.pool.idle))
		}
	})
}

// TestExpect checks "Expect: 100-continue".
func TestExpect(t *testing.T) {
	answer := reply(200, "{}")
	takesBody := func(wait time.Duration, first string) step {
		return func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
			r, err := http.ReadRequest(br)
			if err != nil {
				return false
			}
			time.Sleep(wait) // in the bubble's time
			io.WriteString(conn, first)
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return false
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.headers, s.executed = append(s.headers, r.Header), append(s.executed, string(body))
			_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			return err == nil
		}
	}
	f := func(name string, next step, status int, read bool, took time.Duration) {
		bubble(t, name, func(t *testing.T) {
			s := &faulty{script: []step{next, answer}}
			tr := s.transport(t, TransportConfig{ExpectTimeout: 3 * time.Second})
			body := strings.NewReader("hello")
			start := time.Now()
			got := take(t, tr, &Outbound{Method: []byte("PUT"), Target: []byte("/"), Body: body, Length: 5, Expect: true})
			if got.status != status || !got.whole || (body.Len() == 0) != read || time.Since(start) != took {
				t.Errorf("got %+v after %s, %d bytes of the body not read; want %d after %s", got, time.Since(start), body.Len(), status, took)
			}
			if kept := len(tr.pool.idle) == 1; kept != read {
				t.Errorf("connection kept: got %t, want %t", kept, read)
			}
			if read && (s.executed[0] != "hello" || s.headers[0].Get("Expect") != "100-continue") {
				t.Errorf("executed %q with %v", s.executed, s.headers)
			}
		})
	}
	f("wanted", takesBody(time.Second, "HTTP/1.1 100 Continue\r\n\r\n"), 200, true, time.Second)
	f("wanted after another interim answer", takesBody(time.Second, "HTTP/1.1 102 X\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"), 200, true, time.Second)
	f("wanted twice", takesBody(0, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"), 200, true, 0)
	f("no interim answer", takesBody(0, ""), 200, true, 3*time.Second)
	f("refused", head("HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n", hold), 401, false, 0)
	f("refused late", delayed(2*time.Second, head("HTTP/1.1 417 X\r\nContent-Length: 2\r\n\r\nno", hold)), 417, false, 2*time.Second)
}

// TestBrokenBodies checks request bodies that fail, end too early, or return nothing: the
// origin must not treat the received part as complete.
func TestBrokenBodies(t *testing.T) {
	gone := errors.New("gone")
	f := func(name string, body io.Reader, length int64, cause error) {
		bubble(t, name, func(t *testing.T) {
			s := &faulty{script: []step{reply(200, "{}")}}
			tr := s.transport(t, TransportConfig{})
			err := sent(tr, t.Context(), &Outbound{Method: []byte("PUT"), Target: []byte("/"), Body: body, Length: length, Repeatable: true})
			wantKind(t, err, Canceled, true)
			if !errors.Is(err, cause) || s.count() != 0 || len(tr.pool.idle) != 0 {
				t.Errorf("got %v, want %v; %d requests were executed", err, cause, s.count())
			}
		})
	}
	failing := func() io.Reader { return io.MultiReader(strings.NewReader("hel"), &failingReader{gone}) }
	f("length, fails", failing(), 5, gone)
	f("chunked, fails", failing(), -1, gone)
	f("length, too short", strings.NewReader("hel"), 5, io.ErrUnexpectedEOF)
	f("never any bytes", &failingReader{nil}, -1, io.ErrNoProgress)
}

// failingReader returns an error, or no bytes and no error.
type failingReader struct{ err error }

func (r *failingReader) Read([]byte) (int, error) { return 0, r.err }

// TestKeptConnectionDies checks an idle connection that ends when the next request is sent: the
// request is repeated once, on a new connection, if that is safe.
func TestKeptConnectionDies(t *testing.T) {
	f := func(name string, q Outbound, after step, executed int, check func(*testing.T, error)) {
		bubble(t, name, func(t *testing.T) {
			s := &faulty{script: []step{reply(200, "{}"), after, reply(200, "{}")}}
			tr := s.transport(t, TransportConfig{})
			if err := sent(tr, t.Context(), get("/")); err != nil {
				t.Fatal(err)
			}
			q.Target = []byte("/")
			check(t, sent(tr, t.Context(), &q))
			if s.count() != executed {
				t.Errorf("the requests %q were executed, want %d", s.executed, executed)
			}
		})
	}
	good := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	lost := func(t *testing.T, err error) {
		t.Helper()
		wantKind(t, err, Reset, true)
	}
	rewind := func() io.Reader { return strings.NewReader("hello") }
	f("GET", Outbound{Method: []byte("GET")}, reset, 3, good)
	f("HEAD", Outbound{Method: []byte("HEAD")}, reset, 3, good)
	f("POST", Outbound{Method: []byte("POST")}, reset, 2, lost)
	f("POST marked as repeatable", Outbound{Method: []byte("POST"), Repeatable: true, Content: []byte("hello")}, reset, 3, good)
	f("body that can't be sent again", Outbound{Method: []byte("PUT"), Repeatable: true, Body: strings.NewReader("hello"), Length: 5}, reset, 2, lost)
	f("body that can be sent again", Outbound{Method: []byte("PUT"), Repeatable: true, Rewind: rewind, Length: 5}, reset, 3, good)
	f("part of the answer was received", Outbound{Method: []byte("GET")}, raw("HTTP/1.1 2"), 2, lost)
	f("an interim answer was received", Outbound{Method: []byte("GET")}, raw("HTTP/1.1 103 X\r\n\r\n"), 2, lost)
}

// TestNewConnectionDies checks that a request on a new connection is not repeated.
func TestNewConnectionDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reset, reply(200, "{}")}}
		tr := s.transport(t, TransportConfig{})
		wantKind(t, sent(tr, t.Context(), get("/")), Reset, true)
		if s.count() != 1 {
			t.Errorf("executed %d times, want once", s.count())
		}
	})
}

// TestInterimFields checks that the fields of interim answers are forwarded unchanged.
func TestInterimFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{head("HTTP/1.1 103 X\r\nLink: a\r\nLink: b\r\n\r\n", reply200)}}
		tr := s.transport(t, TransportConfig{})
		var got []string
		q := get("/")
		q.Interim = func(status int, h http1.Fields) {
			got = append(got, fmt.Sprintf("%d %s", status, h))
		}
		if err := sent(tr, t.Context(), q); err != nil || len(got) != 1 || got[0] != "103 [{Link a} {Link b}]" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func reply200(_ *faulty, conn net.Conn, _ *bufio.Reader) bool {
	_, err := io.WriteString(conn, ok200+"Content-Length: 0\r\n\r\n")
	return err == nil
}

// ends is an Observer that records the errors of ended exchanges.
type ends []error

func (e *ends) Ended(_ *Inbound, err error) { *e = append(*e, err) }

// TestObserve checks that the end of an exchange is reported once.
func TestObserve(t *testing.T) {
	f := func(name string, next step, use func(in *Inbound), want error) {
		bubble(t, name, func(t *testing.T) {
			s := &faulty{script: []step{next}}
			in, f := s.transport(t, TransportConfig{}).Exchange(t.Context(), get("/"))
			if f != nil {
				t.Fatal(f)
			}
			var got ends
			in.Observe(&got)
			use(in)
			in.Close()
			in.Close()
			if len(got) != 1 || !errors.Is(got[0], want) {
				t.Errorf("Ended got %v, want %v once", got, want)
			}
			if n, err := in.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("Read after the end returned %d bytes, %v", n, err)
			}
		})
	}
	all := func(in *Inbound) { io.Copy(io.Discard, in) }
	nothing := func(*Inbound) {}
	f("read", reply(200, "{}"), all, nil)
	f("no body", reply(200, ""), nothing, nil)
	f("not read, there with the head", raw("HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}"), nothing, nil)
	f("not read", raw("HTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\n{}"), nothing, ErrClosed)
	f("cut", raw(ok200+"Content-Length: 5\r\n\r\nhel"), all, io.ErrUnexpectedEOF)
}

// TestKeepAlive checks that a connection is not used after the origin's Keep-Alive timeout.
func TestKeepAlive(t *testing.T) {
	f := func(field string, pause time.Duration, kept bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := &faulty{script: []step{head(ok200+field+"Content-Length: 0\r\n\r\n", func(*faulty, net.Conn, *bufio.Reader) bool { return true })}}
			tr := s.transport(t, TransportConfig{})
			for range 2 {
				if err := sent(tr, t.Context(), get("/")); err != nil {
					t.Error(err)
				}
				time.Sleep(pause)
			}
			if (s.dialed == 1) != kept {
				t.Errorf("%q, a pause of %s: %d connections, want the first one kept: %t", field, pause, s.dialed, kept)
			}
		})
	}
	f("", 20*time.Second, true)
	f("Keep-Alive: timeout=5\r\n", 3999*time.Millisecond, true)
	f("Keep-Alive: timeout=5\r\n", 4*time.Second, false)
	f("keep-alive: max=100 , Timeout=1\r\n", 499*time.Millisecond, true)
	f("keep-alive: max=100 , Timeout=1\r\n", 500*time.Millisecond, false)
	f("Keep-Alive: timeout=0\r\n", 0, false)
	f("Keep-Alive: timeout=x, timeout, =\r\n", 20*time.Second, true)
	f("Keep-Alive: timeout=3600\r\n", 26*time.Second, false)
}
