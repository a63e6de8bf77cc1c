package accel

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestWholeHitPathAllocates checks that a hit allocates nothing from the first byte of the
// request to the last of the answer, in listener, parser, service, metrics and access log.
func TestWholeHitPathAllocates(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	conn := f.listen(t)
	get := fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: %s\r\nX-Amz-Target: %sGetItem\r\nUser-Agent: test\r\nContent-Length: %d\r\n\r\n%s",
		jsonType, targetPrefix, len(getA), getA)
	buf := make([]byte, 4096)
	ask := func() {
		if _, err := conn.Write(get); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err != nil || !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200 ")) || !bytes.HasSuffix(buf[:n], []byte(`}`)) {
			t.Fatalf("%v: got %s", err, buf[:n])
		}
	}
	for range 200 {
		ask()
	}
	if !bytes.Contains(buf, []byte("Cache-Status: kasoku; hit;")) {
		t.Fatalf("not a hit: %s", buf)
	}
	const requests = 5000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		ask()
	}
	runtime.ReadMemStats(&after)
	// Timers and the garbage collector allocate now and then; a request that allocates would
	// add thousands.
	if n := after.Mallocs - before.Mallocs; n > requests/50 && !race.Enabled {
		t.Errorf("%d requests caused %d allocations", requests, n)
	}
}

// listen puts the service behind a listener and connects to it.
func (f *fixture) listen(t *testing.T) net.Conn {
	t.Helper()
	s, err := edge.Listen(edge.Config{
		Name: "orders", Listen: "127.0.0.1:0", Handler: f.svc, Log: telemetry.NewJSONLines(discardCloser{}, 1<<10),
		Metrics: telemetry.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-served
	})
	return conn
}

type discardCloser struct{}

func (discardCloser) Write(p []byte) (int, error) { return len(p), nil }
func (discardCloser) Close() error                { return nil }
