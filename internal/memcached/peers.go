package memcached

import (
	"net/http"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/memcached/key"
)

// In a cluster, a request for which memcached has nothing is sent to the owner of its key, which
// calls the fallback once for all members and stores the answer in memcached. Values themselves
// are read by each member: memcached is as near as another member.

// planPeer returns the PlanPeer of the engine of a fallback. The request was sent by a member
// that has found nothing in memcached. Here it may join a flight that has ended since the
// request arrived there.
func (s *Service) planPeer(fallback int) func(x *edge.Exchange, answer func(*httpcache.Plan)) {
	return func(x *edge.Exchange, answer func(*httpcache.Plan)) {
		c := s.enter(x)
		if p := c.peerPlan(fallback); p != nil {
			answer(p)
		}
		c.release() // not deferred: a call that panicked is not reused
	}
}

// peerPlan returns the plan for a request of another member, nil if the answer is not for all
// clients.
func (c *call) peerPlan(fallback int) *httpcache.Plan {
	r := &c.x.Request
	c.loc = c.set.table.find(r.Path, &c.req.Captures)
	if c.loc == nil || c.loc.Fallback != fallback || string(r.Method) != http.MethodGet {
		return nil
	}
	_, c.req.Query = c.callback.Strip(c.loc.JSONP, nil, r.RawQuery)
	if c.findKey() != key.OK || c.isPersonal() || c.forbidsStoring() {
		return nil
	}
	return c.plan(c.fill(c.set.fallback(fallback)))
}
