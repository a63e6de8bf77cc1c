package httpcache

import (
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// callback is the call that a request wants its answer wrapped in. It belongs to a call
// and is used again with it.
type callback struct {
	filter *jsonp.Filter // nil: nobody has asked for a callback here
	asks   bool          // the answer is to be judged
	told   bool          // why is known
	why    jsonp.Reason  // it is wrapped or not
	answer jsonp.Answer  // as it was judged
	call   jsonp.Call
	name   []byte
	match  [][]byte       // the lines of If-None-Match, which speak of wrapped answers
	gzip   bool           // the client takes it
	target []byte         // of the request, without the callback
	came   *http1.Request // whose target that is for now; nil: it is as it came
	was    [2][]byte      // its target and query
	text   []byte         // scratch
	writer jsonp.Writer
}

var identity = []byte("identity")

// onlyGzip is what a client is looked at for that takes a wrapped answer.
var onlyGzip = policy.Options{Encodings: []string{"gzip"}}

// takeCallback takes what concerns a callback out of the request, before anything else
// looks at that: what is stored and what origins are asked know no callback. False: the
// request was refused.
func (c *call) takeCallback(f *jsonp.Filter) bool {
	r := &c.x.Request
	if f == nil || len(r.RawQuery) == 0 {
		return true
	}
	cb := &c.callback
	switch string(r.Method) {
	case "GET", "HEAD":
	case "PURGE":
		if c.set.cfg.Purgers != nil { // else it is a method like any other
			cb.strip(f, r)
		}
		return true
	default:
		return true
	}
	name, asked := f.Name(cb.name[:0], r.RawQuery)
	why := f.Admit(&jsonp.Request{
		Method: r.Method, Asked: asked, Credentials: credentials(r.Fields, c.set.cfg.Credentials), Destination: r.Get("Sec-Fetch-Dest"),
	})
	cb.strip(f, r)
	if why == jsonp.NoCallback {
		return true
	}
	cb.name, cb.filter, cb.why, cb.told = name, f, why, true
	switch why.Action() {
	case jsonp.RefuseIt:
		c.refuseCallback(why.Info())
		return false
	case jsonp.WrapIt:
		cb.asks, cb.told = true, false
		cb.gzip = len(c.set.cfg.Codings) > 0 && len(policy.AppendEncodings(cb.text[:0], r.Fields, &onlyGzip)) > 0
		cb.takeFields(r)
	}
	return true
}

// credentials tells whether a request says who asks. more are fields that do so beside
// HTTP's own.
func credentials(fields http1.Fields, more []string) bool {
	for i := range fields {
		name := fields[i].Name
		if isName(name, "Cookie") || isName(name, "Authorization") {
			return true
		}
		for _, m := range more {
			if isName(name, m) {
				return true
			}
		}
	}
	return false
}

// strip takes the callback out of the request's target until end.
func (cb *callback) strip(f *jsonp.Filter, r *http1.Request) {
	if !f.Strips(r.RawQuery) {
		return
	}
	cb.came, cb.was = r, [2][]byte{r.Target, r.RawQuery}
	b := append(append(cb.target[:0], r.Path...), '?')
	n := len(b)
	b = f.Strip(b, r.RawQuery)
	if r.RawQuery = b[n:]; len(b) == n {
		b, r.RawQuery = b[:n-1], nil
	}
	r.Target, cb.target = b, b
}

// takeFields takes out of the request what speaks of a wrapped answer, or would bring one
// that can't be wrapped: conditions, ranges and codings.
func (cb *callback) takeFields(r *http1.Request) {
	kept := r.Fields[:0]
	for _, f := range r.Fields {
		switch {
		case isName(f.Name, "Range"), isName(f.Name, "If-Range"), isName(f.Name, "If-Modified-Since"):
			continue
		case isName(f.Name, "If-None-Match"):
			cb.match = append(cb.match, f.Value)
			continue
		case isName(f.Name, "Accept-Encoding"):
			f.Value = identity
		}
		kept = append(kept, f)
	}
	r.Fields = kept
}

// end lets go of what belongs to the exchange.
func (cb *callback) end() {
	if cb.came != nil {
		cb.came.Target, cb.came.RawQuery = cb.was[0], cb.was[1]
		cb.came, cb.was = nil, [2][]byte{}
	}
	if cb.filter == nil {
		return
	}
	clear(cb.match)
	cb.filter, cb.match, cb.asks, cb.told = nil, cb.match[:0], false, false
	cb.answer, cb.call = jsonp.Answer{}, jsonp.Call{}
	if cap(cb.text) > keepText {
		cb.text = nil
	}
}

// judge says whether an answer is wrapped, as far as its body is known.
func (cb *callback) judge(status int, fields http1.Fields, kind jsonp.Kind) jsonp.Action {
	cb.answer = jsonp.Answer{
		Status: status, ContentType: fields.Get("Content-Type"), ContentEncoding: fields.Get("Content-Encoding"), Kind: kind,
	}
	return cb.judged()
}

// known judges again when more is known of the body.
func (cb *callback) known(kind jsonp.Kind) jsonp.Action {
	cb.answer.Kind = kind
	return cb.judged()
}

func (cb *callback) judged() jsonp.Action {
	cb.why, cb.told = cb.filter.Judge(&cb.answer), true
	return cb.why.Action()
}

// wraps tells whether the answer was found to be one that is wrapped.
func (cb *callback) wraps() bool { return cb.asks && cb.told && cb.why.Action() == jsonp.WrapIt }

// bare tells whether it is an envelope around no body.
func (cb *callback) bare() bool { return cb.why == jsonp.Enveloped && cb.filter.Bare(&cb.answer) }

// begin begins the call of an answer with that status.
func (cb *callback) begin(status int) { cb.call = cb.filter.Call(cb.name, cb.why, status) }

// matches tells whether the client has the wrapped answer whose plain one has this tag.
func (cb *callback) matches(tag []byte) bool {
	if len(tag) == 0 || cb.answer.Status != 200 {
		return false
	}
	for _, line := range cb.match {
		if cb.call.NotModified(line, tag) {
			return true
		}
	}
	return false
}

// appendStatus adds to a member of Cache-Status what became of the callback.
func (cb *callback) appendStatus(dst []byte) []byte {
	if !cb.told {
		return dst
	}
	return append(append(dst, "; jsonp="...), cb.why.String()...)
}

// left adds to an answer that is as it would be without the callback what keeps caches on
// the way from giving it to others.
func (c *call) left() {
	if lines := c.callback.why.Info().Lines; lines != "" {
		c.text = append(c.text[:0], lines...)
		c.x.Reply.Lines(c.text)
	}
}

// refuseCallback refuses a request that must not have its callback.
func (c *call) refuseCallback(why *jsonp.ReasonInfo) {
	r := &c.x.Reply
	r.Status = why.Status
	r.Field("Content-Type", "application/json")
	r.Field("X-Content-Type-Options", "nosniff")
	c.text = append(append(c.text[:0], "kasoku; "...), telemetry.Local.CacheStatus()...)
	c.text = c.callback.appendStatus(c.text)
	r.FieldBytes("Cache-Status", c.text)
	r.Build(append(r.Buf, why.Refusal...))
	c.note(policy.Refused, nil)
}

// bareURL is a URL without what f takes out of requests.
func bareURL(f *jsonp.Filter, url string) string {
	url, _, _ = strings.Cut(url, "#")
	base, query, found := strings.Cut(url, "?")
	if f == nil || !found || !f.Strips([]byte(query)) {
		return url
	}
	if rest := f.Strip(nil, []byte(query)); len(rest) > 0 {
		return base + "?" + string(rest)
	}
	return base
}
