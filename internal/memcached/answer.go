package memcached

import (
	"net/http"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// answerHit answers with the value that memcached has returned.
func (c *call) answerHit() {
	g := c.get
	v, unfit := c.set.cfg.Values.Inspect(g.Flags(), g.Value())
	if unfit != value.OK {
		c.miss(valueReasons[unfit])
		return
	}
	var why Reason
	gzip := coded(&v) && !c.callback.Admitted() && c.takesGzip()
	if c.plain, why = c.object.form(&v, g.Value(), c.plain, gzip, c.set.maxValue); why != FromMemcached {
		c.miss(why)
		return
	}
	if g.Won() || g.Waiting() || g.Stale() {
		why = FromStale
	}
	ttl, known := g.TTL()
	l := c.loc.lifetimeOf(ttl, known)
	if why == FromStale {
		c.renew(g.Won(), casOf(g), l)
	}
	c.answer(&c.object, why, l)
}

func (c *call) answer(o *object, why Reason, l lifetime) {
	if c.wraps(o) {
		c.wrap(o, why, l)
		return
	}
	r := &c.x.Reply
	body, t, zipped := o.plain, o.tag, false
	if o.gzip != nil && (o.plain == nil || c.takesGzip()) {
		body, t, zipped = o.gzip, o.tag.gzip(), true
	}
	r.Status = http.StatusOK
	r.Lines(c.loc.lines[vary(o)])
	c.text = c.text[:0]
	if c.loc.ETag {
		c.text = http1.AppendFieldBytes(c.text, "ETag", t.bytes())
		if notModified(c.x.Request.Fields, t.bytes()) {
			r.Status, body = http.StatusNotModified, nil
		}
	}
	if zipped && body != nil {
		c.text = append(c.text, "Content-Encoding: gzip\r\n"...)
	}
	c.close(why, l)
	if body != nil {
		c.setBody(o, body)
	}
}

// setBody makes a part of an object the reply's body. If it is the call's object, the call is
// in use until the body has been sent.
func (c *call) setBody(o *object, body []byte) {
	r := &c.x.Reply
	if r.Body = body; o == &c.object {
		r.Loan, c.inUse = c, true
	}
}

// wrap answers with a value in a JSONP call.
func (c *call) wrap(o *object, why Reason, l lifetime) {
	r, call := &c.x.Reply, c.callback.Wrap()
	r.Status = http.StatusOK
	r.Lines(c.loc.wrapped[vary(o)])
	c.text = call.AppendLines(c.text[:0])
	unchanged := false
	if c.loc.ETag {
		c.text = append(c.text, "ETag: "...)
		c.text = append(call.AppendETag(c.text, o.tag.bytes()), "\r\n"...)
		unchanged = c.callback.NotModified(o.tag.bytes())
	}
	c.close(why, l)
	if unchanged {
		r.Status = http.StatusNotModified
		return
	}
	if k := &o.json; k.To-k.From > maxCopied && k.Separators == 0 {
		c.wrapAround(call, o)
		return
	}
	r.Build(call.Append(r.Buf, o.plain, &o.json))
}

// maxCopied is the longest value that is copied into its JSONP call. Package edge would copy
// bodies up to this length in any case.
const maxCopied = 16 << 10

// wrapAround sends a JSONP call around a value without copying it.
func (c *call) wrapAround(call *jsonp.Call, o *object) {
	r, k := &c.x.Reply, &o.json
	b := call.AppendHead(r.Buf)
	n := len(b)
	b = call.AppendTail(b, k)
	r.Before, r.After, r.Buf = b[:n:n], b[n:], b[:0]
	c.setBody(o, o.plain[k.From:k.To])
}

// vary returns the index of the location's header lines for an object.
func vary(o *object) int {
	if o.coded {
		return 1
	}
	return 0
}

// close completes the header with the fields that depend on the source of the answer. It
// appends them to c.text and adds that to the reply.
func (c *call) close(why Reason, l lifetime) {
	b := c.text
	if c.loc.Lifetime {
		b = c.loc.appendLifetime(b, l)
	}
	b = append(b, "Cache-Status: kasoku; hit"...)
	if l.known {
		b = strconv.AppendInt(append(b, "; ttl="...), int64(l.left/time.Second), 10)
	}
	b = append(append(b, "; detail="...), why.String()...)
	if c.callback.Decided() {
		b = c.callback.AppendStatus(b)
		c.svc.metrics.wrapped(c.callback.Reason())
	}
	c.text = append(append(b, "\r\n"...), c.callback.Lines()...)
	c.x.Reply.Lines(c.text)
	c.answered(why)
}

// appendLifetime appends a Cache-Control by the rest of a value's lifetime.
func (l *location) appendLifetime(b []byte, of lifetime) []byte {
	switch {
	case of.known:
		b = append(b, "Cache-Control: max-age="...)
		b = strconv.AppendInt(b, int64(max(0, of.left)/time.Second), 10)
		return append(b, "\r\n"...)
	case l.CacheControl != "":
		return http1.AppendField(b, "Cache-Control", l.CacheControl)
	}
	return b
}

// onlyGzip negotiates gzip with clients that may get a value as it is stored.
var onlyGzip = policy.Options{Encodings: []string{"gzip"}}

// takesGzip reports whether the client accepts gzip.
func (c *call) takesGzip() bool {
	var memory [64]byte
	return len(policy.AppendEncodings(memory[:0], c.x.Request.Fields, &onlyGzip)) > 0
}
