package httpcache

import (
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/origin"
)

// countRequest counts a request that needs its origin among those in flight, once. If there is no
// memory for it, it waits, and in the end gets a fault.
func (c *call) countRequest() *origin.Fault {
	if c.admitted {
		return nil
	}
	b := c.svc.budget
	if !b.Take(inflight.Request) && !b.Await(c.x.Context(), inflight.Request) {
		return &origin.Fault{Origin: c.svc.name, Kind: origin.Overload, Err: inflight.ErrFull}
	}
	c.admitted = true
	return nil
}

// releaseRequest ends what admit has begun.
func (c *call) releaseRequest() {
	if c.admitted {
		c.admitted = false
		c.svc.budget.Add(-inflight.Request)
	}
}

// refuseNoMemory refuses a request that there is no memory for. The answer has no body, which a
// client could leave untaken.
func (c *call) refuseNoMemory() {
	r := &c.x.Reply
	r.Status = 503
	r.FieldUint("Retry-After", 1)
	c.count(policy.NoMemory, nil)
}
