package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// TestAnotherProtocol sends requests to a server that requires a greeting on each connection and
// answers each line with a line, in two writes.
func TestAnotherProtocol(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go echoLines(c)
		}
	}()
	r, err := Run(t.Context(), Config{
		Addr: l.Addr().String(), Conns: 3, Count: 100, Timeout: time.Hour, Greeting: []byte("hello\n"),
		Next: func(conn int, dst []byte) []byte { return fmt.Appendf(dst, "%d\n", conn) },
		Frame: func(answer []byte) (int, bool, error) {
			n := bytes.IndexByte(answer, '\n') + 1
			return n, n > 0, nil
		},
		Check: func(conn, status int, body []byte) error {
			if want := fmt.Sprintf("hello %d\n", conn); status != 200 || string(body) != want {
				return fmt.Errorf("got %d %q, want %q", status, body, want)
			}
			return nil
		},
	})
	if err != nil || r.Err != nil || r.Requests != 100 {
		t.Errorf("%d requests, errors %v, %v", r.Requests, err, r.Err)
	}
	r, err = Run(t.Context(), Config{
		Addr: l.Addr().String(), Conns: 1, Count: 1, Timeout: time.Hour, Greeting: []byte("hello\n"),
		Next:  func(_ int, dst []byte) []byte { return append(dst, "x\n"...) },
		Frame: func([]byte) (int, bool, error) { return 0, false, errors.New("no answer of this protocol") },
	})
	if err != nil || r.Err == nil || r.Err.Error() != "no answer of this protocol" || r.Requests != 0 {
		t.Errorf("%d requests, errors %v, %v", r.Requests, err, r.Err)
	}
}

// echoLines answers each line after the first with the first and that line.
func echoLines(c net.Conn) {
	defer c.Close()
	var greeting []byte
	var buf [64]byte
	var in []byte
	for {
		n, err := c.Read(buf[:])
		if err != nil {
			return
		}
		in = append(in, buf[:n]...)
		for {
			line, rest, found := bytes.Cut(in, []byte("\n"))
			if !found {
				break
			}
			if greeting == nil {
				greeting = bytes.Clone(line)
			} else if _, err := io.WriteString(c, string(greeting)+" "); err != nil {
				return
			} else if _, err := io.WriteString(c, string(line)+"\n"); err != nil {
				return
			}
			in = bytes.Clone(rest)
		}
	}
}
