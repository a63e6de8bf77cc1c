package memcached

import (
	"net/http"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// admitCallback finds the callback, and the query without it, which keys are made of. The
// exchange is not changed: the fallback's engine finds the callback itself. It reports
// false if the request was refused.
func (c *call) admitCallback() bool {
	f, r := c.loc.JSONP, &c.x.Request
	_, c.req.Query = c.callback.Strip(f, nil, r.RawQuery)
	if c.callback.Admit(f, r, c.loc.keyed.credentials) == jsonp.RefuseIt {
		c.refuseCallback()
		return false
	}
	return true
}

// refuseCallback refuses a request for a callback.
func (c *call) refuseCallback() {
	r, why := &c.x.Reply, c.callback.Reason()
	r.Status = why.Info().Status
	r.Field("Content-Type", "application/json")
	r.Field("X-Content-Type-Options", "nosniff")
	r.Field("Cache-Status", "kasoku; detail="+BadCallback.String()+"; jsonp="+why.String())
	r.Build(append(r.Buf, why.Info().Refusal...))
	c.svc.metrics.wrapped(why)
	c.answered(BadCallback)
}

// wraps reports whether an answer made of a value is wrapped.
func (c *call) wraps(o *object) bool {
	if !c.callback.Admitted() {
		return false
	}
	if !o.scanned {
		o.json, o.scanned = c.callback.Scan(o.plain), true
	}
	return c.callback.Judge(jsonp.Answer{Status: http.StatusOK, ContentType: c.loc.contentType, Kind: o.json.Kind}) == jsonp.WrapIt
}

// wrapsRefusal reports whether a refusal with that status is wrapped, as a JSONP call
// without a body.
func (c *call) wrapsRefusal(status int) bool {
	return c.callback.Admitted() &&
		c.callback.Judge(jsonp.Answer{Status: status, ContentType: wordsType, Kind: jsonp.Other}) == jsonp.WrapIt
}

// wrapRefusal answers with a JSONP call without a body in place of a refusal with that
// status.
func (c *call) wrapRefusal(status int) {
	r, call := &c.x.Reply, c.callback.Wrap()
	r.Status = call.Status(status)
	c.text = call.AppendLines(c.text[:0])
	r.Lines(c.text)
	r.Build(call.AppendEmpty(r.Buf))
}
