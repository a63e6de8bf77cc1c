package tracing

import (
	"sync/atomic"
	"time"
)

// rate bounds the number of events in each second. Once a second's number is reached, asking for
// another one only reads.
type rate struct {
	limit uint32
	count atomic.Uint64 // the second, and in the lower 32 bits the number of its events
}

// allow reports whether an event may happen at now, and counts it.
func (r *rate) allow(now time.Time) bool {
	second := uint64(uint32(now.Unix())) << 32
	for {
		before := r.count.Load()
		n := before & (1<<32 - 1)
		if before-n != second {
			n = 0
		}
		if n >= uint64(r.limit) {
			return false
		}
		if r.count.CompareAndSwap(before, second|(n+1)) {
			return true
		}
	}
}
