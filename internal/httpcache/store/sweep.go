package store

import "github.com/kasoku/kasoku/internal/cache"

// sweepAt is the length of the purge log at which all stored objects are compared with it,
// so that it can be emptied.
const sweepAt = maxPurges * 3 / 4

// sweepSoon starts a sweep in the background unless one is running.
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

// Sweep compares everything stored with all purges so far and removes these from the log.
// The result of a fill in progress then counts as purged, because its fence has an older
// number.
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
