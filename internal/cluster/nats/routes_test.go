package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	client "github.com/nats-io/nats.go"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// TestRestart ends a node and starts it again at its address.
func TestRestart(t *testing.T) {
	f := func(name string, pick func(a, b, c *node) (n, other, third *node), change func(n, other *node)) {
		t.Run(name, func(t *testing.T) {
			n, b, c := pick(three(t))
			address := n.Addr().String()
			n.Close()
			for _, o := range []*node{b, c} {
				await.Until(t, func() bool { return o.Stats().Peers == 1 })
				await.Until(t, func() bool { return o.ask(t, n.instance) == client.ErrNoResponders.Error() })
			}
			reaches(t, b, c)
			n = start(t, n.name, n.instance+0x100, func(c *Config) { c.Listen = address })
			change(n, b)
			reaches(t, n, b, c)
		})
	}
	first := func(a, b, c *node) (n, other, third *node) { return a, b, c }
	last := func(a, b, c *node) (n, other, third *node) { return c, a, b }
	f("joined by others", first, func(n, other *node) {})
	f("joins one", last, func(n, other *node) { n.SetPeers(members(other)) })
	f("joined by one", last, func(n, other *node) { other.SetPeers(members(n)) })
}

// TestStartAlone starts a node before the one that it joins.
func TestStartAlone(t *testing.T) {
	address := freeAddress(t)
	a := start(t, "a", 1, func(c *Config) { c.Join = []string{address} })
	if s := a.Stats(); !s.Connected || s.Peers != 0 {
		t.Errorf("%+v", s)
	}
	b := start(t, "b", 2, func(c *Config) { c.Listen = address })
	reaches(t, a, b)
}

// TestAnnounced announces an address to a node before it can be reached.
func TestAnnounced(t *testing.T) {
	address := freeAddress(t)
	a := start(t, "a", 1, nil)
	failed := make(chan string, 100)
	b := start(t, "b", 2, func(c *Config) {
		joining(a)(c)
		c.Log = watch(failed)
	})
	reaches(t, a, b)
	c := start(t, "c", 3, func(c *Config) {
		joining(a)(c)
		c.Advertise = address
	})
	reaches(t, a, c)
	<-failed
	startProxy(t, address, c.Addr().String())
	reaches(t, a, b, c)
}

// TestSetPeers connects nodes that do not join each other, and disconnects them again.
func TestSetPeers(t *testing.T) {
	a := start(t, "a", 1, nil)
	b := start(t, "b", 2, nil)
	c := start(t, "c", 3, joining(a))
	reaches(t, a, c)
	a.SetPeers(members(a, b))
	reaches(t, a, b, c)
	a.SetPeers(members(a, b, c))
	reaches(t, a, b, c)
	for _, n := range []*node{a, b, c} {
		if s := n.Stats(); s.Reconnects != 0 || !s.Connected || s.Peers != 2 {
			t.Errorf("%s: %+v", n.name, s)
		}
	}
	if got, want := a.server.tried, []string{b.Addr().String(), c.Addr().String()}; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("tried %v, want %v", got, want)
	}
}

