package edge

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// loanOwner owns a body, and counts the loans that have not been returned.
type loanOwner struct {
	body  []byte
	out   atomic.Int64
	panic bool
	twice bool
}

type loan struct {
	of       *loanOwner
	returned bool
}

func (l *loan) Pace() int64 { return 0 }

func (l *loan) Return() {
	if l.returned {
		l.of.out.Add(1 << 32)
	}
	l.returned = true
	l.of.out.Add(-1)
}

func (l *loanOwner) Serve(x *Exchange) {
	l.out.Add(1)
	x.Reply.Status, x.Reply.Body, x.Reply.Loan = http.StatusOK, l.body, &loan{of: l}
	if l.twice {
		x.Reply.Reset()
		l.out.Add(1)
		x.Reply.Status, x.Reply.Body, x.Reply.Loan = http.StatusOK, l.body, &loan{of: l}
	}
	if l.panic {
		panic("oh")
	}
}

// awaitReturned waits until all loans are returned, each of them once.
func (l *loanOwner) awaitReturned(t *testing.T) {
	t.Helper()
	for l.out.Load() > 0 && l.out.Load() < 1<<31 {
		runtime.Gosched()
	}
	if n := l.out.Load(); n != 0 {
		t.Errorf("%d loans are not returned, or one was returned twice", n)
	}
}

// TestLoan checks that a loan is returned once, whether the body is written or not.
func TestLoan(t *testing.T) {
	for _, l := range []*loanOwner{{body: make([]byte, 3<<20)}, {body: make([]byte, 100)}, {body: make([]byte, 1<<20), twice: true}} {
		for _, streaming := range []bool{false, true} {
			cfg := Config{Handler: l, Streaming: streaming}
			ask := func(c *client) {
				t.Helper()
				for _, method := range []string{"GET", "HEAD", "GET"} {
					c.send(method + " / HTTP/1.1\r\nHost: a\r\n\r\n")
					c.read(method)
				}
				c.Close()
				l.awaitReturned(t)
			}
			ask(dial(t, start(t, cfg)))
			s, id := startTLS(t, cfg)
			ask(dialTLS(t, s, &tls.Config{RootCAs: id.pool}))
			cl := h2Client(id)
			resp, err := cl.Get("https://" + s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, resp.Body); int(n) != len(l.body) || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
			cl.CloseIdleConnections()
			l.awaitReturned(t)
		}
	}
}

// TestLoanOfStream checks that the loan of a streamed answer is returned at the end of the
// answer, before the next request.
func TestLoanOfStream(t *testing.T) {
	l := &loanOwner{}
	serve := HandlerFunc(func(x *Exchange) {
		l.out.Add(1)
		x.Reply.Status, x.Reply.Loan = http.StatusOK, &loan{of: l}
		o, err := x.Stream(-1)
		if err == nil {
			_, err = o.Write([]byte("hello"))
		}
		if n := l.out.Load(); err != nil || n != 1 {
			t.Errorf("during the answer: %v, %d loans; want 1", err, n)
		}
		if string(x.Request.Path) != "/cut" {
			_ = o.Close()
		}
	})
	c := dial(t, startStream(t, Config{}, serve))
	for range 2 {
		c.send(get)
		if a := c.read("GET"); a.text != "hello" {
			t.Errorf("got %q", a.text)
		}
		l.awaitReturned(t)
	}
	c.send(target("/cut"))
	_, _ = io.Copy(io.Discard, c.r)
	l.awaitReturned(t)
	cl, url, _ := startH2(t, Config{}, serve)
	for _, path := range []string{"/", "/cut"} {
		resp, err := cl.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		l.awaitReturned(t)
	}
}

// TestLoanIsReturnedWithoutAnAnswer checks that a loan is returned if the client does not read
// or has disconnected, or the handler panics.
func TestLoanIsReturnedWithoutAnAnswer(t *testing.T) {
	l, log := &loanOwner{body: make([]byte, 64<<20)}, newRecords()
	dial(t, start(t, Config{Handler: l, Log: log, Limits: Limits{WriteTimeout: 30 * time.Millisecond}})).send(get)
	if r := log.next(t); r.BytesOut != 0 {
		t.Errorf("%d bytes are logged as sent, want 0", r.BytesOut)
	}
	l.awaitReturned(t)
	l = &loanOwner{body: []byte("hello"), panic: true}
	c := dial(t, start(t, Config{Handler: l}))
	c.send(get)
	if a := c.read("GET"); a.StatusCode != 500 {
		t.Errorf("status %d", a.StatusCode)
	}
	l.awaitReturned(t)
	x := Detached(context.Background(), http1.Request{Method: []byte("GET")}, nil, time.Now())
	l = &loanOwner{}
	l.Serve(x)
	x.Reply.Reset()
	l.awaitReturned(t)
}
