package client

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// stub stores the empty item of a key whose value a client has to create.
func (f *fake) stub(key string) {
	f.put(key, "")
	f.items[key].ttl = 30
	f.items[key].stale = true
}

func TestStore(t *testing.T) {
	f := func(name string, srv *fake) {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, Config{Protocol: srv.protocol()}, srv.start(t, ""))
			x := NewCall()
			defer x.Release()
			store := func(key, value string, mode Mode, cas uint64, want StoreResult) {
				t.Helper()
				if r := c.Store(x, 0, []byte(key), []byte(value), 7, time.Hour, mode, cas); r != want {
					t.Errorf("mode %d, %s: got %s, want %s", mode, key, r, want)
				}
			}
			is := func(key, want string) {
				t.Helper()
				if r := c.Get(x, 0, []byte(key), GetOptions{}); r != Hit || string(x.Value()) != want || x.Flags() != 7 {
					t.Errorf("%s: got %s %q, flags %d; want %q", key, r, x.Value(), x.Flags(), want)
				}
			}
			store("k", "one", Add, 0, Stored)
			store("k", "two", Add, 0, NotStored)
			is("k", "one")
			store("k", "two\r\nset evil 0 0 1\r\n", Set, 0, Stored)
			is("k", "two\r\nset evil 0 0 1\r\n")
			cas := srv.items["k"].cas
			store("k", "three", CAS, cas+1, Exists)
			store("k", "three", CAS, cas, Stored)
			is("k", "three")
			store("none", "three", CAS, cas, NotFound)
			if srv.binary { // an error in the other protocols
				store("k", "four", CAS, 0, Exists)
			}
			store("k", strings.Repeat("x", largest+1), Set, 0, TooLarge)
			store("huge", strings.Repeat("x", 8<<20+1), Set, 0, TooLarge)
			store("a\r\nset evil 0 0 1\r\nx", "x", Set, 0, StoreBadKey)
			store(strings.Repeat("k", 251), "x", Set, 0, StoreBadKey)
			is("k", "three")
			if r := c.Delete(x, 0, []byte("k")); r != Stored {
				t.Errorf("delete: %s", r)
			}
			if r := c.Delete(x, 0, []byte("k")); r != NotFound {
				t.Errorf("delete again: %s", r)
			}
			if r := c.Delete(x, 0, []byte("k k")); r != StoreBadKey {
				t.Errorf("delete a bad key: %s", r)
			}
			if r := c.Get(x, 0, []byte("k\r\nget"), GetOptions{}); r != BadKey {
				t.Errorf("get a bad key: %s", r)
			}
			if srv.items["evil"] != nil {
				t.Error("a command was injected")
			}
			if s := c.State()[0]; s.Connections != 1 || s.Retries != 0 || s.Trouble != "" {
				t.Errorf("the connection was not kept: %+v", s)
			}
		})
	}
	f("text", &fake{})
	f("meta", &fake{meta: true})
	f("binary", &fake{binary: true})
}

// TestTooLargeIsNotSent checks that a value is not sent if it exceeds the server's setting.
func TestTooLargeIsNotSent(t *testing.T) {
	t.Run("meta", func(t *testing.T) { unsent(t, &fake{meta: true}) })
	t.Run("binary", func(t *testing.T) { unsent(t, &fake{binary: true}) })
}

func unsent(t *testing.T, srv *fake) {
	c := newClient(t, Config{Protocol: srv.protocol()}, srv.start(t, ""))
	x := NewCall()
	defer x.Release()
	store := func(size int, want StoreResult) {
		t.Helper()
		before := srv.commands.Load()
		if r := c.Store(x, 0, []byte("key"), make([]byte, size), 0, 0, Set, 0); r != want {
			t.Errorf("%d bytes: got %s, want %s", size, r, want)
		}
		if sent := srv.commands.Load() > before; sent != (want == Stored) {
			t.Errorf("%d bytes: sent %t, want %t", size, sent, want == Stored)
		}
	}
	store(1, Stored)
	store(largest, Stored)
	store(1<<20-itemHead-3+1, TooLarge)
}

