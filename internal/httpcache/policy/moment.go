package policy

import "time"

// Moment is a time on the clock of whoever holds the responses: microseconds since
// 1970, UTC. How long a response was on its way and how long it has been stored are
// differences of Moments. What fields say stays in whole seconds: dates are Unix
// seconds, lifetimes and ages are seconds.
type Moment int64

// perSecond is how many units of Moment a second has: few enough for sums of a few
// durations ([maxDelta]) to be Moments.
const perSecond = 1_000_000

// MomentOf is t as a Moment.
func MomentOf(t time.Time) Moment { return Moment(t.UnixMicro()) }

// Add is m later by d.
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d/time.Microsecond) }

// Unix is the second that m lies in, in Unix seconds.
func (m Moment) Unix() int64 {
	s := int64(m / perSecond)
	if m%perSecond < 0 {
		s--
	}
	return s
}
