package memcached

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/origin"
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
	f := c.fill(c.set.fallback(fallback))
	f.peer = true
	return c.plan(f)
}

// lookAgain returns an answer made of memcached's value, nil if it has none or one that is to be
// renewed. A flight may have stored it between the look-up of the member that asks and the arrival
// of its question, which was on its way for an unknown time: such a flight can't be joined, since
// it may have ended before the client's request arrived.
func (f *filling) lookAgain() *origin.Inbound {
	if f.loc.Store == nil || f.server < 0 {
		return nil
	}
	g := client.NewCall()
	defer g.Release()
	if f.set.client.Get(g, f.server, f.wire, client.GetOptions{}) != client.Hit || g.Won() || g.Waiting() || g.Stale() {
		return nil
	}
	v, unfit := f.set.cfg.Values.Inspect(g.Flags(), g.Value())
	l := f.loc.lifetimeOf(g.TTL())
	if unfit != value.OK || l.known && l.left <= 0 {
		return nil
	}
	plain, err := v.AppendPlain(nil, f.set.maxValue)
	if err != nil {
		return nil
	}
	fields := f.loc.fields(false)
	if f.loc.ETag {
		t := tagOf(g.Value())
		fields = append(fields, http1.Field{Name: []byte("ETag"), Value: bytes.Clone(t.bytes())})
	}
	return origin.Whole(http.StatusOK, fields, plain)
}
