package httpcache

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// call is one exchange on its way through the service. It is used again: nothing
// that outlives the exchange, such as a flight, may refer to it or to what it
// holds.
type call struct {
	svc *Service
	set *settings
	opt *policy.Options
	x   *edge.Exchange
	now policy.Moment

	connection connectionHeader
	req        policy.Request
	query      store.Query
	key        []byte

	out      outgoing
	outBuilt bool                        // out is this exchange's
	choose   func([]string) http1.Fields // chosenBy, made once

	clientFields http1.Fields // of an answer that others have as well, for this client
	fields       http1.Fields // of an answer on its way back
	text         []byte       // scratch
	spans        []policy.Span
	reader       *disk.Reader // of the body to send, if that is on disk

	callback callback

	plan        *Plan        // nil for type http
	planFill    *Fill        // the plan's, once it was asked for
	passThrough *PassThrough // nil if the answer may be stored

	faulty        bool           // a fault of ours was found
	mismatches    int            // that it joined and that had nothing for it
	retried       bool           // one of them broke off
	retryOf       *flight.Flight // or failed before that
	streamed      bool           // an answer has begun to leave
	unreadable    int            // bodies that could not be read from disk
	reachedOrigin bool           // what must not be sent twice may have reached the origin
	admitted      bool           // it is counted among the requests in flight
}

func newCall() *call {
	c := new(call)
	c.choose = c.chosenBy
	return c
}

func (c *call) begin(s *Service, x *edge.Exchange) {
	c.svc, c.set, c.x = s, s.settings.Load(), x
	c.now = policy.MomentOf(x.Now())
	c.opt = &c.set.options
	c.streamed, c.reachedOrigin, c.outBuilt, c.faulty, c.mismatches, c.retried, c.unreadable = false, false, false, false, 0, false, 0
	x.Record.Service = s.name
	x.Record.Operation = operation(x.Request.Method)
	x.Record.Path = x.Request.Path
	x.RecordUser()
}

// end lets go of everything that belongs to the exchange.
func (c *call) end() {
	c.releaseRequest()
	c.query.Reset()
	c.x, c.set, c.opt, c.req = nil, nil, nil, policy.Request{}
	c.plan, c.planFill, c.passThrough, c.clientFields, c.retryOf = nil, nil, nil, nil, nil
	c.callback.end()
	c.closeReader()
	clear(c.connection.names)
	clear(c.out.fields)
	clear(c.out.chain)
	clear(c.fields)
	if cap(c.text) > keepText {
		c.text = nil
	}
}

// keepText is the largest scratch that is kept for the next exchange.
const keepText = 64 << 10

// operation is a method's name if it is a common one: what clients make up must
// not fill logs and metrics.
func operation(method []byte) string {
	switch string(method) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodHead:
		return http.MethodHead
	case http.MethodPost:
		return http.MethodPost
	case http.MethodPut:
		return http.MethodPut
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodPatch:
		return http.MethodPatch
	case http.MethodOptions:
		return http.MethodOptions
	}
	return "other"
}

// finish gives the call back. A fault of ours must not become a failed request
// where that can be helped.
func (c *call) finish() {
	if p := recover(); p != nil {
		defer c.releaseRequest()
		defer c.closeReader()
		c.fault(p)
		return // a call that panicked is not used again
	}
	s := c.svc
	c.end()
	s.calls.Put(c)
}

