package edge

import "time"

// attendEvery is for how long handlers may begin without the runtime's monitor being
// woken, which interrupts who computes for long when others wait. Each time costs some
// fifty looks of the monitor's.
const attendEvery = 100 * time.Millisecond

// attend sees to it, before a handler is called, that the runtime's monitor is awake, or
// was so a moment ago: on Linux reading and writing do not wake it. See decision 0011.
func (s *Server) attend(now time.Duration) {
	last := s.attended.Load()
	if now-time.Duration(last) >= attendEvery && s.attended.CompareAndSwap(last, int64(now)) {
		attend()
	}
}
