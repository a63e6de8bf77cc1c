package httpcache

import (
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/origin"
)

// countRequest counts a request that needs its origin among those in flight, once. It waits
// if there is no memory for it, and returns a fault if there is none in time.
func (c *call) countRequest() *origin.Fault {
	if c.progress.admitted {
		return nil
	}
	b := c.svc.budget
	if !b.Take(inflight.Request) && !b.Await(c.x.Context(), inflight.Request) {
		return &origin.Fault{Origin: c.svc.name, Kind: origin.Overload, Err: inflight.ErrFull}
	}
	c.progress.admitted = true
	return nil
}

// releaseRequest undoes countRequest.
func (c *call) releaseRequest() {
	if c.progress.admitted {
		c.progress.admitted = false
		c.svc.budget.Add(-inflight.Request)
	}
}

// refuseNoMemory refuses a request for which there is no memory. The answer has no body,
// which the client could leave unread.
func (c *call) refuseNoMemory() {
	r := &c.x.Reply
	r.Status = 503
	r.FieldUint("Retry-After", 1)
	c.count(policy.NoMemory, nil)
}
