package couch

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// scrape returns the registry's metrics as text.
func scrape(r *telemetry.Registry) string {
	rec := httptest.NewRecorder()
	r.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	return rec.Body.String()
}

// TestReconfigureNodes checks that new nodes get another fleet and metrics, that those of removed
// nodes disappear, and that nothing changes on an error.
func TestReconfigureNodes(t *testing.T) {
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	registry := telemetry.NewRegistry()
	// No server listens there, and none is needed.
	const a, b, third = "http://127.0.0.1:9", "http://127.0.0.2:9", "http://127.0.0.3:9"
	cfg := Config{Name: "s", Nodes: []string{a, b}, Follow: true, Replicate: Replicate{Databases: []string{"d"}, Both: true}}
	s, err := New(cfg, space, registry, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	series := func(want bool, of ...string) {
		t.Helper()
		text := scrape(registry)
		for _, s := range of {
			if got := strings.Contains(text, s); got != want {
				t.Errorf("%s: got registered %t", s, got)
			}
		}
	}
	first := s.settings.Load().fleet
	const lagOfB, fromA, fromB = `kasoku_couch_lag_seconds{node="` + b + `"`, `from="` + a + `"`, `from="` + b + `"`
	series(true, `kasoku_couch_lag_seconds{node="`+a+`"`, lagOfB, fromA, fromB)

	other := cfg
	other.VisibleTTL = 1
	if err := s.Reconfigure(other); err != nil {
		t.Fatal(err)
	}
	if s.settings.Load().fleet != first {
		t.Error("other settings led to another fleet")
	}
	broken := cfg
	broken.Nodes, broken.HTTP.Group.Algorithm = []string{third}, "none"
	if err := s.Reconfigure(broken); err == nil || s.settings.Load().fleet != first {
		t.Errorf("an invalid configuration: got %v", err)
	}
	series(false, third)
	other.Replicate.Both = false
	if err := s.Reconfigure(other); err != nil {
		t.Fatal(err)
	}
	series(true, lagOfB, fromA)
	series(false, fromB)
	other.Nodes, other.Replicate = []string{a, third}, Replicate{}
	if err := s.Reconfigure(other); err != nil {
		t.Fatal(err)
	}
	series(true, `kasoku_couch_lag_seconds{node="`+a+`"`, `kasoku_couch_lag_seconds{node="`+third+`"`)
	series(false, lagOfB, "kasoku_couch_replication_up")
	if first.table.Use([]byte("d")) != nil {
		t.Error("the old table is still open")
	}
}

// TestNodesReorderedDuringWrite checks that a write that is in flight during a reload is recorded
// for the node that took it, also if the node has another number afterwards.
func TestNodesReorderedDuringWrite(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.do("PUT", "/db/x", "1")
	b.replicate("x", a)
	s.follow()
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	a.set(func() { a.hold, a.held = hold, held })
	ended := make(chan *got)
	go func() {
		g, err := s.tryDo("PUT", "/db/x", "2")
		if err != nil {
			t.Error(err)
		}
		ended <- g
	}()
	<-held
	a.set(func() { a.hold = nil })
	s.cfg.Nodes = []string{s.cfg.Nodes[1], s.cfg.Nodes[0]}
	if err := s.Reconfigure(s.cfg); err != nil {
		t.Fatal(err)
	}
	s.do("GET", "/db/nothing", "")
	db := s.settings.Load().table().Find([]byte("db"))
	s.until(func() bool { return db.Servable(s.cache.Now()) && db.Current([]byte("x")) == 1<<1 })
	close(hold)
	<-ended
	if n := db.Current([]byte("x")); n != 1<<1 {
		t.Errorf("got the nodes %b with the written revision", n)
	}
	for range 4 {
		s.get("written", "/db/x?local_seq=true", 200, "2", "")
	}
}

// TestNodesReorderedWithoutFeeds checks that without feeds a client continues to read from the node
// that took its write when the nodes have other numbers.
func TestNodesReorderedWithoutFeeds(t *testing.T) {
	s := newSite(t, 3, func(c *Config) { c.Follow = false })
	s.do("PUT", "/db/x", "1")
	for _, order := range [][]int{{2, 1, 0}, {0, 2}} {
		cfg := s.cfg
		cfg.Nodes = nil
		for _, node := range order {
			cfg.Nodes = append(cfg.Nodes, s.nodes[node].server.URL)
		}
		if err := s.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			s.get("own write", "/db/x", 200, "1", "fwd=bypass")
		}
	}
}
