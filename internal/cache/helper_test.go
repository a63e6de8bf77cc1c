package cache

import (
	"context"
	"testing"
	"time"
)

// open returns a small cache with one space. It has so many generations that the few tags of a test
// do not share one.
func open(t testing.TB, cfg Config) (*Cache, *Space) {
	t.Helper()
	if cfg.Generations == 0 {
		cfg.Generations = 1 << 16
	}
	if cfg.Memory == 0 {
		cfg.Memory = 64 << 20
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, space(t, c, 0)
}

func space(t testing.TB, c *Cache, cap int64) *Space {
	t.Helper()
	s, err := c.NewSpace(cap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pass advances the clock of a bubble. It does not receive from a timer's channel: with the race
// detector, Go 1.26 sometimes crashes if a bubble does that at the moment when the timer fires.
func pass(d time.Duration) { time.Sleep(d) }

func tags(names ...string) []Tag {
	out := make([]Tag, len(names))
	for i, n := range names {
		out[i] = TagOf([]byte(n))
	}
	return out
}

// begin begins a write that is not refused.
func begin(c *Cache, tags, watch []Tag) *Write {
	w, err := c.Begin(context.Background(), tags, watch)
	if err != nil {
		panic(err)
	}
	return w
}

// commit ends a write that all other members have fenced.
func commit(w *Write, ch Change) (stored int) {
	stored, err := w.Commit(context.Background(), ch)
	if err != nil {
		panic(err)
	}
	return stored
}
