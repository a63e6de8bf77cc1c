package memcached

import (
	"net/http"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// callback is the call that a request wants its answer wrapped in. It belongs to a call
// and is used again with it.
type callback struct {
	asks bool         // the answer is to be judged
	told bool         // why is to be told
	why  jsonp.Reason // it is wrapped or not
	name []byte

	scanner   *jsonp.Scanner
	scannerOf *jsonp.Filter // which it was made for
}

func (cb *callback) end() {
	cb.asks, cb.told = false, false
}

// takeCallback finds the callback, and the query without it, which is what keys are made
// of. The exchange stays as it is: the fallback's engine looks for itself. False: the
// request was refused.
func (c *call) takeCallback() bool {
	f, r, cb := c.loc.JSONP, &c.x.Request, &c.callback
	c.req.Query = r.RawQuery
	if f == nil || len(r.RawQuery) == 0 {
		return true
	}
	if f.Strips(r.RawQuery) {
		c.query = f.Strip(c.query[:0], r.RawQuery)
		if c.req.Query = c.query; len(c.query) == 0 {
			c.req.Query = nil // its question mark has gone as well
		}
	}
	asks := jsonp.Request{Method: r.Method}
	if cb.name, asks.Asked = f.Name(cb.name[:0], r.RawQuery); asks.Asked == jsonp.Named {
		asks.Credentials, asks.Destination = c.loc.keyed.credentials(r.Fields), r.Get("Sec-Fetch-Dest")
	}
	cb.why = f.Admit(&asks)
	cb.told = cb.why != jsonp.NoCallback
	switch cb.why.Action() {
	case jsonp.RefuseIt:
		c.refuseCallback()
		return false
	case jsonp.WrapIt:
		cb.asks = true
	}
	return true
}

// refuseCallback refuses a request for a callback.
func (c *call) refuseCallback() {
	r, why := &c.x.Reply, c.callback.why
	r.Status = why.Info().Status
	r.Field("Content-Type", "application/json")
	r.Field("X-Content-Type-Options", "nosniff")
	r.Field("Cache-Status", "kasoku; detail="+BadCallback.String()+"; jsonp="+why.String())
	r.Build(append(r.Buf, why.Info().Refusal...))
	c.svc.metrics.wrapped(why)
	c.answered(BadCallback)
}

// judge tells whether an answer of that kind is wrapped.
func (c *call) judge(status int, contentType []byte, kind jsonp.Kind) bool {
	cb := &c.callback
	cb.why = c.loc.JSONP.Judge(&jsonp.Answer{Status: status, ContentType: contentType, Kind: kind})
	return cb.why.Action() == jsonp.WrapIt
}

// judgeObject tells whether an answer made of a value is wrapped.
func (c *call) judgeObject(o *object) bool {
	if !o.scanned {
		c.scan(o)
	}
	return c.judge(http.StatusOK, c.loc.contentType, o.json.Kind)
}

// wrapNothing answers with the call of an answer that was judged so and has nothing that
// could be put into it.
func (c *call) wrapNothing(status int) {
	r, call := &c.x.Reply, c.loc.JSONP.Call(c.callback.name, c.callback.why, status)
	r.Status = call.Status(status)
	c.text = call.AppendLines(c.text[:0])
	r.Lines(c.text)
	r.Build(call.Append(r.Buf, nil, new(jsonp.Body)))
}

// scan looks through the call's own object. Its scanner is kept: it is made for a filter.
func (c *call) scan(o *object) {
	cb := &c.callback
	if cb.scannerOf != c.loc.JSONP {
		cb.scanner, cb.scannerOf = c.loc.JSONP.NewScanner(), c.loc.JSONP
	}
	cb.scanner.Reset()
	_, _ = cb.scanner.Write(o.plain) // it never fails
	o.json, o.scanned = cb.scanner.Body(), true
}
