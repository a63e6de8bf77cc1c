package cli

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/memcached"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/ring"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/testutil/certs"
	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

const values1 = `
admin: {listen: 127.0.0.1:0}
services:
  counts:
    type: memcached
    listen: 127.0.0.1:0
    servers: ["SERVER"]
    namespace: "testapp::"
    timeout: 1m
    first_byte_timeout: 1m
    locations:
      - {path: /count, key: "${arg.user_id}::${arg.entry_id}", content_type: text/javascript}
`

// A service of type memcached sends requests to its servers, and to others after a reload.
func TestMemcachedService(t *testing.T) {
	one, two := memcachedtest.Start(t, true), memcachedtest.Start(t, false)
	one.Set("testapp::100::7", "one", 0, 0)
	two.Set("testapp::100::7", "two", 0, 0)
	at := func(m *memcachedtest.Server) string { return strings.ReplaceAll(values1, "SERVER", m.Address()) }
	r := run(t, at(one))
	wantAnswer := func(want string) {
		t.Helper()
		if got := r.fetch("counts", "/count?user_id=100&entry_id=7"); got != want {
			t.Errorf("got an answer of %q, want %q", got, want)
		}
	}
	wantAnswer("one")
	wantRing := func(key, want string) {
		t.Helper()
		if page := r.page("/api/v1/ring?service=counts&key=" + key); !strings.Contains(page, want) {
			t.Errorf("the ring prints for %s\n%s, not %s", key, page, want)
		}
	}
	wantRing("100::7", `"server": "`+one.Address()+`"`)
	wantRing("100::7", `"sent": "testapp::100::7"`)
	wantRing("a+b", `"trouble": "bad-key"`)
	if page := r.page("/api/v1/report"); !strings.Contains(page, "counts   memcached") || !strings.Contains(page, one.Address()) {
		t.Errorf("the report is\n%s", page)
	}
	r.mustReload(at(two))
	wantAnswer("two")
	wantRing("100::7", `"server": "`+two.Address()+`"`)
	if err := r.reload(at(one) + "    timeout: 1ms\n"); err == nil {
		t.Error("an invalid reload was accepted")
	}
	wantAnswer("two")
	r.mustReload(at(two) + "    proxy_protocol: true\n")
	if page := r.page("/api/v1/report"); !strings.Contains(page, "waits for a restart: services.counts.proxy_protocol") {
		t.Errorf("the report does not mention the restart:\n%s", page)
	}
	args := []string{"purge", "--admin", "http://" + r.AdminAddr().String(), "--service", "counts", "--key", "100::7"}
	var out, errs strings.Builder
	code := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv})
	if want := "counts: dropped key testapp::100::7, also from " + two.Address() + "\n"; code != codeOK || out.String() != want {
		t.Errorf("purge: %d %s%s; want %s", code, &out, &errs, want)
	}
	if _, there := two.Item("testapp::100::7"); there {
		t.Error("the purged value is still in memcached")
	}
}

// TestEveryProtocolIsKnown compares the protocols that the file accepts with the client's.
func TestEveryProtocolIsKnown(t *testing.T) {
	field, _ := reflect.TypeFor[config.Memcached]().FieldByName("Protocol")
	names := strings.Split(field.Tag.Get("enum"), "|")
	for _, name := range names {
		if p, known := protocols[name]; !known || p.String() != name {
			t.Errorf("protocol %s: got %s, known %t", name, p, known)
		}
	}
	if len(protocols) != len(names) {
		t.Errorf("the file accepts %v, want %v", names, protocols)
	}
	if _, err := clientConfig(nil, &config.Memcached{Protocol: "other"}); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("an unknown protocol: got error %v", err)
	}
}

