package socket

import (
	"sync/atomic"
	"time"
)

// sysmonPeriod is the minimum interval between wake-ups of sysmon. A wake-up costs about
// fifty of sysmon's checks.
const sysmonPeriod = 100 * time.Millisecond

// Sysmon keeps the runtime's monitor thread awake while a server handles requests. Read and
// Write don't wake it on Linux, and only sysmon preempts goroutines that compute for long
// while others wait: see decision 0011. Connections share a Sysmon.
type Sysmon struct{ woken atomic.Int64 }

// Wake wakes sysmon unless a wake-up is recent. A server calls it before each handler, with
// the time since a moment of its choice.
func (s *Sysmon) Wake(now time.Duration) {
	last := s.woken.Load()
	if now-time.Duration(last) >= sysmonPeriod && s.woken.CompareAndSwap(last, int64(now)) {
		wakeSysmon()
	}
}