// fault passes a request on of which nothing has gone out yet, in either
// direction; else the answer is an error, or is cut.
func (c *call) fault(p any) {
	c.svc.metrics.faults.Inc()
	c.svc.log.Error("a fault inside the cache", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if c.streamed {
		return // edge cuts what was not ended
	}
	c.x.Reply.Reset()
	c.faulty = true
	if c.reachedOrigin || c.x.BodyLength() != 0 || !c.req.Reading() {
		c.refuse(http.StatusInternalServerError, "a fault inside Kasoku")
		c.x.Record.Error = "a fault inside Kasoku"
		return
	}
	c.pass(policy.CacheFault)
}

// parse makes the key and looks at what the request says to a cache.
func (c *call) parse() {
	x := c.x
	policy.ParseRequest(&c.req, x.Request.Method, x.Request.Fields, c.opt)
	if c.plan != nil {
		c.key = append(c.key[:0], c.plan.Key...)
		c.plan.stripConditions(&c.req)
	} else {
		c.key = store.AppendKey(c.key[:0], string(scheme(x)), x.Request.Host, x.Request.Path, x.Request.RawQuery)
	}
	x.Record.KeyHash = max(1, xxhash.Sum64(c.key))
	c.query.Reset()
	c.query.Key, c.query.Fields, c.query.Now, c.query.Options = c.key, x.Request.Fields, c.now, c.opt
	c.query.OriginFields = c.choose
}

// chosenBy are the fields by which an answer that varies by names was chosen: what
// the origin got, where that is something else than what the client sent.
func (c *call) chosenBy(names []string) http1.Fields {
	if len(c.connection.names) > 0 || slices.ContainsFunc(names, isRewritten) {
		return c.forOrigin()
	}
	return c.query.Fields
}

// forOrigin are the request's fields as its origin gets them. They are made once for
// an exchange, by whoever needs them first.
func (c *call) forOrigin() http1.Fields {
	if !c.outBuilt {
		c.out.build(c.x, &c.connection, &c.set.cfg.Forwarding, c.svc.id)
		c.outBuilt = true
	}
	return c.out.fields
}

// finishHead takes down how the request was answered, and says so in Cache-Status.
func (c *call) finishHead(status policy.CacheStatus) {
	status.Detail = c.detail(&status)
	c.count(status.Reason, &status)
	for i := range c.clientFields {
		if c.callback.Wraps() && c.callback.Filter().Drops(c.clientFields[i].Name) {
			continue
		}
		c.x.Reply.FieldBytes(string(c.clientFields[i].Name), c.clientFields[i].Value)
	}
	if lines := c.callback.Lines(); lines != "" {
		c.text = append(c.text[:0], lines...)
		c.x.Reply.Lines(c.text)
	}
	if c.text = status.Append(c.text[:0]); len(c.text) > 0 {
		c.text = c.callback.AppendStatus(c.text)
		c.x.Reply.FieldBytes("Cache-Status", c.text)
	}
}

// detail is what the plan or the passage has to say of why an origin was asked.
func (c *call) detail(status *policy.CacheStatus) string {
	switch {
	case c.plan != nil && status.Forwarded && status.Reason == c.plan.Why:
		return c.plan.Detail
	case c.passThrough != nil && status.Reason == c.passThrough.Why:
		return c.passThrough.Detail
	}
	return ""
}

// count counts how the request was answered.
func (c *call) count(why policy.Reason, status *policy.CacheStatus) {
	d := why.Info().Decision
	switch {
	case status == nil:
	case status.FwdStatus == http.StatusNotModified:
		d = telemetry.Revalidated
	case status.Collapsed && d != telemetry.HitStale:
		d = telemetry.Coalesced
	}
	c.x.Record.Decision, c.x.Record.Reason = d, why.Info().Name
	c.svc.metrics.answered(why, d)
	if c.callback.Decided() {
		c.svc.metrics.wrapped(c.callback.Reason())
	}
}

// refuse answers by itself, in words.
func (c *call) refuse(status int, words string) {
	r := &c.x.Reply
	if c.envelope(status) {
		return
	}
	r.Status = status
	r.Field("Content-Type", "text/plain; charset=utf-8")
	r.Build(append(append(append(r.Buf, http.StatusText(status)...), ": "...), words+"\n"...))
}

// reject is refuse for what has nothing to do with the cache.
func (c *call) reject(status int, words string) {
	c.refuse(status, words)
	c.count(policy.Refused, nil)
	c.x.Record.Error = words
}
