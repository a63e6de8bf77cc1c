package edge

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/socket"
)

// gate is a handler that blocks until it is opened, and reports when it is reached.
type gate struct{ reached, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}, 16), make(chan struct{})} }

func (g gate) Serve(x *Exchange) {
	g.reached <- struct{}{}
	<-g.open
	x.Reply.Status = http.StatusOK
}

func TestShutdownDrains(t *testing.T) {
	g := newGate()
	s := start(t, Config{Handler: g})
	fresh, idle, busyOne := dial(t, s), dial(t, s), dial(t, s)
	busyOne.send(get)
	await(t, g.reached, "request")
	g.open <- struct{}{}
	busyOne.read("GET")
	idle.send(get)
	await(t, g.reached, "request")
	g.open <- struct{}{}
	idle.read("GET")
	busyOne.send(get)
	await(t, g.reached, "request")
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(t.Context()) }()
	idle.ended()
	fresh.ended()
	if nc, err := net.Dial("tcp", s.Addr().String()); err == nil {
		_ = nc.Close()
		t.Error("a stopped server accepts")
	}
	close(g.open)
	if a := busyOne.read("GET"); a.StatusCode != 200 || !a.Close {
		t.Errorf("the running request: got %d, close %v; want 200 and close", a.StatusCode, a.Close)
	}
	busyOne.ended()
	if err := await(t, done, "end of Shutdown"); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestShutdownHard(t *testing.T) {
	causes := make(chan error, 1)
	reached := make(chan struct{})
	log := newRecords()
	s := start(t, Config{Log: log, Handler: HandlerFunc(func(x *Exchange) {
		if string(x.Request.Path) == "/quick" {
			x.Reply.Status = http.StatusOK
			return
		}
		ctx := x.Context()
		close(reached)
		<-ctx.Done()
		causes <- ctx.Err()
	})})
	half, stuck := dial(t, s), dial(t, s)
	half.send(target("/quick") + "GET / HTTP/1.1\r\n") // one answer means that both were read
	half.read("GET")
	log.next(t)
	stuck.send(get)
	await(t, reached, "request")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: got %v; want the context's error", err)
	}
	if len(log.news) == 0 {
		t.Error("the cut request was not logged before Shutdown returned")
	}
	if err := await(t, causes, "cancelled exchange"); !errors.Is(err, context.Canceled) {
		t.Errorf("exchange's context: %v", err)
	}
	half.ended()
}