// TestMemcachedConfig checks the effect of the file's keys.
func TestMemcachedConfig(t *testing.T) {
	text := `
services:
  counts:
    type: memcached
    listen: 127.0.0.1:0
    servers: ["a:1", {address: "b:2", weight: 2, label: "c:3"}, {address: "unix:/m.sock"}]
    distribution: {name: cmf-ketama, points: 150}
    namespace: "n:"
    key_escape: nginx-upper
    long_keys: hash
    values: cmf
    protocol: meta
    connections: 2
    connect_timeout: 3ms
    first_byte_timeout: 4ms
    timeout: 5ms
    server_breaker: {failures: 6, retry_every: 7s}
    max_value: 8MiB
    auth: {username: kasoku, password_env: MEMCACHED_PASSWORD}
    fallback: "http://f:1"
    backend: {balance: p2c_ewma, host: origin, first_byte_timeout: 9s, stall_timeout: 10s, connect_timeout: 11s, retry_statuses: [502]}
    forwarded: {fields: both}
    max_object: 1MiB
    locations:
      - path: /a/{id}
        key: "${path.id}"
        key_decode: decoded
        content_type: application/json
        headers: {X-A: b}
        etag: false
        cache_control: max-age=5
        near_ttl: 12s
        negative_ttl: 13s
        public: true
        store: {ttl: 14s, stale: 15s, mode: set, max_size: 16KiB}
      - {path: /b, key: b, fallback: none, cache_control: none}
      - {path: /c, key: c, fallback: ["http://f:2", {url: "http://f:3", drain: true}], cache_control: ttl}
      - {path: /d, key: d, fallback: "http://f:1/"}
`
	c, err := config.Parse("k.yaml", []byte(text), func(string) (string, bool) { return "s3cret", true })
	if err != nil {
		t.Fatal(err)
	}
	got, err := memcachedConfig(c, &c.Services[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Fallbacks) != 2 {
		t.Fatalf("got %d fallbacks", len(got.Fallbacks))
	}
	h := got.Fallbacks[0]
	if g := h.Group; g.Algorithm != "p2c_ewma" || g.Transport.ConnectTimeout != 11*time.Second || g.Transport.HeadTimeout != 9*time.Second ||
		g.Transport.StallTimeout != 10*time.Second || !reflect.DeepEqual(g.Retry.Statuses, []int{502}) || g.Members[0].URL != "http://f:1" {
		t.Errorf("%+v", g)
	}
	if !h.OriginHost || h.MaxObject != 1<<20 || !h.Forwarding.X || !h.Forwarding.Standard {
		t.Errorf("%+v", h)
	}
	if !reflect.DeepEqual(got.Fallbacks[1].Drained, map[string]bool{"http://f:2": false, "http://f:3": true}) {
		t.Errorf("%+v", got.Fallbacks[1].Drained)
	}
	want := memcached.Config{
		Name: "counts",
		Ring: ring.Config{
			Name: "cmf-ketama", Points: 150, Namespace: "n:", KeyEscape: "nginx-upper",
			Servers: []ring.Server{{Label: "a:1", Weight: 1}, {Label: "c:3", Weight: 2}, {Label: "unix:/m.sock", Weight: 1}},
		},
		Client: client.Config{
			Servers:  []client.Server{{Address: "a:1"}, {Address: "b:2"}, {Address: "unix:/m.sock"}},
			Protocol: client.Meta, Auth: &client.Auth{User: "kasoku", Password: "s3cret"}, Connections: 2,
			ConnectTimeout: 3 * time.Millisecond, FirstByteTimeout: 4 * time.Millisecond, Timeout: 5 * time.Millisecond,
			Breaker: client.Breaker{Failures: 6, RetryEvery: 7 * time.Second}, MaxValue: 8 << 20,
		},
		Rules: key.Rules{Namespace: "n:", Escape: key.NginxUpper, HashLong: true}, Values: value.CMF,
		Fallbacks: got.Fallbacks, Fallback: 0,
		Locations: []memcached.Location{
			{
				Path: "/a/{id}", Key: "${path.id}", Decode: true, ContentType: "application/json",
				Headers: []memcached.Header{{Name: "X-A", Value: "b"}}, CacheControl: "max-age=5", NearTTL: 12 * time.Second,
				Fallback: 0, Store: &memcached.Store{TTL: 14 * time.Second, Stale: 15 * time.Second, Replace: true, MaxSize: 16 << 10},
				NegativeTTL: 13 * time.Second, Public: true,
			},
			{Path: "/b", Key: "b", ContentType: "application/octet-stream", ETag: true, Fallback: memcached.None, NegativeTTL: time.Second},
			{Path: "/c", Key: "c", ContentType: "application/octet-stream", ETag: true, CacheControl: "no-cache", Lifetime: true, Fallback: 1, NegativeTTL: time.Second},
			{Path: "/d", Key: "d", ContentType: "application/octet-stream", ETag: true, CacheControl: "no-cache", Fallback: 0, NegativeTTL: time.Second},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

// A reload reads the certificates for servers again even if the names of the files are the same.
func TestMemcachedServerTLS(t *testing.T) {
	cert, private := certs.SelfSigned(t, 1)
	other, _ := certs.SelfSigned(t, 2)
	pair, err := tls.X509KeyPair(cert, private)
	if err != nil {
		t.Fatal(err)
	}
	m := memcachedtest.StartTLS(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	m.Set("testapp::100::7", "value", 0, 0)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, other, 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(strings.ReplaceAll(values1, `["SERVER"]`, `[{address: "`+m.Address()+`", tls: true}]`),
		"    timeout: 1m\n", "    timeout: 1m\n    connect_timeout: 1m\n    server_tls: {ca: "+ca+"}\n", 1)
	r := run(t, text)
	const path = "/count?user_id=100&entry_id=7"
	if got := r.fetch("counts", path); !strings.HasPrefix(got, "Service Unavailable") {
		t.Errorf("%q from a server without a trusted certificate", got)
	}
	if err := os.WriteFile(ca, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	r.mustReload(text)
	if got := r.fetch("counts", path); got != "value" {
		t.Errorf("%q after the reload", got)
	}
}
