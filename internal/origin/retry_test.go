package origin

import (
	"bufio"
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

const (
	throttled = `{"__type":"x#throttled"}`
	failed    = `{"__type":"x#InternalServerError"}`
)

// TestRetries checks the number of attempts for each behavior of the origin. Each case runs as
// a read and as a write.
func TestRetries(t *testing.T) {
	ok := reply(200, "{}")
	type want struct {
		executed, attempts int
		class              Class
		kind               FaultKind
		faulted, reached   bool
	}
	good := func(executed, attempts int) want { return want{executed: executed, attempts: attempts} }
	class := func(c Class, n int) want { return want{executed: n, attempts: n, class: c} }
	fails := func(k FaultKind, reached bool, executed, attempts int) want {
		return want{executed: executed, attempts: attempts, kind: k, faulted: true, reached: reached}
	}
	f := func(name string, dials []error, script []step, read, write want) {
		for kind, w := range map[string]want{"read": read, "write": write} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &faulty{script: script, dials: dials}
					c := s.client(t, Config{MaxBody: 1000})
					resp, err := c.Do(t.Context(), post("body", kind == "read"))
					if w.faulted {
						wantFault(t, err, w.kind, w.reached, w.attempts)
					} else if err != nil || resp.Class != w.class || resp.Attempts != w.attempts {
						t.Fatalf("got %+v, %v; want class %s after %d attempts", resp, err, w.class, w.attempts)
					}
					if s.count() != w.executed {
						t.Errorf("the origin executed %d requests, want %d", s.count(), w.executed)
					}
				})
			})
		}
	}
	refused := syscall.ECONNREFUSED
	f("good", nil, []step{ok}, good(1, 1), good(1, 1))
	f("refused", nil, []step{reply(400, "no")}, class(Refused, 1), class(Refused, 1))
	f("throttled once", nil, []step{reply(400, throttled), ok}, good(2, 2), good(2, 2))
	f("throttled always", nil, []step{reply(400, throttled)}, class(Throttled, 3), class(Throttled, 3))
	f("failed once", nil, []step{reply(500, failed), ok}, good(2, 2), class(Failed, 1))
	f("failed always", nil, []step{reply(500, failed)}, class(Failed, 3), class(Failed, 1))
	f("dial fails once", []error{refused}, []step{ok}, good(1, 2), good(1, 2))
	f("dial fails always", []error{refused, refused, refused}, []step{ok}, fails(Dial, false, 0, 3), fails(Dial, false, 0, 3))
	f("reset before reading", nil, []step{resetUnread, ok}, good(1, 2), fails(Reset, true, 0, 1))
	f("reset after reading", nil, []step{reset, ok}, good(2, 2), fails(Reset, true, 1, 1))
	f("reset always", nil, []step{reset}, fails(Reset, true, 3, 3), fails(Reset, true, 1, 1))
	f("reset, then no connection", []error{nil, refused, refused}, []step{reset}, fails(Dial, true, 1, 3), fails(Reset, true, 1, 1))
	f("throttled, then no connection", []error{nil, refused, refused},
		[]step{raw("HTTP/1.1 400 X\r\nConnection: close\r\nContent-Length: 9\r\n\r\nthrottled")},
		fails(Dial, false, 1, 3), fails(Dial, false, 1, 3))
	f("reset in the head", nil, []step{raw("HTTP/1.1 200 O"), ok}, good(2, 2), fails(Reset, true, 1, 1))
	f("reset in the body", nil, []step{raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), ok}, good(2, 2), fails(Reset, true, 1, 1))
	f("reset in a chunk", nil, []step{raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf"), ok}, good(2, 2), fails(Reset, true, 1, 1))
	f("not HTTP", nil, []step{raw("SSH-2.0-OpenSSH_9.9\r\n\r\n"), ok}, good(2, 2), fails(Garbage, true, 1, 1))
	f("bad chunk", nil, []step{raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), ok}, good(2, 2), fails(Garbage, true, 1, 1))
	f("announced too long", nil, []step{raw("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"), ok}, good(2, 2), fails(Garbage, true, 1, 1))
	f("never answers", nil, []step{silent, ok}, good(2, 2), fails(Timeout, true, 1, 1))
	f("slow body", nil, []step{drip(100, time.Second), ok}, good(2, 2), fails(Timeout, true, 1, 1))
	f("lags within the timeout", nil, []step{delayed(4*time.Second, ok)}, good(1, 1), good(1, 1))
}

// TestLastAnswerIsUnchanged checks that the origin's last answer is returned byte for byte,
// with its headers and the total duration.
func TestLastAnswerIsUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{delayed(time.Second, reply(503, failed))}}
		c := s.client(t, Config{Retry: Retry{Attempts: 4, Base: time.Nanosecond, Cap: time.Nanosecond}})
		resp, err := c.Do(t.Context(), post("b", true))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Status != 503 || string(resp.Body) != failed || string(resp.Header.Get("X-Step")) != "reply" {
			t.Errorf("got %d %q %v", resp.Status, resp.Body, resp.Header)
		}
		if resp.Attempts != 4 || resp.Duration != 4*time.Second {
			t.Errorf("%d attempts in %s; want 4 in 4s", resp.Attempts, resp.Duration)
		}
		if len(resp.Body) != cap(resp.Body) {
			t.Errorf("the body has a capacity of %d for %d bytes", cap(resp.Body), len(resp.Body))
		}
	})
}

