package cache

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestUse(t *testing.T) {
	c, s := open(t, Config{})
	for _, tc := range []struct {
		name    string
		filling Filling
		cost    uint32
		first   bool
	}{
		{"paid", Filling{Cost: 7}, 7, true},
		{"free", Filling{Cost: 7, Free: true}, 7, false},
		{"without cost", Filling{}, 0, true},
		{"more than fits", Filling{Cost: 1<<32 - 1}, 1<<29 - 1, true},
		{"with a value", Filling{Cost: 7, Value: 1}, 7, true},
	} {
		key := []byte(tc.name)
		tc.filling.TTL, tc.filling.Refresh = time.Hour, time.Hour-1
		s.Store(c.Note(tags("a")...), key, &tc.filling)
		for range hotHits + 1 {
			s.Lookup(key, c.Now()+2)
		}
		e, _, _ := s.Lookup(key, c.Now())
		if e == nil || e.Cost() != tc.cost || e.FirstUse() != tc.first || e.FirstUse() || e.Cost() != tc.cost {
			t.Errorf("%s: unexpected cost or use of %+v", tc.name, e)
		}
	}
}

func TestFirstUseInParallel(t *testing.T) {
	c, s := open(t, Config{})
	e, _ := s.Store(c.Note(tags("a")...), []byte("k"), &Filling{Cost: 1, TTL: time.Hour, Refresh: time.Hour - 1})
	var first, refreshes atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				if e.FirstUse() {
					first.Add(1)
				}
				if e.refreshDue(c.Now() + 2) {
					refreshes.Add(1)
				}
			}
		})
	}
	all.Wait()
	if first.Load() != 1 || refreshes.Load() != 1 || e.Cost() != 1 {
		t.Errorf("%d first uses, %d refreshes, cost %d", first.Load(), refreshes.Load(), e.Cost())
	}
}
