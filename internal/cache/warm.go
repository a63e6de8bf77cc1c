package cache

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
)

// Warmer is a service whose stored answers other members of a cluster can list and take over
// before clients ask for them. A question is the Query.Request of an answer. All methods may be
// called concurrently.
type Warmer interface {
	// Hottest calls yield with questions whose answers are stored, in descending order of how
	// likely they are to be asked again, until yield returns false. It examines the n hottest
	// entries at most (Space.Hottest).
	Hottest(n int, yield func(question []byte) bool)
	// Stored returns the answer to a question if it is stored and fresh. It must not ask the
	// origin or another member, and must not wait for anything that does.
	Stored(question []byte) (s Shared, ok bool)
	// Expect prepares to store the answer of another member to a question: it notes the
	// generations of its tags. store is called after the other member was asked, and reports
	// whether the answer was stored. It is nil if the answer is stored already, or can't be
	// stored now, or if the question is not valid. Expect may ask the origin for what it needs to
	// understand a question, for example for the schema of a table.
	Expect(ctx context.Context, question []byte) (store func(s Shared) bool)
}

// warmers are the services that implement Warmer, by name.
type warmers struct {
	mu     sync.Mutex // leaf
	byName map[string]Warmer
}

// OnWarm sets the Warmer of a service until remove is called or another one is set. Without one,
// the service has no stored answers for other members.
func (c *Cache) OnWarm(service string, w Warmer) (remove func()) {
	ws := &c.warmers
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byName == nil {
		ws.byName = make(map[string]Warmer)
	}
	ws.byName[service] = w
	return func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		if ws.byName[service] == w {
			delete(ws.byName, service)
		}
	}
}

// Warmer returns the Warmer of a service, or nil if it has none.
func (c *Cache) Warmer(service string) Warmer {
	ws := &c.warmers
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byName[service]
}

// Warmable returns the names of the services that have a Warmer, in order.
func (c *Cache) Warmable() []string {
	ws := &c.warmers
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Sorted(maps.Keys(ws.byName))
}

// Stored returns the answer of a service to a question of another member, if it is stored and
// fresh. It is called by package cluster.
func (c *Cache) Stored(service string, question []byte) (s Shared, ok bool) {
	if w := c.Warmer(service); w != nil {
		return w.Stored(question)
	}
	return s, false
}

// Fresh returns the entry under key as an answer for another member, if it may be served.
func (s *Space) Fresh(key []byte) (out Shared, ok bool) {
	now := s.cache.Now()
	e, found := s.find(key, now)
	if found != Fresh {
		return out, false
	}
	return e.shared(true, now), true
}

// Expect returns a function that stores the answer of another member under key, and reports
// whether it did. tags are noted now, before that member is asked. use is Query.Use. Expect
// returns nil if the answer is stored already, or can't be stored now.
func (s *Space) Expect(key []byte, tags []Tag, use func(Shared) (Filling, bool)) func(Shared) bool {
	start := s.cache.Now()
	if _, found := s.find(key, start); found == Fresh {
		return nil
	}
	st := s.cache.Note(tags...)
	if !st.Settled {
		return nil
	}
	key = slices.Clone(key)
	return func(a Shared) bool {
		f, ok := a.use(use, time.Duration(s.cache.Now()-start))
		return ok && s.storeAbsent(st, key, &f)
	}
}

// storeAbsent is Store, except that it replaces no entry that may be served: that has been read
// later.
func (s *Space) storeAbsent(st Stamp, key []byte, f *Filling) (stored bool) {
	if f.NoStore || f.TTL <= 0 {
		return false
	}
	e := s.newEntry(st, key, f)
	hash := s.hashIn(st.era, key)
	s.store.otter.Compute(hash, func(old *Entry, found bool) (*Entry, otter.ComputeOp) {
		replaces := found && s.serves(old, s.cache.Now()) && old.key() == e.key()
		if stored = !replaces && s.cache.Current(&st); !stored {
			return old, otter.CancelOp
		}
		return e, otter.WriteOp
	})
	if stored {
		s.store.sizing.stored(s.cache, hash, e, false)
		s.store.evictFor(e)
		s.cache.stats.stored.Add(1)
	}
	return stored
}

// Hottest returns fresh entries of the space, in descending order of how likely they are to be
// requested again. It examines the n hottest entries of the store, which the space may share with
// others. After Empty, unreachable entries may be among them for a moment.
func (s *Space) Hottest(n int) []*Entry {
	all := make([]*Entry, 0, min(n, s.store.otter.EstimatedSize()))
	if cap(all) == 0 {
		return nil
	}
	for e := range s.store.otter.Hottest() { // with the lock of the eviction policy held
		if all = append(all, e.Value); len(all) >= n {
			break
		}
	}
	now := s.cache.Now()
	return slices.DeleteFunc(all, func(e *Entry) bool { return !s.serves(e, now) })
}

// serves reports whether e is an entry of the space that is fresh and that no write has invalidated.
func (s *Space) serves(e *Entry, now int64) bool {
	return e.space == s.id && now < e.freshUntil && s.cache.unmoved(&e.slots, &e.gens, e.tags())
}
