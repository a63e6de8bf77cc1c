package memcached

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/memcached/client"
)

// saslPassword has a space, which is not possible in the text protocol.
const saslPassword = "s3cret pass"

// TestSASLValues stores values with the client libraries that support SASL, on a server that
// requires a login, and serves them. pylibmc is excluded: its wheel includes a libsasl2 that does
// not find Debian's mechanisms.
func TestSASLValues(t *testing.T) {
	some := 0
	for _, w := range writers() {
		if w.profile != "php" && w.profile != "dalli" {
			continue
		}
		some++
		t.Run(w.profile, func(t *testing.T) {
			w.wantServed(t, StartSASL(t, "writer@counts", saslPassword), "protocol: binary", "auth: {username: writer@counts, password_env: MC_PASSWORD}")
		})
	}
	if some != 2 {
		t.Errorf("%d libraries support SASL", some)
	}
}

// TestSASL reads from a server that requires a login, with the right one and with wrong ones.
func TestSASL(t *testing.T) {
	back := startBackend(t, fromFallback)
	f := func(name, user, service, password, want, trouble string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			s := StartSASL(t, user, saslPassword)
			put(t, s)
			config := append([]string{service, "auth: {username: " + user + ", password_env: MC_PASSWORD}", "server_breaker: {failures: 1, retry_every: 100ms}"}, longTimeouts...)
			node := harness.Start(t, harness.Options{Type: "memcached", Origin: Addrs([]*Server{s})[0], Env: []string{"MC_PASSWORD=" + password},
				Service: append(config, "locations:", `  - {path: /v, key: "${arg.k}", fallback: "`+back.url+`"}`)})
			for range 20 {
				if got := mustAsk(t, "GET", node.URL+"/v?k=k"); got.status != http.StatusOK || got.body != want {
					t.Fatalf("got %+v, want %q", got, want)
				}
			}
			lines := 0
			if want == fromFallback {
				lines = 1
			}
			if n := node.Logged(t, "memcached server down"); n != lines || node.Logged(t, trouble) < lines {
				t.Errorf("%d lines of the log report it, want %d with %q", n, lines, trouble)
			}
			if node.Logged(t, password) > 0 {
				t.Error("the password is in the log")
			}
		})
	}
	f("right", "reader@counts", "protocol: binary", saslPassword, "v", "")
	f("the host's realm", "reader", "protocol: binary", saslPassword, "v", "")
	f("wrong password", "reader@counts", "protocol: binary", "an0ther", fromFallback, "refuses: status 0x20")
	f("in text", "reader@counts", "protocol: auto", "an0ther", fromFallback, "takes only protocol: binary")
}

// put stores k in a server with SASL.
func put(t *testing.T, s *Server) {
	t.Helper()
	c, x := newClient(t, client.Config{Protocol: client.Binary, Auth: &client.Auth{User: s.sasl.user, Password: s.sasl.password}}, client.Server{Address: s.Addr})
	if r := c.Store(x, 0, []byte("k"), []byte("v"), 0, time.Minute, client.Set, 0); r != client.Stored {
		t.Fatalf("%s: %s", r, c.State()[0].Trouble)
	}
}

// TestSASLStore keeps a fallback's answers in a server with SASL, through its restart.
func TestSASLStore(t *testing.T) {
	s := StartSASL(t, "reader@counts", saslPassword)
	back := startBackend(t, fromFallback)
	node := harness.Start(t, harness.Options{Type: "memcached", Origin: Addrs([]*Server{s})[0], Env: s.loginEnv(), Service: append(longTimeouts,
		"protocol: binary", "auth: {username: reader@counts, password_env: MC_PASSWORD}", "server_breaker: {failures: 1, retry_every: 50ms}",
		"locations:", `  - {path: /v, key: "${arg.k}", fallback: "`+back.url+`", store: {ttl: 100s}}`)})
	status := func() string {
		got := mustAsk(t, "GET", node.URL+"/v?k=k")
		if got.status != http.StatusOK || got.body != fromFallback {
			t.Fatalf("answered with %+v", got)
		}
		return got.header.Get("Cache-Status")
	}
	hits := func() bool { return strings.Contains(status(), "; hit") }
	Await(t, "the stored answer", hits)
	if held := s.Held(t, "k"); string(held["k"].Value) != fromFallback {
		t.Errorf("memcached holds %+v", held)
	}
	s.Kill()
	Await(t, "a miss", func() bool { return !hits() })
	s.Restart(t)
	Await(t, "the stored answer after a restart", hits)
	if node.Logged(t, "memcached server up again") == 0 {
		t.Error("the log does not report that the server is back")
	}
}
