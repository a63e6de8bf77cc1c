package httpcache

import (
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// readHead passes on a HEAD that nothing stored could answer. What the answer says
// of the stored response, it is told (RFC 9111, section 4.3.5).
func (c *call) readHead(o *Object, why policy.Reason) {
	asked := time.Now().Unix()
	q := c.outbound(c.forOrigin())
	in, f := c.ask(c.x.Context(), q)
	if f != nil {
		c.failed(o, f)
		return
	}
	defer in.Close()
	if o != nil && policy.Failing(in.Status) && c.standInFor(o) {
		return
	}
	c.svc.metrics.stored(policy.MethodNotStored)
	if o != nil && in.Status == http.StatusOK {
		now, opt := time.Now().Unix(), c.opt
		fields := received(in.Header, now)
		told := policy.ParseResponse(in.Status, fields, asked, now, opt)
		switch policy.FromHead(&told, in.Length, &o.Head.Response, o.Body.Len()) {
		case policy.HeadUpdates:
			merged := policy.UpdateFields(nil, o.Head.hit, fields)
			r := policy.ParseResponse(o.Head.Response.Status, merged, asked, now, opt)
			head := NewHead(r, merged, c.forOrigin(), opt).grouped(c.key)
			c.set.offer(head, o.Body.Len(), true)
			c.svc.store.Update(c.key, o, head)
		case policy.HeadInvalidates:
			c.svc.store.Drop(c.key, o)
		}
	}
	c.relay(in, policy.CacheStatus{Reason: why, Forwarded: true, Storing: policy.MethodNotStored})
}

// standInFor answers with what is stored in place of an origin's failure, if that
// may be.
func (c *call) standInFor(o *Object) bool {
	d := policy.AfterFailure(&c.req, &o.Head.Response, o.Mark(), policy.Failed, c.now, c.opt)
	if d.Action != policy.Use {
		return false
	}
	c.hit(o, policy.CacheStatus{Reason: d.Reason, Timed: true, TTL: d.TTL}, d.Age)
	return true
}
