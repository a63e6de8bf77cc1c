package nats

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

func TestMessages(t *testing.T) {
	a, b, c := three(t)
	deliver(t, func() error { return a.Broadcast([]byte("to all")) },
		func() bool { return b.received("to all") > 0 && c.received("to all") > 0 })
	deliver(t, func() error { return a.Send(c.instance, []byte("to c")) }, func() bool { return c.received("to c") > 0 })
	if a.received("to all") != 0 {
		t.Error("a received its own broadcast")
	}
	if b.received("to c") != 0 {
		t.Error("b received a frame for c")
	}
	s := a.Stats()
	if !s.Connected || s.Peers != 2 || s.MessagesOut == 0 || s.BytesOut == 0 || s.MessagesIn == 0 || s.BytesIn == 0 || s.Reconnects != 0 {
		t.Errorf("%+v", s)
	}
}

// TestListenAgain changes the instance and the functions of a node.
func TestListenAgain(t *testing.T) {
	a, former, _ := three(t)
	b := &node{Transport: former.Transport, name: "b again", frames: map[string]int{}}
	b.listen(t, 0xbb)
	reaches(t, a, b)
	await.Until(t, func() bool { return a.ask(t, former.instance) == client.ErrNoResponders.Error() })
	if err := a.Send(former.instance, []byte("former")); err != nil {
		t.Fatal(err)
	}
	deliver(t, func() error { return a.Send(b.instance, []byte("present")) }, func() bool { return b.received("present") > 0 })
	deliver(t, func() error { return a.Broadcast([]byte("all")) }, func() bool { return b.received("all") > 0 })
	if b.received("former") != 0 || len(former.frames) != 0 {
		t.Errorf("received %v as the former instance, %v as the present one", former.frames, b.frames)
	}
}

func TestAsk(t *testing.T) {
	a, b, _ := three(t)
	block := make(chan struct{})
	err := b.Listen(b.instance, b.receive, func(_ context.Context, request []byte) []byte {
		switch string(request) {
		case "empty":
			return nil
		case "block":
			<-block
		}
		return request
	})
	if err != nil {
		t.Fatal(err)
	}
	defer close(block)
	long := strings.Repeat("x", maxPayload)
	for _, request := range []string{"empty", "", "1", long} {
		t.Run("", func(t *testing.T) {
			want := request
			if request == "empty" {
				want = ""
			}
			await.Until(t, func() bool {
				reply, err := a.Ask(t.Context(), b.instance, []byte(request))
				return err == nil && string(reply) == want
			})
		})
	}
	if _, err := a.Ask(t.Context(), b.instance, []byte(long+"x")); !errors.Is(err, client.ErrMaxPayload) {
		t.Errorf("too long: %v", err)
	}
	if _, err := a.Ask(t.Context(), 0xdead, nil); !errors.Is(err, client.ErrNoResponders) {
		t.Errorf("no such instance: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := a.Ask(ended, b.instance, []byte("block")); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}

	// Requests that wait do not delay others, until there are too many.
	for range maxAnswers {
		if err := a.client.PublishRequest(b.subject(b.instance)+".ask", "nowhere", []byte("block")); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, func() error { return a.client.PublishRequest(b.subject(b.instance)+".ask", "nowhere", []byte("block")) },
		func() bool { return b.Stats().Dropped > 0 })
}

// TestAnswerEndsWithTransport closes a transport whose answer waits for its context.
func TestAnswerEndsWithTransport(t *testing.T) {
	a, b, _ := three(t)
	var called atomic.Bool
	closed := make(chan struct{})
	err := b.Listen(b.instance, b.receive, func(ctx context.Context, _ []byte) []byte {
		called.Store(true)
		<-ctx.Done()
		select {
		case <-closed:
			t.Error("the transport closed before the answer returned")
		case <-time.After(20 * time.Millisecond):
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, func() error { return a.client.PublishRequest(b.subject(b.instance)+".ask", "nowhere", nil) }, called.Load)
	b.Close()
	close(closed)
}

func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	a, b, c := three(t)
	for _, n := range []*node{a, b, c} {
		n.Close()
		n.Close()
		if err := n.Broadcast(nil); !errors.Is(err, client.ErrConnectionClosed) {
			t.Errorf("broadcast: %v", err)
		}
		if err := n.Listen(1, n.receive, nil); !errors.Is(err, client.ErrConnectionClosed) {
			t.Errorf("listen: %v", err)
		}
		n.SetPeers(map[string]string{"x": "127.0.0.1:1"})
		n.Repair()
		if n.Stats().Connected {
			t.Error("it is connected")
		}
	}
	await.Until(t, func() bool { return runtime.NumGoroutine() <= before })
}

func TestStartFails(t *testing.T) {
	secure, _ := certificate(t, 1)
	withoutAuthority := secure.Clone()
	withoutAuthority.RootCAs = nil
	used := start(t, "used", 1, nil)
	f := func(name, want string, change func(*Config)) {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			cfg := Config{Cluster: "test", Name: "n", Listen: "127.0.0.1:0"}
			change(&cfg)
			transport, err := Start(cfg)
			if err == nil {
				transport.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %s", err, want)
			}
			await.Until(t, func() bool { return runtime.NumGoroutine() <= before })
		})
	}
	f("no cluster", "cluster name", func(c *Config) { c.Cluster = "" })
	f("cluster of two tokens", "cluster name", func(c *Config) { c.Cluster = "a.b" })
	f("wildcard", "cluster name", func(c *Config) { c.Cluster = "*" })
	f("no address", "listen address", func(c *Config) { c.Listen = "" })
	f("no port", "port", func(c *Config) { c.Listen = "127.0.0.1:http" })
	f("no port to join", "address of a node", func(c *Config) { c.Join = []string{"localhost"} })
	f("no port announced", "address of a node", func(c *Config) { c.Advertise = "localhost" })
	f("all interfaces without TLS", "not on loopback", func(c *Config) { c.Listen = ":0" })
	f("a name without TLS", "not on loopback", func(c *Config) { c.Listen = "host.example:0" })
	f("no authority", "authority", func(c *Config) { c.TLS = withoutAuthority })
	f("name with a space", "spaces", func(c *Config) { c.Name = "a b" })
	f("address in use", "in use", func(c *Config) { c.Listen = used.Addr().String() })
	f("invalid URL", "NATS", func(c *Config) { c.URL = "nats://127.0.0.1:port" })
}