func TestRefresh(t *testing.T) {
	srv := &fake{meta: true}
	c := newClient(t, Config{}, srv.start(t, ""))
	x := NewCall()
	defer x.Release()
	get := func(name string, want Result, ttl time.Duration, won, stale, waiting bool) {
		t.Helper()
		r := c.Get(x, 0, []byte("k"), GetOptions{Refresh: 30 * time.Second})
		d, known := x.TTL()
		if r != want || d != ttl || !known || x.Won() != won || x.Stale() != stale || x.Waiting() != waiting {
			t.Errorf("%s: %s, ttl %s (known %t), won %t, stale %t, waiting %t", name, r, d, known, x.Won(), x.Stale(), x.Waiting())
		}
	}
	mark := func(cas uint64, want StoreResult) {
		t.Helper()
		if r := c.MarkStale(x, 0, []byte("k"), time.Minute, cas); r != want {
			t.Errorf("mark: got %s, want %s", r, want)
		}
	}
	mark(0, NotFound)
	srv.put("k", "one")
	get("no expiry", Hit, -1, false, false, false)
	srv.items["k"].ttl = 20
	get("the first get in the last 30s", Hit, 20*time.Second, true, false, false)
	cas, known := x.CAS()
	if !known {
		t.Error("the CAS number is not known")
	}
	get("the second get", Hit, 20*time.Second, false, false, true)
	mark(cas+1, Exists)
	mark(cas, Stored)
	get("the first get after a failed refresh", Hit, time.Minute, true, true, false)
	get("the second get", Hit, time.Minute, false, true, true)
	srv.stub("k")
	get("a stub that this client has to fill", Miss, 30*time.Second, true, true, false)
	get("a stub that another client fills", Miss, 30*time.Second, false, true, true)

	text := &fake{}
	text.put("k", "one")
	c = newClient(t, Config{}, text.start(t, ""))
	if r := c.Get(x, 0, []byte("k"), GetOptions{Refresh: time.Minute}); r != Hit {
		t.Errorf("text: %s", r)
	}
	if _, known := x.TTL(); known || x.Won() {
		t.Error("the text protocol returned a TTL")
	}
	mark(0, Unsupported)

	plain := &fake{binary: true}
	plain.put("k", "one")
	c = newClient(t, Config{Protocol: Binary}, plain.start(t, ""))
	if mark(0, Unsupported); plain.accepted.Load() > 0 {
		t.Error("a connection was made for an unsupported command")
	}
	if r := c.Get(x, 0, []byte("k"), GetOptions{Refresh: time.Minute}); r != Hit {
		t.Errorf("binary: %s", r)
	}
	if n, known := x.CAS(); n != 1 || !known {
		t.Errorf("the CAS number is %d, known %t", n, known)
	}
	if _, known := x.TTL(); known || x.Won() {
		t.Error("the binary protocol returned a TTL")
	}
	mark(0, Unsupported)
}

// TestMarkStaleOnText checks a server that has supported the meta protocol and no longer does.
func TestMarkStaleOnText(t *testing.T) {
	scripts := []string{"> version\\r\\n\n< VERSION 1\\r\\n"}
	play(t, "once meta", Config{Protocol: Text}, scripts, func(t *testing.T, c *Client, s *scripted) {
		c.servers[0].protocol.Store(uint32(Meta))
		x := NewCall()
		defer x.Release()
		if r := c.MarkStale(x, 0, []byte("k"), time.Minute, 0); r != Unsupported {
			t.Error(r)
		}
	})
}

func TestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(ttl time.Duration, want int64) {
			t.Helper()
			if got := expiry(ttl); got != want {
				t.Errorf("%s: got %d, want %d", ttl, got, want)
			}
		}
		f(0, 0)
		f(-time.Hour, 0)
		f(time.Nanosecond, 1)
		f(time.Minute, 60)
		f(time.Minute+1, 61)
		f(30*24*time.Hour, 2592000)
		f(30*24*time.Hour+time.Second, time.Now().Unix()+2592001)
	})
}

// TestTransports checks a Unix socket and TLS.
func TestTransports(t *testing.T) {
	wantGet := func(name string, server Server) {
		t.Helper()
		c := newClient(t, Config{Servers: []Server{server}})
		if r, v := get(c, "k"); r != Hit || v != "one" {
			t.Errorf("%s: got %s %q, trouble %q", name, r, v, c.State()[0].Trouble)
		}
	}
	srv := &fake{meta: true}
	srv.put("k", "one")
	wantGet("Unix", Server{Address: srv.start(t, "unix:"+filepath.Join(t.TempDir(), "s"))})

	certificate, key := certs.SelfSigned(t, 1)
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	srv = &fake{meta: true, tls: &tls.Config{Certificates: []tls.Certificate{pair}}}
	srv.put("k", "one")
	address := srv.start(t, "")
	wantGet("TLS", Server{Address: address, TLS: &tls.Config{RootCAs: roots}})
	_, port, _ := net.SplitHostPort(address)
	wantGet("TLS by name", Server{Address: "127.0.0.1:" + port, TLS: &tls.Config{RootCAs: roots, ServerName: "localhost"}})
	c := newClient(t, Config{Servers: []Server{{Address: address, TLS: &tls.Config{RootCAs: x509.NewCertPool()}}}})
	if r, _ := get(c, "k"); r != Down || !strings.Contains(c.State()[0].Trouble, "certificate") {
		t.Errorf("TLS with an unknown authority: %s: %s", r, c.State()[0].Trouble)
	}
}

