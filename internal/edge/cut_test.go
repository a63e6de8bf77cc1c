package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCutIsVisible checks that a client notices that an answer breaks off, in every framing.
func TestCutIsVisible(t *testing.T) {
	log := newRecords()
	serve := HandlerFunc(func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		length := int64(-1)
		if strings.HasPrefix(string(x.Request.Path), "/length") {
			length = 10
		}
		o, err := x.Stream(length)
		if err != nil {
			t.Error(err)
		}
		_, _ = o.Write([]byte("hello"))
		switch path := string(x.Request.Path); {
		case strings.HasSuffix(path, "/cut"):
			o.Cut()
		case strings.HasSuffix(path, "/panic"):
			panic("bug")
		case strings.HasSuffix(path, "/short"):
			if err := o.Close(); err != ErrLength {
				t.Errorf("Close after 5 of 10 bytes: %v", err)
			}
		}
		if _, err := o.Write([]byte("more")); err == nil && !strings.HasSuffix(string(x.Request.Path), "/left") {
			t.Error("a Write after the end succeeded")
		}
	})
	s := startStream(t, Config{Log: log}, serve)
	secure, id := startTLS(t, Config{Streaming: true, Handler: serve, Log: log})
	f := func(path, version string) {
		t.Helper()
		for _, c := range []*client{dial(t, s), dialTLS(t, secure, &tls.Config{RootCAs: id.pool})} {
			c.send("GET " + path + " " + version + "\r\n" + host + "\r\n")
			resp, err := http.ReadResponse(c.r, nil)
			var b []byte
			if err == nil {
				b, err = io.ReadAll(resp.Body)
			} else if !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("%s %s: %v", path, version, err)
			}
			if err == nil || !strings.HasPrefix("hellomore", string(b)) {
				t.Errorf("%s %s: read %q without an error", path, version, b)
			}
			if r := log.next(t); r.Status != 200 || r.BytesOut < len("hello") {
				t.Errorf("%s: record %+v", path, r)
			}
		}
		if n := s.stats.unsent.Value(); n == 0 {
			t.Errorf("%s: the cut answer is not counted as unsent", path)
		}
	}
	for _, end := range []string{"/cut", "/panic", "/left"} {
		for _, begin := range []string{"/length", "/chunked"} {
			f(begin+end, "HTTP/1.1")
			f(begin+end, "HTTP/1.0")
		}
	}
	f("/length/short", "HTTP/1.1")
}

// waitingHandler is a handler that sends a first piece and then waits for its context.
type waitingHandler struct {
	begun  chan struct{}
	causes chan error
}

func newWaitingHandler() *waitingHandler {
	return &waitingHandler{make(chan struct{}, 8), make(chan error, 8)}
}

func (h *waitingHandler) Serve(x *Exchange) {
	ctx := x.Context()
	x.Reply.Status = http.StatusOK
	if string(x.Request.Path) != "/wait" {
		o, err := x.Stream(-1)
		if err == nil {
			_, err = o.Write([]byte("first"))
		}
		if err != nil {
			h.causes <- err
			return
		}
	}
	h.begun <- struct{}{}
	<-ctx.Done()
	h.causes <- context.Cause(ctx)
}

func TestStreamClientGone(t *testing.T) {
	h := newWaitingHandler()
	s := startStream(t, Config{}, h.Serve)
	secure, id := startTLS(t, Config{Streaming: true, Handler: h})
	f := func(c *client, request string) {
		t.Helper()
		c.send(request)
		await(t, h.begun, "beginning")
		_ = c.Close()
		if err := await(t, h.causes, "end of the context"); !errors.Is(err, ErrClientGone) {
			t.Errorf("sent %q and disconnected: the cause is %v", request, err)
		}
	}
	for _, request := range []string{get, target("/wait"), post("hello"), post("hello") + get, chunked("5\r\nhel")} {
		f(dial(t, s), request)
		f(dialTLS(t, secure, &tls.Config{RootCAs: id.pool}), request)
	}
}

// TestStreamRequestTimeout checks that the request timeout bounds the time until the
// answer begins, and nothing after.
func TestStreamRequestTimeout(t *testing.T) {
	h := newWaitingHandler()
	s := startStream(t, Config{Limits: Limits{RequestTimeout: 1}}, h.Serve)
	c := dial(t, s)
	c.send(target("/wait"))
	if err := await(t, h.causes, "end of the context"); !errors.Is(err, ErrRequestTimeout) {
		t.Errorf("cause %v", err)
	}
	c.read("GET")
	limits := make(chan bool, 1)
	s.SetHandler(HandlerFunc(func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		_, _ = x.Stream(0)
		ctx := x.Context()
		_, limited := ctx.Deadline()
		limits <- limited || ctx.Err() != nil || x.watch.limit != nil
	}))
	c.send(get)
	if await(t, limits, "exchange") {
		t.Error("the request timeout applies after the answer has begun")
	}
	s.SetLimits(Limits{})
	s.SetHandler(HandlerFunc(func(x *Exchange) {
		_, limited := x.Context().Deadline()
		limits <- limited || !x.Deadline().IsZero()
		x.Reply.Status = http.StatusOK
	}))
	c = dial(t, s)
	c.send(get)
	if await(t, limits, "exchange") {
		t.Error("a streaming server without request timeout has one")
	}
}

// TestStreamStop stops a server hard while one handler streams an answer, one waits, one
// reads a body, and one has upgraded its connection.
func TestStreamStop(t *testing.T) {
	h := newWaitingHandler()
	log := newRecords()
	reading := make(chan error, 2)
	s := startStream(t, Config{Log: log}, func(x *Exchange) {
		switch string(x.Request.Path) {
		case "/body":
			h.begun <- struct{}{}
			_, err := io.ReadAll(x.BodyReader())
			reading <- err
		case "/upgrade":
			x.Reply.Field("Upgrade", "x")
			nc, err := x.Upgrade()
			h.begun <- struct{}{}
			if err == nil {
				_, err = nc.Read(make([]byte, 1))
			}
			reading <- err
		default:
			h.Serve(x)
		}
	})
	requests := []string{get, target("/wait"), "POST /body HTTP/1.1\r\n" + host + "Content-Length: 9\r\n\r\nhal",
		"GET /upgrade HTTP/1.1\r\n" + host + "Connection: upgrade\r\nUpgrade: x\r\n\r\n"}
	clients := make([]*client, len(requests))
	for i, request := range requests {
		clients[i] = dial(t, s)
		clients[i].send(request)
		await(t, h.begun, "beginning")
	}
	if n := s.Open(); n != len(requests) {
		t.Errorf("%d connections are open, want %d", n, len(requests))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "4 connections") {
		t.Errorf("Shutdown: %v", err)
	}
	for range 2 {
		if err := await(t, reading, "end of reading"); err == nil {
			t.Error("reading ended without an error")
		}
		if err := await(t, h.causes, "end of the context"); !errors.Is(err, context.Canceled) {
			t.Errorf("cause %v", err)
		}
	}
	for range requests {
		log.next(t)
	}
	for _, c := range clients {
		if _, err := io.ReadAll(c.r); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("not closed: %v", err)
		}
	}
}
