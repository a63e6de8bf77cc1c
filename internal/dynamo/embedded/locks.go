package embedded

import (
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// stripes is how many locks the items of all tables share.
const stripes = 1024

// locks are the locks of items: each item belongs to one of a fixed number. Who
// writes to items holds theirs from before it reads them until its batch is
// applied.
type locks [stripes]sync.Mutex

// stripe is the number of the lock of an item.
type stripe uint16

// stripeOf returns the lock of the item under key.
func stripeOf(key []byte) stripe { return stripe(xxhash.Sum64(key) % stripes) }

// lock acquires the locks in ascending order and returns what is to be given to
// unlock: the same without duplicates. It changes held.
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
