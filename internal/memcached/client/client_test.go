package client

import (
	"strings"
	"testing"
	"time"
)

// newClient returns a client of the servers at the addresses, with long timeouts.
func newClient(t testing.TB, cfg Config, addresses ...string) *Client {
	t.Helper()
	for _, a := range addresses {
		cfg.Servers = append(cfg.Servers, Server{Address: a})
	}
	for _, d := range []*time.Duration{&cfg.ConnectTimeout, &cfg.FirstByteTimeout, &cfg.Timeout} {
		if *d == 0 {
			*d = time.Minute
		}
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestGet(t *testing.T) {
	f := func(name string, srv *fake) {
		t.Run(name, func(t *testing.T) {
			srv.put("a", "one")
			srv.put("empty", "")
			srv.put("large", strings.Repeat("large ", 50000))
			c := newClient(t, Config{Protocol: srv.protocol(), Auth: srv.login()}, srv.start(t, ""))
			x := NewCall()
			defer x.Release()
			for key, want := range map[string]string{"a": "one", "empty": "", "large": strings.Repeat("large ", 50000)} {
				if r := c.Get(x, 0, []byte(key), GetOptions{}); r != Hit || string(x.Value()) != want {
					t.Errorf("get %s: %s, %d bytes", key, r, len(x.Value()))
				}
			}
			if r := c.Get(x, 0, []byte("none"), GetOptions{}); r != Miss || len(x.Value()) > 0 {
				t.Errorf("get none: %s, %q", r, x.Value())
			}
			if c.Meta(0) != srv.meta {
				t.Errorf("the client uses the meta protocol: got %t, want %t", c.Meta(0), srv.meta)
			}
		})
	}
	f("text", &fake{})
	f("meta", &fake{meta: true})
	f("binary", &fake{binary: true})
	f("binary with a login", &fake{binary: true, auth: "ann secret"})
	f("a proxy that hangs up", &fake{hangUp: true})
	f("short reads and writes", &fake{meta: true, chaos: &chaos{pieces: true}})
}
