package embedded

import (
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// stripes is the number of locks that the items of all tables share.
const stripes = 1024

// locks are the locks of items. Each item maps to one of a fixed number of locks. A writer
// holds the locks of its items from before it reads them until its batch is applied.
type locks [stripes]sync.Mutex

// stripe is the index of the lock of an item.
type stripe uint16

// stripeOf returns the lock index of the item under key.
func stripeOf(key []byte) stripe { return stripe(xxhash.Sum64(key) % stripes) }

// lock acquires the locks in ascending order. It sorts held, and returns it without
// duplicates, as unlock needs it.
func (l *locks) lock(held []stripe) []stripe {
	slices.Sort(held)
	held = slices.Compact(held)
	for _, i := range held {
		l[i].Lock()
	}
	return held
}

func (l *locks) unlock(held []stripe) {
	for _, i := range held {
		l[i].Unlock()
	}
}
