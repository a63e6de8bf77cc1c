package httpcache

import (
	"net/http"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// readHead forwards a HEAD that no stored response can answer. It updates the stored
// response from the answer (RFC 9111, section 4.3.5).
func (c *call) readHead(o *store.Object, why policy.Reason) {
	asked := clock()
	q := c.outbound(c.forOrigin())
	in, f := c.ask(c.x.Context(), q)
	if f != nil {
		c.failed(o, f)
		return
	}
	defer in.Close()
	if o != nil && policy.Failing(in.Status) && c.answerStale(o) {
		return
	}
	c.svc.metrics.stored(policy.MethodNotStored)
	if o != nil && in.Status == http.StatusOK {
		c.updateFromHead(o, in, asked)
	}
	c.relay(in, policy.CacheStatus{Reason: why, Forwarded: true, Storing: policy.MethodNotStored})
}

// updateFromHead updates the stored response from the 200 to a HEAD. It drops the response
// if the answer to a GET with the same fields could not be stored.
func (c *call) updateFromHead(o *store.Object, in *origin.Inbound, asked policy.Moment) {
	now, opt := clock(), c.opt
	fields := received(in, now)
	update := policy.ParseResponse(in.Status, fields, asked, now, opt)
	switch policy.FromHead(&update, in.Length, &o.Head.Response, o.Body.Len()) {
	case policy.HeadIgnored:
		return
	case policy.HeadInvalidates:
		c.svc.store.Drop(c.key, o)
		return
	}
	r, all := o.Head.Updated(&update, fields, asked, now, opt)
	get := c.req
	get.Method = policy.GET
	switch storable, why := policy.Storable(&get, &r, opt); {
	case storable:
		head := store.NewHead(r, all, c.forOrigin(), opt).AddGroups(c.key).InheritTags(o.Head)
		c.set.offerEncoded(head, o.Body.Len(), true)
		c.svc.store.Update(c.key, o, head)
	case !causedByRequest(why):
		c.svc.store.Drop(c.key, o)
	}
}

// answerStale answers with the stored response after an origin's failure, if that is
// allowed.
func (c *call) answerStale(o *store.Object) bool {
	d := policy.AfterFailure(&c.req, &o.Head.Response, o.Mark(), policy.Failed, c.now, c.opt)
	if d.Action != policy.Use {
		return false
	}
	c.hit(o, policy.CacheStatus{Reason: d.Reason, Timed: true, TTL: d.TTL}, d.Age)
	return true
}
