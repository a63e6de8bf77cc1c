package nats

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// node is a transport that keeps the frames it receives and answers requests with its name.
type node struct {
	*Transport
	name     string
	instance uint64

	mu     sync.Mutex
	frames map[string]int // times received
}

// start returns a node of the cluster "test" that listens under the instance.
func start(t *testing.T, name string, instance uint64, change func(*Config)) *node {
	t.Helper()
	cfg := Config{Cluster: "test", Name: name, Listen: "127.0.0.1:0"}
	if change != nil {
		change(&cfg)
	}
	transport, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.Close)
	n := &node{Transport: transport, name: name, frames: map[string]int{}}
	n.listen(t, instance)
	return n
}

// listen makes the node listen under the instance.
func (n *node) listen(t *testing.T, instance uint64) {
	t.Helper()
	n.instance = instance
	err := n.Listen(instance, n.receive, func(_ context.Context, request []byte) []byte {
		return fmt.Appendf(nil, "%s answers %s", n.name, request)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (n *node) receive(frame []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frames[string(frame)]++
}

// received returns how often the node received the frame.
func (n *node) received(frame string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frames[frame]
}

// ask returns the reply to "?" or an error's text. Request and reply may be lost.
func (n *node) ask(t *testing.T, to uint64) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/4)
	defer cancel()
	reply, err := n.Ask(ctx, to, []byte("?"))
	if err != nil {
		return err.Error()
	}
	return string(reply)
}

// deliver sends a frame until it has arrived. A frame may be lost while routes begin or end,
// for example when two nodes connect to each other at once.
func deliver(t *testing.T, send func() error, arrived func() bool) {
	t.Helper()
	await.Until(t, func() bool {
		if err := send(); err != nil {
			t.Fatal(err)
		}
		return arrived()
	})
}

// reaches waits until each node reaches all others.
func reaches(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, from := range nodes {
		for _, to := range nodes {
			if from != to {
				await.Until(t, func() bool { return from.ask(t, to.instance) == to.name+" answers ?" })
			}
		}
	}
}

// joining returns a change of a configuration that joins other nodes.
func joining(nodes ...*node) func(*Config) {
	return func(c *Config) {
		for _, n := range nodes {
			c.Join = append(c.Join, n.Addr().String())
		}
	}
}

// members returns the addresses of nodes by name.
func members(nodes ...*node) map[string]string {
	addresses := map[string]string{}
	for _, n := range nodes {
		addresses[n.name] = n.Addr().String()
	}
	return addresses
}

// three returns three nodes that reach each other. Only the first is in Config.Join of the
// others.
func three(t *testing.T) (a, b, c *node) {
	t.Helper()
	a = start(t, "a", 0xa, nil)
	b = start(t, "b", 0xb, joining(a))
	c = start(t, "c", 0xc, joining(a))
	reaches(t, a, b, c)
	return a, b, c
}

// freeAddress returns an address of loopback that is not in use.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// certificate returns the configuration of a node with a certificate that is its own
// authority, and its pool.
func certificate(t *testing.T, serial int64) (*tls.Config, *x509.CertPool) {
	t.Helper()
	cert, key := certs.SelfSigned(t, serial)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool}, pool
}

// watch returns a log that sends the messages of warnings to c until it is full.
func watch(c chan<- string) *slog.Logger { return slog.New(warnings{c}) }

// warnings is a log's handler that sends messages to a channel.
type warnings struct{ c chan<- string }

func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (w warnings) WithAttrs([]slog.Attr) slog.Handler               { return w }
func (w warnings) WithGroup(string) slog.Handler                    { return w }
func (w warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	select {
	case w.c <- text:
	default:
	}
	return nil
}
