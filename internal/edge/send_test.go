package edge

import (
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// stallingConn accepts a few bytes of each Write, which then times out.
type stallingConn struct {
	net.Conn
	accepts []int
	got     []byte
	armed   int
}

func (s *stallingConn) Write(b []byte) (int, error) {
	if len(s.accepts) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := min(s.accepts[0], len(b))
	s.accepts = s.accepts[1:]
	s.got = append(s.got, b[:n]...)
	if n < len(b) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

func (s *stallingConn) SetWriteDeadline(time.Time) error { s.armed++; return nil }

// TestWriteTimeout checks that a client that reads some bytes in each write timeout gets its
// answer, and a client that reads none is disconnected.
func TestWriteTimeout(t *testing.T) {
	s := start(t, Config{Handler: &echo{}, Limits: Limits{WriteTimeout: time.Hour}})
	f := func(accepts []int, sent int, success bool, pieces ...string) {
		t.Helper()
		nc := &stallingConn{accepts: accepts}
		c := &conn{srv: s, x: &Exchange{}}
		c.NC, c.FD = nc, -1
		piece := func(i int) []byte {
			if i < len(pieces) {
				return []byte(pieces[i])
			}
			return nil
		}
		err := c.write(piece(0), piece(1), piece(2))
		all := strings.Join(pieces, "")
		if (err == nil) != success || string(nc.got) != all[:sent] || c.x.sent != sent {
			t.Errorf("%v: sent %q, counted %d, %v; want %d of %q", accepts, nc.got, c.x.sent, err, sent, all)
		}
		if nc.armed == 0 {
			t.Error("no deadline set")
		}
	}
	f([]int{100}, 5, true, "hello")
	f([]int{1, 1, 1, 2}, 5, true, "hello")
	f([]int{1, 1, 0, 100}, 2, false, "hello")
	f([]int{0}, 0, false, "hello")
	f([]int{100, 100, 100}, 15, true, "hello", "world", "again")
	f([]int{3, 2, 1, 4, 3, 2}, 15, true, "hello", "world", "again")
	f([]int{100, 2, 0}, 7, false, "hello", "world", "again")
}

// TestStreamIsNotRead checks that a streamed answer that is not read ends.
func TestStreamIsNotRead(t *testing.T) {
	errs := make(chan error, 2)
	log := newRecords()
	s := startStream(t, Config{Log: log, Limits: Limits{WriteTimeout: 30 * time.Millisecond}}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		ctx := x.Context()
		o, err := x.Stream(-1)
		for piece := make([]byte, 1<<20); err == nil; {
			_, err = o.Write(piece)
		}
		errs <- err
		<-ctx.Done()
		if again := o.Close(); again != err {
			t.Errorf("Close returned %v, Write %v", again, err)
		}
	})
	c := dial(t, s)
	c.send(get)
	await(t, errs, "end of the answer")
	if r := log.next(t); r.BytesOut < 1000 {
		t.Errorf("%d bytes logged", r.BytesOut)
	}
	if n := s.stats.unsent.Value(); n != 1 {
		t.Errorf("%d unsent answers are counted, want 1", n)
	}
}

// recordingConn is a connection that stores the bytes of each Write.
type recordingConn struct {
	net.Conn
	pieces []string
}

func (w *recordingConn) Write(b []byte) (int, error) {
	w.pieces = append(w.pieces, string(b))
	return len(b), nil
}

func (w *recordingConn) SetWriteDeadline(time.Time) error { return nil }

// TestFirstPieceIsSentWithHead checks that the head and the first piece of a streamed body are
// sent with one write.
func TestFirstPieceIsSentWithHead(t *testing.T) {
	s := start(t, Config{Handler: &echo{}, Streaming: true})
	f := func(method string, length int64, first, want string) {
		t.Helper()
		nc := &recordingConn{}
		c := &conn{srv: s}
		c.NC, c.FD = nc, -1
		x := acquireExchange(s, c)
		x.set, c.x = s.set.Load(), x
		x.Request.Method, x.Request.Minor = []byte(method), 1
		x.Reply.Status = http.StatusOK
		out, err := x.StreamWith(length, []byte(first))
		if err != nil {
			t.Fatal(err)
		}
		if len(nc.pieces) != 1 {
			t.Fatalf("%d writes, want 1: %q", len(nc.pieces), nc.pieces)
		}
		if _, body, _ := strings.Cut(nc.pieces[0], "\r\n\r\n"); body != want {
			t.Errorf("%s %d: sent %q with the head, want %q", method, length, body, want)
		}
		if _, err := out.Write([]byte("there")); err != nil {
			t.Error(err)
		}
		if err := out.Close(); err != nil {
			t.Errorf("%s %d: %v", method, length, err)
		}
	}
	f("GET", 10, "hello", "hello")
	f("GET", 5, "", "")
	f("GET", -1, "hello", "5\r\nhello\r\n")
	f("HEAD", 10, "hello", "")
	x := Detached(t.Context(), http1.Request{Method: []byte("GET"), Minor: 1}, nil, time.Now())
	if _, err := x.StreamWith(3, []byte("hello")); err != ErrLength {
		t.Errorf("more than was announced: %v", err)
	}
	if out, err := x.StreamWith(6, []byte("hello")); err != nil || out.Close() != ErrLength || string(x.Reply.Body) != "hello" {
		t.Errorf("less than was announced: %q, %v", x.Reply.Body, err)
	}
}

// lockObserver is a connection that checks, while it is written to, whether a reader of the
// body could send an interim answer.
type lockObserver struct {
	recordingConn
	x    *Exchange
	held bool
}

func (o *lockObserver) Write(b []byte) (int, error) {
	if o.x.interimMu.TryLock() {
		o.x.interimMu.Unlock()
	} else {
		o.held = true
	}
	return o.recordingConn.Write(b)
}

// TestFirstPieceDoesNotBlockReader checks that a reader of the body does not wait for the
// first write of the answer, and sends no interim answer after it.
func TestFirstPieceDoesNotBlockReader(t *testing.T) {
	s := start(t, Config{Handler: &echo{}, Streaming: true})
	nc := &lockObserver{}
	c := &conn{srv: s}
	c.NC, c.FD = nc, -1
	x := acquireExchange(s, c)
	x.set, c.x, nc.x = s.set.Load(), x, x
	x.Request.Method, x.Request.Minor = []byte("POST"), 1
	body := &connBody{x: x, left: 5, expectsContinue: true}
	x.body = newIncoming(5, body)
	x.Reply.Status = http.StatusOK
	if _, err := x.StreamWith(-1, make([]byte, 32<<10)); err != nil {
		t.Fatal(err)
	}
	if nc.held {
		t.Error("interimMu is held while the first piece is written")
	}
	if err := body.sendContinue(); err != nil || strings.Contains(strings.Join(nc.pieces, ""), " 100 ") {
		t.Errorf("a 100 was sent after the answer had begun, or %v", err)
	}
}
