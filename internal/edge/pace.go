package edge

import "time"

// minPace is how fast a body must come or be taken on average, in bytes a second, if
// nobody asks for more.
const minPace = 1 << 10

// pace bounds how long one waits for a body in all, however long it is. A client
// starts with credit for Limits.BodyTimeout, or for Limits.WriteTimeout where it takes
// an answer; waiting for it uses credit up, and what it sends or takes earns as much
// again as it would need at the slowest pace. The time that the handler takes does not
// count.
type pace struct{ credit, limit time.Duration }

func newPace(most time.Duration) pace { return pace{most, most} }

// account takes the time waited off the credit and adds what n bytes are worth at a
// pace of least bytes a second.
func (p *pace) account(n int, waited time.Duration, least int64) {
	p.credit = min(p.credit-waited+time.Duration(n)*time.Second/time.Duration(least), p.limit)
}

// keepsPace tells whether the client of an answer, of which it has taken n bytes in the
// time waited, has credit left.
func (x *Exchange) keepsPace(n int, waited, most time.Duration) bool {
	if x.pace.limit != most {
		x.pace = newPace(most)
	}
	least := int64(minPace)
	if l := x.Reply.Loan; l != nil {
		least = max(least, l.Pace())
	}
	x.pace.account(n, waited, least)
	return x.pace.credit >= 0
}
