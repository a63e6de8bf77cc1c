package history

import (
	"time"

	"github.com/kasoku/kasoku/integration/fault"
)

// lateBy is the longest that a request is executed after its connection was
// reset. A node that is tested must be configured to quarantine for longer.
const lateBy = 100 * time.Millisecond

// allFaults returns p with every kind of fault, each at a low frequency.
func allFaults(p fault.Plan) fault.Plan {
	p.DelayFor, p.LateBy = 30*time.Millisecond, lateBy
	p.OneIn = map[fault.Kind]int{
		fault.Delay: 50, fault.Throttle: 100,
		fault.ErrorBefore: 300, fault.ErrorAfter: 300, fault.Garbage: 500,
		fault.ResetBefore: 200, fault.ResetAfter: 200, fault.ResetBody: 200, fault.Late: 300,
	}
	return p
}
