package fault

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// echo listens and answers each line with the same line, in upper case.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintln(conn, strings.ToUpper(lines.Text()))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestNetwork checks what passes between two ends under each condition of their route.
func TestNetwork(t *testing.T) {
	n := NewNetwork()
	addr := n.Proxy(t, "b", echo(t), AccessKey)
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	// exchange sends a line and returns the answer, or why there is none after a time.
	exchange := func(conn net.Conn, line string, within time.Duration) string {
		if _, err := fmt.Fprintln(conn, line); err != nil {
			return err.Error()
		}
		conn.SetReadDeadline(time.Now().Add(within))
		got, err := bufio.NewReader(iotest.OneByteReader(conn)).ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(got)
	}
	f := func(what, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	const short, long = 50 * time.Millisecond, 10 * time.Second
	conn := dial()
	f("no fault", exchange(conn, "Credential=a/1", long), "CREDENTIAL=A/1")
	n.Hold("a", "b")
	f("held on the way there", exchange(conn, "one", short), "timeout")
	n.Release("a", "b")
	f("released", exchange(conn, "two", long), "ONE")
	conn = dial()
	f("another connection", exchange(conn, "Credential=a/2", long), "CREDENTIAL=A/2")
	n.Hold("b", "a")
	f("held on the way back", exchange(conn, "three", short), "timeout")
	other := dial()
	f("another client meanwhile", exchange(other, "Credential=c/1", long), "CREDENTIAL=C/1")
	n.Reset("a", "b")
	f("reset", exchange(conn, "four", long), "reset")
	n.Heal("a", "b")
	conn = dial()
	n.Delay("a", "b", 2*short)
	began := time.Now()
	f("delayed", exchange(conn, "Credential=a/3", long), "CREDENTIAL=A/3")
	if took := time.Since(began); took < 2*short {
		t.Errorf("delayed: got an answer after %s", took)
	}
	n.Delay("a", "b", 0)

	// What was sent before the client has closed its connection arrives later.
	n.Cut("a", "b")
	fmt.Fprintln(conn, "five")
	conn.(*net.TCPConn).CloseWrite()
	n.Heal("a", "b")
	rest, err := io.ReadAll(conn)
	f("closed", fmt.Sprint(string(rest), err), "FIVE")
}

// TestClients checks how clients are found in their first bytes.
func TestClients(t *testing.T) {
	f := func(client Client, head, want string) {
		t.Helper()
		if got := client([]byte(head)); got != want {
			t.Errorf("%q: got %q, want %q", head, got, want)
		}
	}
	f(AccessKey, "", "")
	f(AccessKey, "POST / HTTP/1.1\r\nAuthorization: AWS4-HMAC-SHA256 Credential=no", "")
	f(AccessKey, "POST / HTTP/1.1\r\nAuthorization: AWS4-HMAC-SHA256 Credential=node/20260101/", "node")
	f(NATSRoute, `CONNECT {"name":"NX"}`+"\r\nINFO {\"server_id\":\"NX\",\"server_name\":\"no", "")
	f(NATSRoute, `CONNECT {"name":"NX"}`+"\r\nINFO {\"server_id\":\"NX\",\"server_name\":\"node-1-8f\",", "node-1")
}
