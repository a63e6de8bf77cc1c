package store

import "github.com/kasoku/kasoku/internal/cache"

// sweepAt is how many purges by prefix and pattern are remembered before
// everything stored is held against them, so that they can be forgotten.
const sweepAt = maxPurges * 3 / 4

// sweepSoon starts a sweep in the background unless one runs.
func (s *Store) sweepSoon() {
	if !s.sweeping.CompareAndSwap(false, true) {
		return
	}
	if !s.tasks.begin() {
		return
	}
	go func() {
		defer s.tasks.wg.Done()
		defer s.sweeping.Store(false)
		s.Sweep()
	}()
}

// Sweep holds everything stored against all purges so far, and forgets them. What a
// flight that runs meanwhile brings counts as purged: it noted an older number.
func (s *Store) Sweep() {
	upTo := s.purges.head.Load()
	s.space.Entries(func(e *cache.Entry) bool {
		if r, ok := e.Value().(*Resource); ok {
			for _, o := range r.variants {
				s.survivesPurges(e.Key(), o)
			}
		}
		return s.tasks.ctx.Err() == nil
	})
	s.index.each(func(key []byte, o *Object) { s.survivesPurges(key, o) })
	if s.tasks.ctx.Err() == nil {
		s.purges.forget(upTo)
	}
}
