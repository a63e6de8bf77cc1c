package policy

import "time"

// Moment is a time on the caller's clock: microseconds since 1970, UTC. Transfer times and
// times in the store are differences of Moments. Values of fields are in whole seconds:
// dates are Unix seconds, lifetimes and ages are seconds.
type Moment int64

// perSecond is the number of Moment units in a second: small enough for sums of a few
// durations ([maxDelta]) not to overflow.
const perSecond = 1_000_000

// MomentOf converts t to a Moment.
func MomentOf(t time.Time) Moment { return Moment(t.UnixMicro()) }

// Add returns m plus d.
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d/time.Microsecond) }

// Unix returns the Unix second that contains m.
func (m Moment) Unix() int64 {
	s := int64(m / perSecond)
	if m%perSecond < 0 {
		s--
	}
	return s
}
