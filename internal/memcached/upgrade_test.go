package memcached

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// echoes is a fallback that switches to another protocol if requested, and then echoes a line.
func echoes(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "echo" {
		http.Error(w, "not asked to", http.StatusUpgradeRequired)
		return
	}
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
	_ = rw.Flush()
	line, err := rw.ReadString('\n')
	if err != nil {
		return
	}
	_, _ = rw.WriteString(line)
	_ = rw.Flush()
}

// TestUpgrade checks that a client can switch protocols with the fallback on paths without a
// location. On the others the answer from memcached is HTTP.
func TestUpgrade(t *testing.T) {
	b := newBacked(t, echoes, Location{Path: "/count", Key: "count"}).listen()
	b.set("count", "17", 0, 0)
	f := func(path, status, body string) {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"))
		in := bufio.NewReader(conn)
		head, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if head.Status != status {
			t.Fatalf("%s is answered with %s, want %s", path, head.Status, status)
		}
		if head.StatusCode == http.StatusSwitchingProtocols {
			_, _ = conn.Write([]byte("hello\n"))
		}
		got := make([]byte, len(body))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != body {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, body)
		}
	}
	f("/live", "101 Switching Protocols", "hello")
	f("/count", "200 OK", "17")
}
