package client

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestWatch scrapes the series of a client, before and after another one takes its place.
func TestWatch(t *testing.T) {
	srv, other := &fake{}, &fake{}
	stays, goes := srv.start(t, ""), other.start(t, "")
	srv.put("k", "one")
	r := telemetry.NewRegistry()
	has := func(want bool, series ...string) {
		t.Helper()
		page := httptest.NewRecorder()
		r.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		for _, s := range series {
			if strings.Contains(page.Body.String(), s+"\n") != want {
				t.Errorf("%s: want it there %t", s, want)
			}
		}
	}
	labels := func(server string) string { return `server="` + server + `",service="counts"}` }
	gets := func(server, outcome, n string) string {
		return `kasoku_memcached_gets_total{outcome="` + outcome + `",` + labels(server) + ` ` + n
	}
	before := newClient(t, Config{Name: "counts", Metrics: r}, stays, goes)
	before.Watch(nil)
	get(before, "k")
	get(before, "none")
	get(before, "a bad key")
	has(true, gets(stays, "hit", "1"), gets(stays, "miss", "1"), gets(stays, "bad-key", "1"), gets(goes, "hit", "0"),
		"kasoku_memcached_available{"+labels(stays)+" 1", "kasoku_memcached_connections{"+labels(stays)+" 1",
		"kasoku_memcached_reply_seconds_count{"+labels(stays)+" 2", "kasoku_memcached_reply_seconds_count{"+labels(goes)+" 0",
		"kasoku_memcached_connections{"+labels(goes)+" 0", "kasoku_memcached_writes_total{"+labels(stays)+" 2")
	c := newClient(t, Config{Name: "counts", Metrics: r}, stays)
	has(true, "kasoku_memcached_connections{"+labels(stays)+" 1")
	c.Watch(before)
	has(true, gets(stays, "hit", "1"), "kasoku_memcached_connections{"+labels(stays)+" 0")
	has(false, gets(goes, "hit", "0"), "kasoku_memcached_available{"+labels(goes)+" 1")
	c.servers[0].down.Store(true)
	has(true, "kasoku_memcached_available{"+labels(stays)+" 0")
}