func TestLogin(t *testing.T) {
	srv := &fake{meta: true, auth: "ann secret"}
	srv.put("k", "one")
	address := srv.start(t, "")
	f := func(p Protocol, auth *Auth, want Result, trouble string) {
		t.Helper()
		var log bytes.Buffer
		c := newClient(t, Config{Protocol: p, Auth: auth, Breaker: Breaker{Failures: 1, RetryEvery: time.Hour},
			Log: slog.New(slog.NewTextHandler(&log, nil))}, address)
		if r, _ := get(c, "k"); r != want || !strings.Contains(c.State()[0].Trouble, trouble) {
			t.Errorf("%v: got %s, trouble %q", auth, r, c.State()[0].Trouble)
		}
		c.Close()
		if !strings.Contains(log.String(), trouble) || strings.Contains(log.String(), "0ther") || (trouble == "") != (log.Len() == 0) {
			t.Errorf("%v: the log is %q", auth, log.String())
		}
	}
	f(Auto, &Auth{"ann", "secret"}, Hit, "")
	f(Auto, &Auth{"ann", "0ther"}, Down, "authentication failure")
	f(Auto, nil, Down, "unauthenticated")

	srv = &fake{binary: true, auth: "ann secret"}
	srv.put("k", "one")
	address = srv.start(t, "")
	f(Binary, &Auth{"ann", "secret"}, Hit, "")
	f(Binary, &Auth{"ann", "0ther"}, Down, "the login in the binary protocol: memcached: the server refuses: status 0x20")
	f(Binary, nil, Down, "the first question in the binary protocol: memcached: the server refuses: status 0x20")
	f(Auto, &Auth{"ann", "secret-and-long"}, Down, "protocol: binary")
	f(Text, &Auth{"ann", "secret-and-long"}, Down, "protocol: binary")
}

func TestConfig(t *testing.T) {
	good := []Server{{Address: "a:11211"}, {Address: "[::1]:1"}, {Address: "unix:/tmp/s"}}
	if c, err := New(Config{Servers: good}); err != nil || len(c.State()) != 3 || c.State()[2].Address != "unix:/tmp/s" {
		t.Error(err)
	}
	f := func(cfg Config, want string) {
		t.Helper()
		if cfg.Servers == nil {
			cfg.Servers = good
		}
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, want)
		}
	}
	f(Config{Servers: []Server{}}, "there must be a server")
	f(Config{Servers: []Server{{Address: "a"}}}, "missing port")
	f(Config{Servers: []Server{{Address: "a:"}}}, "names no port")
	f(Config{Servers: []Server{{Address: "unix:"}}}, "unix:/path")
	f(Config{Connections: -1}, "connections")
	f(Config{Timeout: -1}, "timeouts")
	f(Config{ConnectTimeout: -1}, "timeouts")
	f(Config{FirstByteTimeout: -1}, "timeouts")
	f(Config{Breaker: Breaker{Failures: -1}}, "breaker")
	f(Config{Breaker: Breaker{RetryEvery: -1}}, "breaker")
	f(Config{MaxValue: -1}, "largest value")
	f(Config{MaxValue: 1<<30 + 1}, "largest value")
	f(Config{Auth: &Auth{"a b", "c"}}, "spaces")
	f(Config{Auth: &Auth{"a", "b\r\n"}}, "spaces")
	f(Config{Auth: &Auth{"a", ""}}, "empty")
	f(Config{Auth: &Auth{"a", ""}, Protocol: Binary}, "empty")
	f(Config{Auth: &Auth{"a\x00", "b"}, Protocol: Binary}, "NUL")
	if _, err := New(Config{Servers: good, Auth: &Auth{"a b", "c\td"}, Protocol: Binary}); err != nil {
		t.Error(err)
	}
}
