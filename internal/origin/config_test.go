package origin

import (
	"io"
	"log"
	"strings"
	"testing"
	"time"
)

// quiet returns a logger that discards everything.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestConfigRefused(t *testing.T) {
	f := func(want string, cfg Config) {
		t.Helper()
		if cfg.URL == "" {
			cfg.URL = "http://o"
		}
		cfg.Name = "orders"
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "origin orders: ") {
			t.Errorf("got the error %v, want one with the origin's name and %q", err, want)
		}
	}
	f("scheme", Config{URL: "ftp://host"})
	f("scheme", Config{URL: "host:80"})
	f("no host", Config{URL: "http:///path"})
	f("host, port and path only", Config{URL: "http://user:pw@host"})
	f("host, port and path only", Config{URL: "http://host/?a=b"})
	f("invalid port", Config{URL: "http://host:port"})
	f("ASCII", Config{URL: "http://bücher.example"})
	f("timeouts", Config{Timeout: -time.Second})
	f("attempts", Config{Retry: Retry{Attempts: -1}})
	f("base <= cap", Config{Retry: Retry{Base: time.Second, Cap: time.Millisecond}})
	f("failure rate", Config{Breaker: Breaker{FailureRate: 1.5}})
	f("min <= initial", Config{Concurrency: Concurrency{Min: 10, Initial: 5}})
	f("min <= initial", Config{Concurrency: Concurrency{Initial: 5000}})
}

// TestConfigDefaults checks that a configured limit changes the defaults of the others.
func TestConfigDefaults(t *testing.T) {
	f := func(cfg Concurrency, minimum, initial, maximum int) {
		t.Helper()
		c, err := New(Config{URL: "http://o", Concurrency: cfg})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.cfg.Concurrency; got.Min != minimum || got.Initial != initial || got.Max != maximum {
			t.Errorf("%+v: got %+v, want %d, %d, %d", cfg, got, minimum, initial, maximum)
		}
	}
	f(Concurrency{}, 32, 128, 1024)
	f(Concurrency{Max: 16}, 16, 16, 16)
	f(Concurrency{Min: 200}, 200, 200, 1024)
}

func TestClassifyStatus(t *testing.T) {
	for status, want := range map[int]Class{200: Good, 304: Good, 400: Refused, 429: Throttled, 500: Failed, 502: Failed, 503: Failed} {
		if got := ClassifyStatus(status, nil, nil); got != want {
			t.Errorf("%d: got %s, want %s", status, got, want)
		}
	}
}

// TestAddress checks the dialed address, Host and the name required in the certificate.
func TestAddress(t *testing.T) {
	f := func(url, dialled, server, host, prefix string) {
		t.Helper()
		c, err := New(Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if c.pool.address != dialled || string(c.host) != host || c.prefix != prefix {
			t.Errorf("%s: dials %q, host %q, prefix %q; want %q, %q, %q", url, c.pool.address, c.host, c.prefix, dialled, host, prefix)
		}
		if secure := c.pool.secure; (secure != nil) != (server != "") || secure != nil && secure.ServerName != server {
			t.Errorf("%s: TLS %+v; want for %q", url, secure, server)
		}
	}
	f("http://o", "o:80", "", "o", "")
	f("http://o:80/", "o:80", "", "o", "")
	f("http://o:443/a%2Fb/", "o:443", "", "o:443", "/a%2Fb")
	f("https://O.example", "O.example:443", "O.example", "O.example", "")
	f("https://o:8443/a b", "o:8443", "o", "o:8443", "/a%20b")
	f("https://[::1]", "[::1]:443", "::1", "[::1]", "")
	f("http://[fe80::1%25eth0]:8000", "[fe80::1%eth0]:8000", "", "[fe80::1]:8000", "")
}
