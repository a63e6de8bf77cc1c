package edge

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// overPipe runs f with an HTTP/2 connection to a new server over a pipe, on a clock of its own.
func overPipe(t *testing.T, cfg Config, f func(t *testing.T, w *wire)) {
	t.Helper()
	id := newIdentity(t, t.TempDir(), 1)
	certificates, err := NewCertReloader(id.cert, id.key, "")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.TLS = "127.0.0.1:0", certificates.Config()
	synctest.Test(t, func(t *testing.T) {
		s, err := Listen(cfg)
		if err != nil {
			t.Fatal(err)
		}
		serverEnd, clientEnd := net.Pipe()
		s.conns.Accept(serverEnd)
		f(t, newWire(t, clientEnd))
		_ = clientEnd.Close()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // for goroutines that still write to the closed connection
	})
}

// TestH2SlowHeaders checks that header_timeout bounds a header block from its first byte to
// its last, in however many frames and pieces it arrives.
func TestH2SlowHeaders(t *testing.T) {
	const timeout = 2 * time.Second
	f := func(name string, slow func(w *wire)) {
		t.Helper()
		overPipe(t, Config{Handler: &echo{}, Limits: Limits{HeaderTimeout: timeout}}, func(t *testing.T, w *wire) {
			ended := make(chan string, 1)
			began := time.Now()
			go func() { ended <- w.outcome(0) }()
			go slow(w)
			if got := <-ended; got != "goaway PROTOCOL_ERROR" {
				t.Errorf("%s: the connection ended with %s, want PROTOCOL_ERROR", name, got)
			}
			if took := time.Since(began); took != timeout {
				t.Errorf("%s: ended after %v, want %v", name, took, timeout)
			}
		})
	}
	open := func(w *wire) {
		_ = w.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: w.block(), EndStream: true})
	}
	f("no CONTINUATION", open)
	f("a CONTINUATION every 100 ms", func(w *wire) {
		open(w)
		for w.fr.WriteContinuation(1, false, nil) == nil {
			time.Sleep(100 * time.Millisecond)
		}
	})
	f("half of a frame header", func(w *wire) { _, _ = w.nc.Write([]byte{0, 0, 30, 1}) })
	f("a byte of the block every 100 ms", func(w *wire) {
		_, err := w.nc.Write([]byte{0, 1, 0, 1, 5, 0, 0, 0, 1})
		for err == nil {
			time.Sleep(100 * time.Millisecond)
			_, err = w.nc.Write([]byte{0x82})
		}
	})
	f("half of a PING", func(w *wire) { _, _ = w.nc.Write([]byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2}) })
}

// TestH2SlowBody checks that header_timeout does not bound bodies or pauses between requests.
func TestH2SlowBody(t *testing.T) {
	const timeout = 2 * time.Second
	overPipe(t, Config{Handler: HandlerFunc(back), Streaming: true, Limits: Limits{HeaderTimeout: timeout}}, func(t *testing.T, w *wire) {
		w.check(w.headers(1, false))
		w.raw([]byte{0, 0, 4, 0, 1, 0, 0, 0, 1, 'a'})
		time.Sleep(3 * timeout)
		w.raw([]byte("bcd"))
		if got := w.outcome(1); got != "200" {
			t.Errorf("a slow body: %s", got)
		}
		time.Sleep(3 * timeout)
		w.check(w.headers(3, true))
		if got := w.outcome(3); got != "200" {
			t.Errorf("a request after a pause: %s", got)
		}
	})
}
