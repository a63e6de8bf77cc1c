//go:build unix

package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// pair returns the two ends of a TCP connection, and a Stream for the first.
func pair(t *testing.T) (s *Stream, near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); fc.Close() })
	return NewStream(Raw(nc)), nc.(*net.TCPConn), fc.(*net.TCPConn)
}

// answer reads a request of n bytes at an end and writes text.
func answer(t *testing.T, c net.Conn, n int, text string) {
	if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Error(err)
	}
}

func TestAsk(t *testing.T) {
	s, near, far := pair(t)
	large := bytes.Repeat([]byte("x"), 8<<20) // more than the socket's buffer has room for
	for _, request := range [][]byte{[]byte("a"), []byte("bc"), large, []byte("d")} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			answer(t, far, len(request), "yes")
		}()
		var b [10]byte
		calls := 0
		written, read, err := s.Ask(request, b[:], true, func() bool { calls++; return true })
		if written != len(request) || string(b[:read]) != "yes" || err != nil || calls != 1 {
			t.Errorf("%d of %d bytes written, %q read, %v; sent was called %d times", written, len(request), b[:read], err, calls)
		}
		<-done
	}
	for _, request := range [][]byte{[]byte("a"), large} {
		go io.CopyN(io.Discard, far, int64(len(request)))
		written, read, err := s.Ask(request, make([]byte, 10), true, func() bool { return false })
		if written != len(request) || read != 0 || err != ErrUnwanted {
			t.Errorf("an answer that is not wanted: %d of %d bytes written, %d read, %v", written, len(request), read, err)
		}
	}
	near.SetReadDeadline(time.Now().Add(time.Millisecond))
	if written, read, err := s.Ask([]byte("a"), make([]byte, 10), true, nil); written != 1 || read != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("no answer: %d bytes written, %d read, %v", written, read, err)
	}
}

// TestAskAfterUnsolicitedData checks that nothing is sent on a connection that is not idle, unless
// that does not matter.
func TestAskAfterUnsolicitedData(t *testing.T) {
	for name, do := range map[string]func(far *net.TCPConn){
		"bytes":   func(far *net.TCPConn) { io.WriteString(far, "no") },
		"the end": func(far *net.TCPConn) { far.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			s, near, far := pair(t)
			do(far)
			raw := Raw(near)
			await.Until(t, func() bool {
				arrived := false
				raw.Control(func(fd uintptr) {
					var b [1]byte
					n, err := Peek(int(fd), &b)
					arrived = err == nil && n >= 0
				})
				return arrived
			})
			if written, read, err := s.Ask([]byte("a"), make([]byte, 10), true, nil); written != 0 || read != 0 || err != ErrNotIdle {
				t.Errorf("%d bytes written, %d read, %v", written, read, err)
			}
			b := make([]byte, 10)
			written, read, err := s.Ask([]byte("a"), b, false, nil)
			if written != 1 || read == 0 && err != io.EOF || read > 0 && string(b[:read]) != "no" {
				t.Errorf("%d bytes written, %q read, %v", written, b[:read], err)
			}
		})
	}
}
