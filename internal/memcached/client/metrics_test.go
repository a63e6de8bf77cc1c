package client

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestWatch checks the series of a client, before and after another client replaces it.
func TestWatch(t *testing.T) {
	srv, other := &fake{}, &fake{}
	kept, removed := srv.start(t, ""), other.start(t, "")
	srv.put("k", "one")
	r := telemetry.NewRegistry()
	has := func(want bool, series ...string) {
		t.Helper()
		page := httptest.NewRecorder()
		r.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		for _, s := range series {
			if strings.Contains(page.Body.String(), s+"\n") != want {
				t.Errorf("%s: exported %t, want %t", s, !want, want)
			}
		}
	}
	labels := func(server string) string { return `server="` + server + `",service="counts"}` }
	gets := func(server, outcome, n string) string {
		return `kasoku_memcached_gets_total{outcome="` + outcome + `",` + labels(server) + ` ` + n
	}
	before := newClient(t, Config{Name: "counts", Metrics: r}, kept, removed)
	before.Watch(nil)
	get(before, "k")
	get(before, "none")
	get(before, "a bad key")
	has(true, gets(kept, "hit", "1"), gets(kept, "miss", "1"), gets(kept, "bad-key", "1"), gets(removed, "hit", "0"),
		"kasoku_memcached_available{"+labels(kept)+" 1", "kasoku_memcached_connections{"+labels(kept)+" 1",
		"kasoku_memcached_reply_seconds_count{"+labels(kept)+" 2", "kasoku_memcached_reply_seconds_count{"+labels(removed)+" 0",
		"kasoku_memcached_connections{"+labels(removed)+" 0", "kasoku_memcached_writes_total{"+labels(kept)+" 2")
	c := newClient(t, Config{Name: "counts", Metrics: r}, kept)
	has(true, "kasoku_memcached_connections{"+labels(kept)+" 1")
	c.Watch(before)
	has(true, gets(kept, "hit", "1"), "kasoku_memcached_connections{"+labels(kept)+" 0")
	has(false, gets(removed, "hit", "0"), "kasoku_memcached_available{"+labels(removed)+" 1")
	c.servers[0].down.Store(true)
	has(true, "kasoku_memcached_available{"+labels(kept)+" 0")
}
