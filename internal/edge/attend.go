package edge

import (
	"sync/atomic"
	"time"
)

// attendEvery is for how long handlers may begin without the runtime's monitor being
// woken, which interrupts who computes for long when others wait. Each time costs some
// fifty looks of the monitor's.
const attendEvery = 100 * time.Millisecond

// Attention sees to it, before a handler is called, that the runtime's monitor is awake,
// or was so a moment ago: on Linux reading and writing do not wake it. See decision 0011.
// Connections share it.
type Attention struct{ paid atomic.Int64 }

// Pay is called when a request has come; now is counted from whatever its user likes.
func (a *Attention) Pay(now time.Duration) {
	last := a.paid.Load()
	if now-time.Duration(last) >= attendEvery && a.paid.CompareAndSwap(last, int64(now)) {
		attend()
	}
}
