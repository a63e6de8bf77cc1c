package store

import (
	"hash/maphash"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// Store holds the resources of one service. A look-up takes no lock. A change of a resource
// is made under the lock of its key's shard.
type Store struct {
	name     string // for broadcasts; empty without Share
	space    *cache.Space
	purges   *purges
	limits   atomic.Pointer[Limits]
	seed     maphash.Seed
	shards   [storeShards]sync.Mutex
	tasks    tasks
	stats    counters
	index    *diskIndex // objects on disk; nil without a disk
	inFlight BodiesInFlight

	late     lateRounds
	sweeping atomic.Bool
	encoder  encoder
}

const storeShards = 64

// New returns an empty store in space, which the caller closes after the store.
func New(space *cache.Space, l Limits) *Store {
	s := &Store{space: space, purges: newPurges(), seed: maphash.MakeSeed()}
	s.SetLimits(l)
	s.tasks.init()
	s.inFlight.tasks, s.inFlight.space, s.inFlight.limits = &s.tasks, space, &s.limits
	s.inFlight.budget = space.Cache().Budget()
	return s
}

// InFlight returns the account of the memory of bodies in flight.
func (s *Store) InFlight() *BodiesInFlight { return &s.inFlight }

// SetLimits changes the limits for everything that begins from now on.
func (s *Store) SetLimits(l Limits) {
	l = l.withDefaults(s.space.Usage().Memory)
	s.limits.Store(&l)
}

// Close waits for the store's goroutines and returns its memory to the space. Objects on
// disk are kept. The store must not be used any more.
func (s *Store) Close() {
	if s.name != "" {
		s.space.Cache().OnBroadcast(s.name, nil)
	}
	s.tasks.close()
	s.inFlight.close()
	s.index.close()
}

// Miss is the reason why a look-up found nothing.
type Miss uint8

// The reasons.
const (
	MissURI      Miss = iota // nothing is stored under the key
	MissVary                 // only variants for other requests are stored
	MissRemoved              // a write or a purge has invalidated it
	MissIsolated             // the node has no lease of its cluster: nothing may be served
)

// Found is the result of a look-up.
type Found struct {
	Object      *Object // the best match, nil if there is none
	Miss        Miss    // why there is none
	Uncacheable bool    // answers to such requests cannot be shared
	// Until is the time at which Uncacheable has to be found out again.
	Until policy.Moment
}

// Find returns the stored response for q: of all matching variants the one with the latest
// Date. A part of a response (206) is returned only if the whole is not stored. It does not
// allocate.
func (s *Store) Find(q *Query) Found {
	if !s.space.Cache().Serves(q.At) {
		return Found{Miss: MissIsolated}
	}
	r := s.resource(q.Key)
	if r == nil {
		return Found{}
	}
	f := Found{}
	for _, o := range r.variants {
		switch {
		case !o.Head.usableWith(q.Options): // treated as not stored
		case !s.isCurrent(o):
			f.Miss = MissRemoved
		case !o.Head.Answers(q):
			f.Miss = max(f.Miss, MissVary)
		case f.Object != nil && o.IsPart():
		case !s.survivesPurges(q.Key, o):
			f.Miss = MissRemoved
		default:
			if f.Object = o; !o.IsPart() {
				return f
			}
		}
	}
	if f.Object == nil {
		f.Until, f.Uncacheable = r.uncacheableUntil(q)
	}
	return f
}

// FindRequested is Find for the request of a client, which counts in the estimates of
// cache.Space.Sizes.
func (s *Store) FindRequested(q *Query) Found {
	f := s.Find(q)
	if f.Miss != MissIsolated {
		s.space.Access(q.Key, f.Object != nil)
	}
	return f
}

// FindInvalidated returns a stored response for q that is invalid by its tags, so that it
// can be validated or compared; nil if there is none. It ignores valid ones: these were
// stored since the caller's look-up and are used as they are.
func (s *Store) FindInvalidated(q *Query) *Object {
	r := s.resource(q.Key)
	if r == nil {
		return nil
	}
	for _, o := range r.variants {
		if !o.IsPart() && !s.isCurrent(o) && o.Head.usableWith(q.Options) && o.Head.Answers(q) && s.survivesPurges(q.Key, o) {
			return o
		}
	}
	return nil
}

// FindEmptied returns a stored response for q that must be validated before it is used, since
// this node was left out of its cluster's writes: the cache was emptied after it was stored,
// and the disk has kept it. It returns nil if there is none.
func (s *Store) FindEmptied(q *Query) *Object {
	r := s.index.resource(q.Key)
	if r == nil || !s.space.Cache().Serves(q.At) {
		return nil
	}
	for _, o := range r.variants {
		if s.isEmptied(o) && !o.IsPart() && o.Head.usableWith(q.Options) && o.Head.Answers(q) && s.survivesPurges(q.Key, o) {
			return o
		}
	}
	return nil
}

// Parts calls yield with every stored part (206) of the response to q.
func (s *Store) Parts(q *Query, yield func(*Object) bool) {
	r := s.resource(q.Key)
	if r == nil || !s.space.Cache().Serves(q.At) {
		return
	}
	for _, o := range r.variants {
		if o.IsPart() && s.isCurrent(o) && o.Head.usableWith(q.Options) && o.Head.Answers(q) && s.survivesPurges(q.Key, o) && !yield(o) {
			return
		}
	}
}

func (r *Resource) uncacheableUntil(q *Query) (until policy.Moment, marked bool) {
	for i := range r.markers {
		if m := &r.markers[i]; m.matches(q) {
			return m.until, true
		}
	}
	return 0, false
}

// resource returns the value under key, nil if there is none.
func (s *Store) resource(key []byte) *Resource {
	if _, r := s.entry(key); r != nil {
		return r
	}
	return s.index.resource(key)
}

func (s *Store) entry(key []byte) (*cache.Entry, *Resource) {
	// The lease does not matter here: Find and Parts ask for it.
	e, found := s.space.Peek(key, math.MinInt64)
	if found != cache.Fresh {
		return nil, nil
	}
	r, _ := e.Value().(*Resource)
	return e, r
}

// isCurrent reports whether no write has touched o's tags since its fence, and its file was
// not dropped.
func (s *Store) isCurrent(o *Object) bool {
	return o.stamp.Settled && s.space.Cache().Current(&o.stamp) && !o.Body.gone()
}

// isEmptied reports whether o was current until the cache was emptied.
func (s *Store) isEmptied(o *Object) bool {
	return o.stamp.Settled && s.space.Cache().Emptied(&o.stamp) && !o.Body.gone()
}

// Current returns the responses of r, which is stored under key, that no write and no purge has
// invalidated. Parts are left out.
func (s *Store) Current(key []byte, r *Resource) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, o := range r.variants {
			if !o.IsPart() && s.Valid(key, o) && !yield(o) {
				return
			}
		}
	}
}

