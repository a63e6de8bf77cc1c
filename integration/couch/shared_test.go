package couch

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// startService starts a service in front of nodes, with a listener, and returns its address.
func startService(t *testing.T, urls ...string) string {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 8 << 20, Generations: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := couch.New(couch.Config{Name: "s", Nodes: urls}, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server, err := edge.Listen(edge.Config{Name: "s", Listen: "127.0.0.1:0", Streaming: true, Handler: s})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("feeds did not end when the service stopped: %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close()
		c.Close()
	})
	return server.Addr().String()
}

// open requests a feed, and returns the connection when the header and the first empty line
// have arrived.
func open(t *testing.T, addr, query string) (net.Conn, error) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "GET /db/_changes?%s HTTP/1.0\r\n\r\n", query); err != nil {
		return nil, err
	}
	var head []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n\n"); head = append(head, b[0]) {
		if _, err := conn.Read(b); err != nil {
			return nil, fmt.Errorf("after %q: %w", head, err)
		}
	}
	if !strings.Contains(string(head), "collapsed") {
		return nil, fmt.Errorf("not shared: %q", head)
	}
	return conn, nil
}

// TestManyClientsOneFeed has 2,000 clients follow a node: the node has one feed, each client
// receives every change in order, and an idle client uses little memory.
func TestManyClientsOneFeed(t *testing.T) {
	const (
		clients  = 2000
		changes  = 100
		maxBytes = 48 << 10 // of an idle client, including its own end of the connection
	)
	n := Disk(t)
	w := NewProxy(t, n)
	n.Must(t, "PUT", "/db", "")
	n.Must(t, "PUT", "/db/first", "{}")
	addr := startService(t, w.URL)
	if _, err := open(t, addr, "feed=continuous&heartbeat=60000&since=now"); err != nil {
		t.Fatal(err)
	}
	idle := inUse()
	conns := make([]net.Conn, clients)
	for i := range conns {
		var err error
		if conns[i], err = open(t, addr, "feed=continuous&heartbeat=60000&since=now"); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
	}
	each := (inUse() - idle) / clients
	t.Logf("an idle client takes %d bytes", each)
	if each > maxBytes {
		t.Errorf("an idle client takes %d bytes; want at most %d", each, maxBytes)
	}
	var want []string
	for i := range changes {
		id := fmt.Sprintf("d%03d", i)
		want = append(want, fmt.Sprintf(`"id":%q,"changes":[{"rev":%q}]`, id, n.Must(t, "PUT", "/db/"+id, "{}").Rev(t)))
	}
	for i, conn := range conns {
		r := bufio.NewReader(conn)
		for _, row := range want {
			line := "\n"
			for line == "\n" {
				var err error
				if line, err = r.ReadString('\n'); err != nil {
					t.Fatalf("client %d: %v, want %s", i, err, row)
				}
			}
			if !strings.Contains(line, row) {
				t.Fatalf("client %d: got %s, want %s", i, line, row)
			}
		}
		conn.Close()
	}
	if got := w.Asked("GET", "/db/_changes"); got != 1 {
		t.Errorf("the node received %d requests for changes, want 1", got)
	}
}

// inUse returns the memory in use on the heap and on stacks.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
