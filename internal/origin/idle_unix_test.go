//go:build unix

package origin

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnsolicitedData checks that after bytes or an end on an idle connection the next request
// uses another connection, as an ordinary attempt.
func TestUnsolicitedData(t *testing.T) {
	f := func(name string, do func(conn net.Conn)) {
		t.Run(name, func(t *testing.T) {
			o := newRawOrigin(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", keepsOpen)
			c := socketClient(t, Config{URL: o.url(), Retry: Retry{Attempts: 1}})
			for range 3 {
				resp, err := c.Do(t.Context(), post("b", false))
				if err != nil || resp.Status != 200 || string(resp.Body) != "{}" {
					t.Fatalf("got %+v, %v", resp, err)
				}
				do(<-o.conns)
				// Once it has arrived here, it can be detected.
				c.pool.idle[0].SetReadDeadline(time.Now().Add(10 * time.Second))
				waitReadable(t, c.pool.idle[0].raw)
			}
		})
	}
	f("an answer", func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n") })
	f("the end", func(conn net.Conn) { conn.Close() })
	f("a reset", func(conn net.Conn) {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	})
}

// TestUnsolicitedDataOfTransport checks the same for a Transport, with and without a streamed body:
// every idle connection is tried, and a new one has the request. The body is read only once.
func TestUnsolicitedDataOfTransport(t *testing.T) {
	for name, body := range map[string]string{"no body": "", "a body": "hello"} {
		t.Run(name, func(t *testing.T) {
			o := newRawOrigin(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", keepsOpen)
			tr := transport(t, TransportConfig{URL: o.url()})
			exchange := func() {
				t.Helper()
				q := &Outbound{Method: []byte("POST"), Target: []byte("/"), Length: int64(len(body))}
				if body != "" {
					q.Body = strings.NewReader(body)
				}
				in, f := tr.Exchange(t.Context(), q)
				if f != nil {
					t.Fatal(f)
				}
				if got, err := io.ReadAll(in); err != nil || string(got) != "{}" {
					t.Errorf("got %q, %v", got, err)
				}
				in.Close()
			}
			exchange()
			first := tr.pool.pop()
			exchange() // over a second connection
			tr.pool.put(first)
			for range 2 {
				if _, err := io.WriteString(<-o.conns, "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range tr.pool.idle {
				c.SetReadDeadline(time.Now().Add(10 * time.Second))
				waitReadable(t, c.raw)
			}
			exchange()
			if n := len(tr.pool.idle); n != 1 || tr.pool.idle[0] == first {
				t.Errorf("%d connections are idle, want a new one", n)
			}
		})
	}
}

// waitReadable waits until a socket has something to read, without reading it.
func waitReadable(t *testing.T, conn net.Conn) {
	t.Helper()
	s, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	idle := newIdleCheck(s)
	for idle() {
		if err := s.Read(func(fd uintptr) bool {
			var b [1]byte
			_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
			return err != syscall.EAGAIN
		}); err != nil {
			t.Fatal(err)
		}
	}
}