// waiter returns a handler that waits for its context and sends the cause to causes.
func waiter(causes chan<- error) Handler {
	return HandlerFunc(func(x *Exchange) {
		ctx := x.Context()
		if ctx != x.Context() {
			causes <- errors.New("Context returns another context each time")
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		x.Reply.Status = http.StatusGatewayTimeout
	})
}

func TestClientGone(t *testing.T) {
	causes := make(chan error, 1)
	s := start(t, Config{Handler: waiter(causes)})
	for _, sent := range []string{get, get + get, post("hello")} {
		c := dial(t, s)
		c.send(sent)
		_ = c.Close()
		if err := await(t, causes, "end of the context"); !errors.Is(err, ErrClientGone) {
			t.Errorf("sent %q and disconnected: the cause is %v", sent, err)
		}
	}
}

// The Lasting context continues without the client, until the server stops waiting for it.
func TestLasting(t *testing.T) {
	disconnected, causes := make(chan error, 1), make(chan error, 1)
	s := start(t, Config{Handler: HandlerFunc(func(x *Exchange) {
		ctx := x.Lasting()
		<-x.Context().Done()
		disconnected <- ctx.Err()
		<-ctx.Done()
		causes <- ctx.Err()
		x.Reply.Status = http.StatusOK
	})})
	c := dial(t, s)
	c.send(get)
	_ = c.Close()
	if err := await(t, disconnected, "end of the client"); err != nil {
		t.Errorf("Lasting ended with the client: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("Shutdown returned nil although a request was running")
	}
	if err := await(t, causes, "end of the server"); err == nil {
		t.Error("Lasting did not end with the server")
	}
}

func TestRequestTimeout(t *testing.T) {
	causes := make(chan error, 1)
	s := start(t, Config{Handler: waiter(causes), Limits: Limits{RequestTimeout: 30 * time.Millisecond}})
	c := dial(t, s)
	c.send(get)
	if err := await(t, causes, "end of the context"); !errors.Is(err, ErrRequestTimeout) {
		t.Errorf("cause %v", err)
	}
	if a := c.read("GET"); a.StatusCode != 504 || a.Close {
		t.Errorf("answer %d, close %v", a.StatusCode, a.Close)
	}
}

func TestDeadline(t *testing.T) {
	got := make(chan time.Duration, 1)
	s := start(t, Config{
		Handler: HandlerFunc(func(x *Exchange) {
			got <- x.Deadline().Sub(x.Start())
			x.Reply.Status = http.StatusOK
		}),
		Limits: Limits{RequestTimeout: 7 * time.Second},
	})
	dial(t, s).send(get)
	if d := await(t, got, "deadline"); d != 7*time.Second {
		t.Errorf("%v after the request's start; want the request timeout", d)
	}
	start := time.Now()
	if d := Detached(t.Context(), http1.Request{}, nil, start).Deadline().Sub(start); d != defaultRequestTimeout {
		t.Errorf("detached: got %v; want the default", d)
	}
	ctx, cancel := context.WithDeadline(t.Context(), start.Add(time.Minute))
	defer cancel()
	if d := Detached(ctx, http1.Request{}, nil, start).Deadline().Sub(start); d != time.Minute {
		t.Errorf("detached: got %v; want its context's", d)
	}
}

// TestWatchKeepsInput checks that watching for the client's disconnect does not consume the
// requests that follow.
func TestWatchKeepsInput(t *testing.T) {
	ctxs := make(chan context.Context, 100)
	s := start(t, Config{Handler: HandlerFunc(func(x *Exchange) {
		ctx := x.Context()
		for range 3 {
			if socket.PeerClosed(x.conn.Raw) {
				t.Error("PeerClosed returned true although the client is connected")
			}
		}
		if ctx.Err() != nil {
			t.Errorf("the context ended although the client is connected: %v", context.Cause(ctx))
		}
		ctxs <- ctx
		x.Reply.Status = http.StatusOK
		x.Reply.Build(append(x.Reply.Buf, x.Request.Path...))
	})})
	c := dial(t, s)
	var all strings.Builder
	for i := range 100 {
		all.WriteString("GET /" + strings.Repeat("n", i) + " HTTP/1.1\r\n" + host + "\r\n")
	}
	c.send(all.String())
	for i := range 100 {
		if a := c.read("GET"); a.text != "/"+strings.Repeat("n", i) {
			t.Fatalf("answer %d: %q", i, a.text)
		}
		if ctx := <-ctxs; i > 0 && ctx.Err() == nil {
			await(t, ctx.Done(), "end of the context with its exchange")
		}
	}
}

func TestReplaceSettings(t *testing.T) {
	first, second := &echo{}, &echo{}
	log := newRecords()
	s := start(t, Config{Handler: first})
	c := dial(t, s)
	c.send(get)
	c.read("GET")
	s.SetHandler(second)
	s.SetLog(log)
	c.send(get)
	c.read("GET")
	log.next(t)
	s.SetLog(nil)
	s.SetLimits(Limits{HeaderBytes: 100})
	c.send(head("X-Foo: " + strings.Repeat("v", 100) + "\r\n"))
	if a := c.read("GET"); a.StatusCode != 431 {
		t.Errorf("over the new limit: %d", a.StatusCode)
	}
	if first.calls.Load() != 1 || second.calls.Load() != 1 {
		t.Errorf("calls %d and %d", first.calls.Load(), second.calls.Load())
	}
}

func TestListenErrors(t *testing.T) {
	if _, err := Listen(Config{Listen: "127.0.0.1:0"}); err == nil {
		t.Error("no handler, no error")
	}
	s := start(t, Config{Handler: &echo{}})
	if _, err := Listen(Config{Name: "twin", Listen: s.Addr().String(), Handler: &echo{}}); err == nil || !strings.Contains(err.Error(), "twin") {
		t.Errorf("address taken: %v", err)
	}
}

func TestUnixSocket(t *testing.T) {
	path := t.TempDir() + "/s"
	s := start(t, Config{Handler: &echo{}, Listen: "unix:" + path, Limits: Limits{RequestsPerSecond: 1}})
	c := dial(t, s)
	for range 5 {
		c.send(post("hello"))
		if a := c.read("POST"); a.text != "POST / a\nhello" {
			t.Errorf("answer %d %q", a.StatusCode, a.text)
		}
	}
	causes := make(chan error, 1)
	s.SetHandler(waiter(causes))
	c.send(get)
	_ = c.Close()
	if err := await(t, causes, "end of the context"); !errors.Is(err, ErrClientGone) {
		t.Errorf("cause %v", err)
	}
}