// TestPreparedEachTime checks that every attempt is signed, on headers that the previous
// attempt has not changed.
func TestPreparedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(400, throttled)}}
		prepared := 0
		c := s.client(t, Config{Prepare: func(_ context.Context, r *http1.Request, body []byte) error {
			if string(body) != "the body" || string(r.Get("Host")) != "origin.test" || string(r.Get("Content-Length")) != "8" {
				t.Errorf("Prepare got the body %q, the fields %q", body, r.Fields)
			}
			prepared++
			r.Fields = append(r.Fields, http1.FieldsOf("Authorization", string(rune('0'+prepared)))...)
			return nil
		}})
		r := post("the body", false)
		if _, err := c.Do(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for i, h := range s.headers {
			if got := h["Authorization"]; len(got) != 1 || got[0] != string(rune('1'+i)) {
				t.Errorf("attempt %d has Authorization %q", i+1, got)
			}
			if h.Get("User-Agent") != "kasoku" || h.Get("Accept-Encoding") != "" {
				t.Errorf("attempt %d has the headers %v", i+1, h)
			}
		}
		if len(s.headers) != 3 || len(r.Header) != 1 {
			t.Errorf("%d attempts, caller's headers %v", len(s.headers), r.Header)
		}
	})
}

func TestUnprepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(200, "{}")}}
		broken := errors.New("no credentials")
		c := s.client(t, Config{Prepare: func(context.Context, *http1.Request, []byte) error { return broken }})
		_, err := c.Do(t.Context(), post("b", true))
		wantFault(t, err, Unprepared, false, 0)
		if !errors.Is(err, broken) || s.dialed != 0 {
			t.Errorf("error %v after %d dials", err, s.dialed)
		}
	})
}

// TestDeadline checks that no attempt exceeds the caller's deadline, and that a retry whose
// pause would exceed it is not made.
func TestDeadline(t *testing.T) {
	f := func(name string, script []step, within time.Duration, took time.Duration, check func(*testing.T, *Response, error)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &faulty{script: script}
				c := s.client(t, Config{Retry: Retry{Base: time.Hour, Cap: time.Hour}})
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				start := time.Now()
				resp, err := c.Do(ctx, post("b", true))
				if got := time.Since(start); got != took {
					t.Errorf("took %s; want %s", got, took)
				}
				check(t, resp, err)
			})
		})
	}
	f("during an attempt", []step{silent}, time.Second, time.Second, func(t *testing.T, _ *Response, err error) {
		wantFault(t, err, Timeout, true, 1)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cause %v", errors.Unwrap(err))
		}
	})
	// The pause, random within an hour, is longer than the rest of 2ms except with a
	// probability of one in two million.
	f("between attempts", []step{delayed(time.Millisecond, reply(500, failed))}, 2*time.Millisecond, time.Millisecond, func(t *testing.T, resp *Response, err error) {
		if err != nil || resp.Attempts != 1 || resp.Class != Failed {
			t.Errorf("got %+v, %v; want the failed answer of the one attempt", resp, err)
		}
	})
	f("before it began", []step{silent}, -time.Second, 0, func(t *testing.T, _ *Response, err error) {
		wantFault(t, err, Timeout, false, 0)
	})
}

// TestCallerCancels cancels during an attempt, and in a pause.
func TestCallerCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{silent}}
		c := s.client(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := c.Do(ctx, post("b", true))
		wantFault(t, err, Canceled, true, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(400, throttled)}}
		c := s.client(t, Config{Retry: Retry{Base: 1000 * time.Hour, Cap: 1000 * time.Hour}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		start := time.Now()
		resp, err := c.Do(ctx, post("b", true))
		if err != nil || resp.Class != Throttled || time.Since(start) != time.Millisecond {
			t.Errorf("got %+v, %v after %s; want the throttled answer after 1ms", resp, err, time.Since(start))
		}
	})
}

// TestClosedIdleConnection checks that an idle connection that the origin has closed does not
// count as an attempt and does not make a write's outcome unknown.
func TestClosedIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{script: []step{reply(200, "{}")}}
		c := s.client(t, Config{})
		for i := range 3 {
			resp, err := c.Do(t.Context(), post("b", false))
			if err != nil || resp.Attempts != 1 {
				t.Fatalf("request %d: %+v, %v", i, resp, err)
			}
			s.closeIdle()
			synctest.Wait()
		}
		if s.dialed != 3 || s.count() != 3 {
			t.Errorf("%d dials, %d executed; want 3 and 3", s.dialed, s.count())
		}
	})
}

// TestConnectionsAreKept checks that the next request uses the connection, after answers of
// every kind.
func TestConnectionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chunked := func(s *faulty, conn net.Conn, br *bufio.Reader) bool {
			if !s.read(br) {
				return false
			}
			_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))
			return err == nil
		}
		s := &faulty{script: []step{reply(200, "abcde"), reply(200, ""), chunked, reply(400, "x"), reply(302, "y"), reply(204, "")}}
		c := s.client(t, Config{})
		for i, want := range []string{"abcde", "", "abcde", "x", "y", ""} {
			resp, err := c.Do(t.Context(), post("b", false))
			if err != nil || string(resp.Body) != want || cap(resp.Body) > len(want) {
				t.Fatalf("request %d: got %+v, %v; want body %q", i, resp, err, want)
			}
		}
		if s.dialed != 1 {
			t.Errorf("%d connections; want 1", s.dialed)
		}
	})
}
