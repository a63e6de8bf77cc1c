package memcached

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/client"
)

// newClient returns a client with long timeouts, so that only the server's answers matter.
func newClient(t *testing.T, cfg client.Config, server client.Server) (*client.Client, *client.Call) {
	t.Helper()
	cfg.Servers = []client.Server{server}
	cfg.ConnectTimeout, cfg.FirstByteTimeout, cfg.Timeout = time.Minute, time.Minute, time.Minute
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := client.NewCall()
	t.Cleanup(func() {
		x.Release()
		c.Close()
	})
	return c, x
}

// TestClientProtocols stores, reads and deletes values with each protocol.
func TestClientProtocols(t *testing.T) {
	for _, p := range []client.Protocol{client.Auto, client.Text, client.Meta, client.Binary} {
		t.Run(p.String(), func(t *testing.T) {
			c, x := newClient(t, client.Config{Protocol: p}, client.Server{Address: Start(t).Addr})
			store := func(key, value string, mode client.Mode, cas uint64, want client.StoreResult) {
				t.Helper()
				if r := c.Store(x, 0, []byte(key), []byte(value), 5, time.Minute, mode, cas); r != want {
					t.Errorf("store %.20s: %s, want %s", key, r, want)
				}
			}
			wantValue := func(key, want string, result client.Result) {
				t.Helper()
				if r := c.Get(x, 0, []byte(key), client.GetOptions{}); r != result || string(x.Value()) != want || r == client.Hit && x.Flags() != 5 {
					t.Errorf("get %.20s: %s, %d bytes %.40q, flags %d", key, r, len(x.Value()), x.Value(), x.Flags())
				}
			}
			long := strings.Repeat("k", 250)
			wantValue("none", "", client.Miss)
			store("k", "v\r\nEND\r\n", client.Add, 0, client.Stored)
			store("k", "x", client.Add, 0, client.NotStored)
			wantValue("k", "v\r\nEND\r\n", client.Hit)
			store(long, "", client.Set, 0, client.Stored)
			wantValue(long, "", client.Hit)
			store("\xff\x80", "bytes", client.Set, 0, client.Stored)
			wantValue("\xff\x80", "bytes", client.Hit)
			large := strings.Repeat("large ", 170_000)
			store("large", large, client.Set, 0, client.Stored)
			wantValue("large", large, client.Hit)
			store("larger", strings.Repeat("x", 1<<20), client.Set, 0, client.TooLarge)
			store("none", "x", client.CAS, 1, client.NotFound)
			store("k", "x", client.CAS, 1<<63, client.Exists)
			if r := c.Delete(x, 0, []byte("k")); r != client.Stored {
				t.Errorf("delete: %s", r)
			}
			if r := c.Delete(x, 0, []byte("k")); r != client.NotFound {
				t.Errorf("delete again: %s", r)
			}
			wantValue("k", "", client.Miss)
			if s := c.State()[0]; s.Connections != 1 || s.Trouble != "" || s.Retries != 0 || c.Meta(0) != (p == client.Auto || p == client.Meta) {
				t.Errorf("%+v, meta %t", s, c.Meta(0))
			}
		})
	}
}

// TestClientSizes checks that the item size limit that the server reports is exact.
func TestClientSizes(t *testing.T) {
	f := func(limit int, arguments ...string) {
		t.Helper()
		s := Start(t, arguments...)
		for _, p := range []client.Protocol{client.Text, client.Meta, client.Binary} { // of text the limit is not known
			c, x := newClient(t, client.Config{Protocol: p}, client.Server{Address: s.Addr})
			c.Get(x, 0, []byte("key"), client.GetOptions{})
			if r := c.Store(x, 0, []byte("key"), make([]byte, limit), 7, 0, client.Set, 0); r != client.Stored {
				t.Errorf("%s: %d bytes: %s", p, limit, r)
			}
			if r := c.Store(x, 0, []byte("key"), make([]byte, limit+1), 7, 0, client.Set, 0); r != client.TooLarge {
				t.Errorf("%s: %d bytes: %s", p, limit+1, r)
			}
			if r := c.Store(x, 0, []byte("key"), []byte("small"), 7, 0, client.Set, 0); r != client.Stored {
				t.Errorf("%s: a read after the refused value: %s", p, r)
			}
		}
	}
	f(1_048_510)
	f(4*1_048_576-66, "-I", "4m")
}

