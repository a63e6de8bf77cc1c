package httpcache

import (
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// callback is the JSONP session of a request, with what is changed in the request for it.
type callback struct {
	jsonp.Session
	gzip     bool           // the client accepts it
	stripped *http1.Request // whose target is without the callback until end; nil: none
	original [2][]byte      // its target and query
	text     []byte         // scratch
	writer   jsonp.Writer
}

var identity = []byte("identity")

// onlyGzip negotiates the coding of wrapped answers.
var onlyGzip = policy.Options{Encodings: []string{"gzip"}}

// admitCallback removes what concerns a callback from the request before anything else
// reads it: keys and origins see no callback. It reports false if the request was refused.
func (c *call) admitCallback(f *jsonp.Filter) bool {
	r, cb := &c.x.Request, &c.callback
	switch string(r.Method) {
	case "GET", "HEAD":
	case "PURGE":
		if c.set.cfg.Purgers != nil { // otherwise PURGE is like any other method
			cb.strip(f, r)
		}
		return true
	default:
		return true
	}
	does := cb.Admit(f, r, c.set.cfg.Credentials)
	cb.strip(f, r)
	switch does {
	case jsonp.RefuseIt:
		c.refuseCallback(cb.Reason().Info())
		return false
	case jsonp.WrapIt:
		cb.gzip = len(c.set.cfg.Codings) > 0 && len(policy.AppendEncodings(cb.text[:0], r.Fields, &onlyGzip)) > 0
		cb.stripFields(r)
	}
	return true
}

// strip removes the callback from the request's target until end.
func (cb *callback) strip(f *jsonp.Filter, r *http1.Request) {
	if target, query := cb.Strip(f, r.Path, r.RawQuery); target != nil {
		cb.stripped, cb.original = r, [2][]byte{r.Target, r.RawQuery}
		r.Target, r.RawQuery = target, query
	}
}

// stripFields removes the fields that refer to a wrapped answer, or that would lead to one
// that cannot be wrapped: conditions, ranges and codings. The session has the conditions.
func (cb *callback) stripFields(r *http1.Request) {
	kept := r.Fields[:0]
	for _, f := range r.Fields {
		switch {
		case ascii.EqualFold(f.Name, "Range"), ascii.EqualFold(f.Name, "If-Range"), ascii.EqualFold(f.Name, "If-Modified-Since"), ascii.EqualFold(f.Name, "If-None-Match"):
			continue
		case ascii.EqualFold(f.Name, "Accept-Encoding"):
			f.Value = identity
		}
		kept = append(kept, f)
	}
	r.Fields = kept
}

// end restores the request and releases what belongs to the exchange.
func (cb *callback) end() {
	if cb.stripped != nil {
		cb.stripped.Target, cb.stripped.RawQuery = cb.original[0], cb.original[1]
		cb.stripped, cb.original = nil, [2][]byte{}
	}
	cb.Reset()
	if cap(cb.text) > keepText {
		cb.text = nil
	}
}

// judge judges an answer by its head and the kind of its body.
func (cb *callback) judge(status int, fields http1.Fields, kind jsonp.Kind) jsonp.Action {
	return cb.Judge(jsonp.Answer{
		Status: status, ContentType: fields.Get("Content-Type"), ContentEncoding: fields.Get("Content-Encoding"), Kind: kind,
	})
}

// refuseCallback refuses a request whose callback is not allowed.
func (c *call) refuseCallback(why *jsonp.ReasonInfo) {
	r := &c.x.Reply
	r.Status = why.Status
	r.Field("Content-Type", "application/json")
	r.Field("X-Content-Type-Options", "nosniff")
	c.scratch.text = append(append(c.scratch.text[:0], "kasoku; "...), telemetry.Local.CacheStatus()...)
	c.scratch.text = c.callback.AppendStatus(c.scratch.text)
	r.FieldBytes("Cache-Status", c.scratch.text)
	r.Build(append(r.Buf, why.Refusal...))
	c.count(policy.Refused, nil)
}

// bareURL returns a URL without what f strips from requests.
func bareURL(f *jsonp.Filter, url string) string {
	url, _, _ = strings.Cut(url, "#")
	base, query, _ := strings.Cut(url, "?")
	if target, _ := new(jsonp.Session).Strip(f, []byte(base), []byte(query)); target != nil {
		return string(target)
	}
	return url
}
