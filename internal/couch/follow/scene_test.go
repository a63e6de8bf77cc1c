package follow

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// beat is the interval of heartbeats.
const beat = 300 * time.Millisecond

func newTicker() *time.Ticker { return time.NewTicker(beat) }

// scene has a table in front of some nodes, in a synctest bubble, with "db" in use.
type scene struct {
	*testing.T
	table    *Table
	cache    *cache.Cache
	registry *telemetry.Registry
	nodes    []*node
	db       *Database
}

// play runs a test in a synctest bubble, a second after the database was taken into use.
func play(t *testing.T, nodes int, script func(s *scene)) {
	t.Helper()
	playWith(t, nodes, Config{}, script)
}

func playWith(t *testing.T, nodes int, cfg Config, script func(s *scene)) {
	t.Helper()
	playAfter(t, nodes, cfg, nil, script)
}

// playAfter is playWith with a function that changes the nodes before they are followed.
func playAfter(t *testing.T, nodes int, cfg Config, before func(nodes []*node), script func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s := &scene{T: t, cache: c, registry: telemetry.NewRegistry()}
		for i := range nodes {
			s.nodes = append(s.nodes, newNode())
			cfg.Nodes = append(cfg.Nodes, []string{"a", "b", "c"}[i])
		}
		if before != nil {
			before(s.nodes)
		}
		cfg.Service, cfg.Cache, cfg.Registry, cfg.Log = "s", c, s.registry, slog.New(slog.DiscardHandler)
		cfg.Get = func(node int) Get { return s.nodes[node].get }
		cfg.Do = func(ctx context.Context, node int, method, path string, body []byte) (int, []byte, error) {
			return s.nodes[node].do(ctx, method, path, body)
		}
		s.table = New(cfg)
		defer s.table.Close()
		s.use()
		script(s)
	})
}

// use takes the database into use.
func (s *scene) use() {
	s.Helper()
	if s.db = s.table.Use([]byte("db")); s.db == nil {
		s.Fatal("the database was not taken into use")
	}
	s.pass(time.Second)
}

// pass waits, on the bubble's clock.
func (s *scene) pass(d time.Duration) {
	time.Sleep(d) // on the bubble's clock
	synctest.Wait()
}

// reading is an answer that may be cached.
type reading struct {
	*scene
	db    *Database
	stamp cache.Stamp
	keep  bool
	value string
}

var name = []byte("db")

// tags returns the tags of a document, or of a view if id is "".
func (s *scene) tags(id string) []cache.Tag {
	g := NewTagger("s")
	if id == "" {
		return []cache.Tag{g.Database(name), g.Results(name)}
	}
	return []cache.Tag{g.Database(name), g.Documents(name), g.Document(name, []byte(id))}
}

// read reads a document from a node, like a fill.
func (s *scene) read(node int, id string) *reading {
	r := &reading{scene: s, db: s.db, stamp: s.cache.Note(s.tags(id)...)}
	r.keep = r.db.Current(bytesOf(id)).Has(node)
	r.value = s.nodes[node].winner(id)
	return r
}

func bytesOf(id string) []byte {
	if id == "" {
		return nil
	}
	return []byte(id)
}

// served reports whether the answer would be served from memory now.
func (r *reading) served() bool {
	return r.keep && r.cache.Current(&r.stamp) && r.db.Servable(r.cache.Now())
}

func (r *reading) expectServed(served bool) {
	r.Helper()
	if got := r.served(); got != served {
		r.Errorf("%s: got served %t; cached: %t, current: %t, servable: %t", r.value, got, r.keep, r.cache.Current(&r.stamp), r.db.Servable(r.cache.Now()))
	}
}

// expectCurrent checks which nodes' answers may be cached.
func (s *scene) expectCurrent(id string, want NodeSet) {
	s.Helper()
	if got := s.db.Current(bytesOf(id)); got != want {
		s.Errorf("got the current nodes %03b for %q; want %03b", got, id, want)
	}
}

// write writes a document through Kasoku.
func (s *scene) write(node int, id, rev string) {
	w, err := s.cache.Begin(s.Context(), s.tags(id)[1:], nil)
	if err != nil {
		s.Fatal(err)
	}
	s.nodes[node].put(id, rev)
	s.db.Wrote(node, []byte(id), []byte(rev), s.cache.Now())
	if _, err := w.Commit(s.Context(), cache.Change{}); err != nil {
		s.Fatal(err)
	}
}
