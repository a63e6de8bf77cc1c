package edge

import "time"

// minPace is the minimum average pace of a body, in bytes a second, unless its Loan requires
// more.
const minPace = 1 << 10

// pace bounds the total wait for a body of any length. A client starts with credit for
// Limits.BodyTimeout, or for Limits.WriteTimeout where it reads an answer. Waiting for it
// uses credit, and each byte that it sends or reads earns the time that the byte takes at
// the minimum pace. The time that the handler takes does not count.
type pace struct{ credit, limit time.Duration }

func newPace(limit time.Duration) pace { return pace{limit, limit} }

// account subtracts the time waited from the credit and adds the time that n bytes take at a
// pace of least bytes a second.
func (p *pace) account(n int, waited time.Duration, least int64) {
	p.credit = min(p.credit-waited+time.Duration(n)*time.Second/time.Duration(least), p.limit)
}

// keepsPace reports whether the client of an answer, of which it has read n bytes in the
// time waited, has credit left.
func (x *Exchange) keepsPace(n int, waited, limit time.Duration) bool {
	if x.pace.limit != limit {
		x.pace = newPace(limit)
	}
	least := int64(minPace)
	if l := x.Reply.Loan; l != nil {
		least = max(least, l.Pace())
	}
	x.pace.account(n, waited, least)
	return x.pace.credit >= 0
}