// TestOwnAddress makes a node that listens on all interfaces connect to itself.
func TestOwnAddress(t *testing.T) {
	secure, _ := certificate(t, 1)
	a := start(t, "a", 1, func(c *Config) {
		c.TLS = secure
		c.Listen = "0.0.0.0:0"
	})
	_, port, err := net.SplitHostPort(a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a.SetPeers(map[string]string{"a": "127.0.0.1:" + port, "alias": "localhost:" + port})
	b := start(t, "b", 2, func(c *Config) {
		c.TLS = secure
		c.Join = []string{"127.0.0.1:" + port}
	})
	reaches(t, a, b)
	await.Until(t, func() bool { return a.Stats().Peers == 1 && b.Stats().Peers == 1 })
	deliver(t, func() error { return a.Broadcast([]byte("frame")) }, func() bool { return b.received("frame") > 0 })
	if a.received("frame") != 0 {
		t.Error("a received its own broadcast")
	}
}

// TestAlias reaches a node at two addresses, of which either may be removed.
func TestAlias(t *testing.T) {
	a := start(t, "a", 1, nil)
	b := start(t, "b", 2, nil)
	_, port, err := net.SplitHostPort(a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a.SetPeers(members(b))
	name, ip := "localhost:"+port, a.Addr().String()
	for _, addresses := range []map[string]string{{"a": name}, {"a": name, "alias": ip}, {"a": ip}, {"a": name}, {"a": ip, "alias": name}, {"a": name}} {
		b.SetPeers(addresses)
		reaches(t, a, b)
	}
	await.Until(t, func() bool { return a.Stats().Peers == 1 && b.Stats().Peers == 1 })
}

// TestNames joins a name whose addresses change.
func TestNames(t *testing.T) {
	a := start(t, "a", 1, nil)
	_, port, err := net.SplitHostPort(a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var result atomic.Pointer[[]string]
	lookup := func(_ context.Context, host string) ([]string, error) {
		if host != "nodes.invalid" {
			return nil, errors.New("another name: " + host)
		}
		if r := result.Load(); r != nil {
			return *r, nil
		}
		return nil, errors.New("no such name")
	}
	name := "nodes.invalid:" + port
	b := start(t, "b", 2, func(c *Config) {
		c.Join = []string{name, "127.0.0.3:1"}
		c.lookup = lookup
	})
	tried := func() []string {
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		return b.server.tried
	}
	f := func(answer *[]string, want ...string) {
		t.Helper()
		result.Store(answer)
		b.server.resolveOnce(t.Context())
		if got := tried(); !slices.Equal(got, want) {
			t.Errorf("tried %v, want %v", got, want)
		}
	}
	f(nil, "127.0.0.3:1", name)
	f(&[]string{"127.0.0.2"}, "127.0.0.3:1", name) // the server resolves it
	f(&[]string{"127.0.0.1", "127.0.0.2"}, "127.0.0.1:"+port, "127.0.0.2:"+port, "127.0.0.3:1", name)
	f(nil, "127.0.0.1:"+port, "127.0.0.2:"+port, "127.0.0.3:1", name)
	reaches(t, a, b)
	f(&[]string{"127.0.0.1", "127.0.0.4"}, "127.0.0.1:"+port, "127.0.0.3:1", "127.0.0.4:"+port, name)
	reaches(t, a, b)
	f(&[]string{}, "127.0.0.3:1", name)
}

func TestTLS(t *testing.T) {
	secure, pool := certificate(t, 1)
	other, _ := certificate(t, 2)
	without := &tls.Config{RootCAs: pool}
	stolen := other.Clone() // it trusts the cluster's authority, and has a certificate of another one
	stolen.RootCAs = pool

	f := func(name string, config *tls.Config, accepted bool) {
		t.Run(name, func(t *testing.T) {
			refused := make(chan string, 100)
			a := start(t, "a", 0xa, func(c *Config) {
				c.TLS = secure
				c.Log = watch(refused)
			})
			b := start(t, "b", 0xb, func(c *Config) {
				joining(a)(c)
				c.TLS = config
			})
			if accepted {
				reaches(t, a, b)
				return
			}
			if got := <-refused; !strings.Contains(got, "TLS route handshake error") {
				t.Errorf("%s", got)
			}
			for _, n := range []*node{a, b} {
				if s := n.Stats(); s.Peers != 0 {
					t.Errorf("%s: %+v", n.name, s)
				}
			}
			if got := b.ask(t, a.instance); got != client.ErrNoResponders.Error() {
				t.Errorf("reply %q", got)
			}
		})
	}
	f("same authority", secure, true)
	t.Run("name of several nodes", func(t *testing.T) {
		a := start(t, "a", 0xa, func(c *Config) {
			c.TLS = secure
			c.Listen = "127.0.0.2:0" // the certificate is valid for localhost and 127.0.0.1
		})
		b := start(t, "b", 0xb, func(c *Config) {
			_, port, _ := net.SplitHostPort(a.Addr().String())
			c.TLS = secure
			c.Join = []string{"localhost:" + port}
			c.lookup = func(context.Context, string) ([]string, error) { return []string{"127.0.0.2", "127.0.0.3"}, nil }
		})
		reaches(t, a, b)
	})
	f("no TLS", nil, false)
	f("no certificate", without, false)
	f("another authority", other, false)
	f("certificate of another authority", stolen, false)
}

// TestClientsRefused connects to the listener for clients.
func TestClientsRefused(t *testing.T) {
	a := start(t, "a", 1, nil)
	for _, option := range []client.Option{client.Name("none"), client.UserInfo("user", "password"), client.Token("token")} {
		c, err := client.Connect("nats://"+a.server.Server.Addr().String(), option)
		if !errors.Is(err, client.ErrAuthorization) {
			t.Errorf("%v", err)
		}
		if err == nil {
			c.Close()
		}
	}
	if c, err := client.Connect("nats://" + a.Addr().String()); err == nil {
		c.Close()
		t.Error("a client connected to the listener for routes")
	}
}

// TestOtherCluster connects nodes of two clusters.
func TestOtherCluster(t *testing.T) {
	a := start(t, "a", 1, nil)
	refused := make(chan string, 100)
	b := start(t, "b", 2, func(c *Config) {
		joining(a)(c)
		c.Cluster = "other"
		c.Log = watch(refused)
	})
	await.Until(t, func() bool { return len(refused) > 0 })
	if s := b.Stats(); s.Peers != 0 {
		t.Errorf("%+v", s)
	}
}
