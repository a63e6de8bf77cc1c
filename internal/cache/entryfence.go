package cache

import (
	"slices"
	"time"
)

// Fence holds the generations that an entry was stored under. Fences are equal if the entries
// were stored under the same ones.
type Fence struct {
	gens  [MaxTags]uint64
	slots [MaxTags]uint32
	n     uint8
}

// Fence returns the generations that e was stored under.
func (e *Entry) Fence() Fence { return Fence{e.gens, e.slots, e.tags()} }

// Holds reports whether an entry stored under f, which a look-up has found at or after since, a
// time on the cache's clock, was valid without interruption until now: no write, purge or feed
// has moved one of its tags, and this node had the lease of its cluster.
//
// The lease is examined after the generations. If it has ended meanwhile, other members may have
// written without this one, and either it is still without a lease or Empty was called before it
// got another one.
//
// Holds does not use the comparison of look-ups, so that it finds a fault there.
func (c *Cache) Holds(f *Fence, since int64) bool {
	for i := range f.n {
		if c.slots[f.slots[i]].gen.Load() != f.gens[i] {
			return false
		}
	}
	return c.Serves(c.Now()) && c.emptied.Load() < since
}

// TagMove compares the generation of a tag with that of a Fence.
type TagMove struct {
	Then, Now uint64
	At        int64 // when it has moved last, on the cache's clock; in the future if it is in quarantine
	Writers   int   // number of writes in flight
}

// Moves returns the state of each tag of f.
func (c *Cache) Moves(f *Fence) []TagMove {
	moves := make([]TagMove, f.n)
	for i := range moves {
		s := &c.slots[f.slots[i]]
		gen := s.gen.Load()
		moves[i] = TagMove{
			Then: f.gens[i], Now: gen, Writers: int(s.writers.Load()),
			At: int64(gen>>sequenceBits) * int64(time.Millisecond),
		}
	}
	return moves
}

// DependsOn reports whether an entry with the fence f is invalidated by a write of t.
func (c *Cache) DependsOn(f *Fence, t Tag) bool {
	return slices.Contains(f.slots[:f.n], c.index(t))
}