// Valid reports whether no write and no purge has invalidated o.
func (s *Store) Valid(key []byte, o *Object) bool { return s.isCurrent(o) && s.survivesPurges(key, o) }

// Vary returns the names by which responses under key were last known to vary, nil if none
// are known.
func (s *Store) Vary(key []byte) []string {
	if r := s.resource(key); r != nil {
		return r.vary()
	}
	return nil
}

// survivesPurges compares o with the purges that are newer than purgeSeen, applies them, and
// reports whether it may still be used.
func (s *Store) survivesPurges(key []byte, o *Object) bool {
	mark := o.purgeSeen.Load()
	if mark >= s.purges.head.Load() {
		return true
	}
	v, upTo := s.purges.since(mark, subject{key, o.Head})
	switch v {
	case purged:
		s.stats.purgedObjects.Add(1)
		s.Drop(key, o)
		return false
	case softened:
		s.stats.softened.Add(1)
		o.SetMark(policy.Outdated)
		if s.index.markStale(key, o); o.Body.gone() {
			s.Drop(key, o)
			return false
		}
	}
	o.purgeSeen.CompareAndSwap(mark, upTo) // after SetMark, so that a reader of the new number sees the mark
	return true
}

// Put stores o under key in place of old, which may be nil, unless a write or a purge has
// overtaken its fill. It reports whether o is stored.
func (s *Store) Put(key []byte, o, old *Object) bool {
	if v, _ := s.purges.since(o.purgeSeen.Load(), subject{key, o.Head}); v == purged || !s.isCurrent(o) {
		s.stats.overtaken.Add(1)
		return false
	}
	s.replace(key, func(r *Resource) *Resource {
		return r.without(func(v *Object) bool { return v == old || !s.isCurrent(v) && !s.isEmptied(v) }).with(o)
	})
	if o.Body.gone() {
		return false
	}
	s.stats.stored.Add(1)
	s.encodeSoon(key, o)
	return true
}

// Update replaces the head of o, if o is still stored, and returns the new object. It keeps
// o's fence.
func (s *Store) Update(key []byte, o *Object, head *Head) *Object {
	next := NewObject(head, o.Body, o.fence())
	next.SetMark(o.Mark())
	next.CopyEncoded(o)
	s.replace(key, func(r *Resource) *Resource {
		here := false
		rest := r.without(func(v *Object) bool { here = here || v == o; return v == o })
		if !here {
			return r
		}
		return rest.with(next)
	})
	return next
}

// Drop removes o. Other variants are kept.
func (s *Store) Drop(key []byte, o *Object) {
	s.replace(key, func(r *Resource) *Resource {
		return r.without(func(v *Object) bool { return v == o })
	})
}

// MarkUncacheable records for the time d that answers to requests with the same values as
// the one that head answered cannot be shared.
func (s *Store) MarkUncacheable(key []byte, head *Head, now policy.Moment, d time.Duration) {
	m := marker{names: head.Response.Vary, varyValues: head.varyValues, until: now.Add(d)}
	s.replace(key, func(r *Resource) *Resource { return r.withMarker(m, now) })
	s.stats.marked.Add(1)
}

// replace replaces the resource under key by the result of next. A resource has no fence as
// a whole: each object in it carries its own.
func (s *Store) replace(key []byte, next func(*Resource) *Resource) {
	if s.replaceUnsettled(key, next) {
		s.index.maintain(key)
	}
}

// replaceUnsettled is replace without maintenance of the disk index. It reports whether the
// caller must call maintain.
func (s *Store) replaceUnsettled(key []byte, next func(*Resource) *Resource) (shelved bool) {
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()
	e, old := s.entry(key)
	if old == nil {
		old = s.index.resource(key)
	}
	if old == nil {
		old = &Resource{}
	}
	r := next(old)
	if r == old {
		return false
	}
	if shelved = s.index.affects(key, r); shelved {
		r = s.index.replace(key, old, r)
	}
	switch {
	case r.inMemory():
		r.keep(&s.inFlight)
		s.space.Store(s.space.Cache().Unfenced(), key, &cache.Filling{Value: r, Weight: r.weight(), TTL: math.MaxInt64})
	case e != nil:
		s.space.Drop(key, e)
	}
	return shelved
}

// lock returns the lock that is held while the resource under key is changed.
func (s *Store) lock(key []byte) *sync.Mutex {
	return &s.shards[maphash.Bytes(s.seed, key)%storeShards]
}