// TestClientRefresh has two clients use one stale item: only one of them refreshes it.
func TestClientRefresh(t *testing.T) {
	s := Start(t)
	a, x := newClient(t, client.Config{}, client.Server{Address: s.Addr})
	b, y := newClient(t, client.Config{}, client.Server{Address: s.Addr})
	key := []byte("k")
	get := func(name string, c *client.Client, x *client.Call, result client.Result, won, stale, waiting bool) {
		t.Helper()
		r := c.Get(x, 0, key, client.GetOptions{Refresh: 100 * time.Second})
		if r != result || x.Won() != won || x.Stale() != stale || x.Waiting() != waiting {
			t.Errorf("%s: %s, won %t, stale %t, waiting %t", name, r, x.Won(), x.Stale(), x.Waiting())
		}
	}
	store := func(value string, mode client.Mode, cas uint64, want client.StoreResult) {
		t.Helper()
		if r := a.Store(x, 0, key, []byte(value), 0, 90*time.Second, mode, cas); r != want {
			t.Errorf("store %s: %s, want %s", value, r, want)
		}
	}
	store("one", client.Add, 0, client.Stored)
	get("the first reader", a, x, client.Hit, true, false, false)
	if ttl, known := x.TTL(); !known || ttl > 90*time.Second || ttl < time.Second {
		t.Errorf("got %s of lifetime, known %t", ttl, known)
	}
	get("the second reader", b, y, client.Hit, false, false, true)
	cas, _ := x.CAS()
	if r := a.MarkStale(x, 0, key, 80*time.Second, cas+1); r != client.Exists {
		t.Errorf("mark with another CAS: %s", r)
	}
	if r := a.MarkStale(x, 0, key, 80*time.Second, cas); r != client.Stored {
		t.Errorf("mark: %s", r)
	}
	if r := a.MarkStale(x, 0, []byte("none"), time.Minute, 0); r != client.NotFound {
		t.Errorf("mark nothing: %s", r)
	}
	get("the first one after the refresh has failed", b, y, client.Hit, true, true, false)
	get("the second one", a, x, client.Hit, false, true, true)
	cas, _ = y.CAS()
	store("two", client.CAS, cas+1, client.Exists)
	store("two", client.CAS, cas, client.Stored)
	get("after a refresh, the first one again", a, x, client.Hit, true, false, false)
	if string(x.Value()) != "two" {
		t.Errorf("the value is %q", x.Value())
	}

	key = []byte("stub")
	dial, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer dial.Close()
	reply := make([]byte, 100)
	if _, err := dial.Write([]byte("mg stub v t N30\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := dial.Read(reply); err != nil || !bytes.HasPrefix(reply[:n], []byte("VA 0 ")) {
		t.Fatalf("%q, %v", reply[:n], err)
	}
	get("a place that another client keeps", a, x, client.Miss, false, false, true)
}

// TestClientLogin logs in, and checks the reported reason if the server refuses that.
func TestClientLogin(t *testing.T) {
	s := StartAuth(t, "ann", "secret")
	f := func(auth *client.Auth, want client.Result, trouble string) {
		t.Helper()
		c, x := newClient(t, client.Config{Auth: auth}, client.Server{Address: s.Addr})
		if r := c.Get(x, 0, []byte("k"), client.GetOptions{}); r != want || !strings.Contains(c.State()[0].Trouble, trouble) {
			t.Errorf("%v: %s: %s", auth, r, c.State()[0].Trouble)
		}
	}
	f(&client.Auth{User: "ann", Password: "secret"}, client.Miss, "")
	f(&client.Auth{User: "ann", Password: "other"}, client.Down, "authentication failure")
	f(nil, client.Down, "unauthenticated")
}

// TestClientProxy reads through twemproxy, which closes the connection on unknown commands.
func TestClientProxy(t *testing.T) {
	f := func(p client.Protocol) {
		t.Helper()
		c, x := newClient(t, client.Config{Protocol: p}, client.Server{Address: StartProxy(t, StartMany(t, 2)).Addr})
		for _, key := range []string{"a", "b", "c"} {
			if r := c.Store(x, 0, []byte(key), []byte("value of "+key), 3, time.Minute, client.Set, 0); r != client.Stored {
				t.Errorf("%s: store %s: %s", p, key, r)
			}
			if r := c.Get(x, 0, []byte(key), client.GetOptions{}); r != client.Hit || string(x.Value()) != "value of "+key || x.Flags() != 3 {
				t.Errorf("%s: get %s: %s %q", p, key, r, x.Value())
			}
		}
		if r := c.Get(x, 0, []byte("none"), client.GetOptions{}); r != client.Miss {
			t.Errorf("%s: get none: %s", p, r)
		}
		if s := c.State()[0]; s.Protocol != "text" || s.Connections != 1 || s.Trouble != "" {
			t.Errorf("%s: %+v", p, s)
		}
		readMany(t, c)
	}
	f(client.Auto)
	f(client.Text)
}

// readMany reads many keys at once, which a proxy fetches from several servers.
func readMany(t *testing.T, c *client.Client) {
	t.Helper()
	var wg sync.WaitGroup
	for range 20 {
		for _, key := range []string{"a", "b", "c", "none"} {
			wg.Go(func() {
				x := client.NewCall()
				defer x.Release()
				r := c.Get(x, 0, []byte(key), client.GetOptions{})
				if key == "none" && r != client.Miss || key != "none" && (r != client.Hit || string(x.Value()) != "value of "+key) {
					t.Errorf("%s: %s %q", key, r, x.Value())
				}
			})
		}
	}
	wg.Wait()
}
