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
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// call is one exchange with the service. It is used again, so nothing that outlives the
// exchange, for example a flight, may refer to it or to its memory.
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

	out    outgoing
	choose func([]string) http1.Fields // chosenBy, allocated once

	clientFields http1.Fields // fields for this client only, added to a shared answer
	scratch      scratch
	reader       *disk.Reader // of the body to send, if it is on disk
	callback     callback

	plan        *Plan        // nil for type http
	planFill    *Fill        // the plan's, once it was requested
	passThrough *PassThrough // nil if the answer may be stored

	progress progress
	joined   joinedFlights

	// Memory of a request that passes through.
	onInterim func(int, http1.Fields)
	asked     origin.Outbound
	choice    balance.Choice
	from      eofReader
	fence     store.Fence
	response  policy.Response
	keys      [1][]byte
	detached  detachedWrite
}

// scratch is memory that a call uses for lists and text.
type scratch struct {
	fields http1.Fields
	dated  http1.Fields
	text   []byte
	spans  []policy.Span
}

// progress is how far a call has got, which decides whether it can be begun anew after a
// failure.
type progress struct {
	streamed      bool // a part of the answer may have been sent
	reachedOrigin bool // a request that must not be repeated may have reached the origin
	faulty        bool // the cache has panicked
	admitted      bool // it is counted among the requests in flight
	unconfirmed   bool // the object to validate must not be used if the origin fails
	fromPeer      bool // the answer is another member's
	unreadable    int  // bodies that could not be read from disk
}

// joinedFlights counts the flights that a call has joined in vain.
type joinedFlights struct {
	mismatches int            // flights for other requests
	retried    bool           // a joined flight has failed
	retryOf    *flight.Flight // that flight, if it failed before its head
}

func newCall() *call {
	c := new(call)
	c.choose, c.onInterim = c.chosenBy, c.interim
	c.detached.bind()
	return c
}

func (c *call) begin(s *Service, x *edge.Exchange) {
	c.svc, c.set, c.x = s, s.settings.Load(), x
	c.now = policy.MomentOf(x.Now())
	c.opt = &c.set.options
	c.progress, c.joined, c.out.built = progress{}, joinedFlights{}, false
	x.Record.Service = s.name
	x.Record.Operation = Operation(x.Request.Method)
	x.Record.Path = x.Request.Path
	if r := c.set.cfg.Routes; r != nil {
		x.Record.Route = r.of(x.Request.Path)
	}
	x.RecordUser()
}

// end releases everything that belongs to the exchange.
func (c *call) end() {
	c.releaseRequest()
	c.query.Reset()
	c.x, c.set, c.opt, c.req = nil, nil, nil, policy.Request{}
	c.plan, c.planFill, c.passThrough, c.clientFields, c.joined = nil, nil, nil, nil, joinedFlights{}
	c.response, c.keys[0] = policy.Response{}, nil
	c.asked, c.choice, c.from = origin.Outbound{}, balance.Choice{}, eofReader{}
	c.callback.end()
	c.closeReader()
	clear(c.connection.names)
	clear(c.out.fields)
	clear(c.out.chain)
	clear(c.scratch.fields)
	clear(c.scratch.dated)
	if cap(c.scratch.text) > keepText {
		c.scratch.text = nil
	}
}

// keepText is the size of the largest scratch that is kept for the next exchange.
const keepText = 64 << 10

// Operation returns the name of a common method, and "other" for the rest: clients must not
// fill logs and metrics with names of their own.
func Operation(method []byte) string {
	for _, m := range [...]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions,
	} {
		if string(method) == m {
			return m
		}
	}
	return "other"
}

// finish returns the call to the pool. After a panic of the cache it still answers the
// request if that is possible.
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

// fault passes the request to the origin if nothing of it or of the answer has been sent.
// Otherwise the answer is an error, or is cut.
func (c *call) fault(p any) {
	c.svc.metrics.faults.Inc()
	c.svc.log.Error("a fault inside the cache", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if c.progress.streamed {
		return // edge cuts an answer that was not ended
	}
	c.x.Reply.Reset()
	c.progress.faulty = true
	if c.progress.reachedOrigin || c.x.BodyLength() != 0 || !c.req.Reading() {
		c.refuse(http.StatusInternalServerError, "a fault inside Kasoku")
		c.x.Record.Error = "a fault inside Kasoku"
		return
	}
	c.pass(policy.CacheFault)
}

// parse makes the key and parses the request's fields for the cache.
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
	c.query.At = c.svc.space.Cache().At(x.Now())
	c.query.OriginFields = c.choose
}

// chosenBy returns the fields by which the origin selects an answer that varies by names:
// the ones that it gets, if they differ from the client's.
func (c *call) chosenBy(names []string) http1.Fields {
	if len(c.connection.names) > 0 || slices.ContainsFunc(names, isRewritten) {
		return c.forOrigin()
	}
	return c.query.Fields
}

// forOrigin returns the request's fields as the origin gets them. They are made once for an
// exchange.
func (c *call) forOrigin() http1.Fields {
	if !c.out.built {
		c.out.build(c.x, &c.connection, &c.set.cfg.Forwarding, c.svc.id)
		c.out.built = true
	}
	return c.out.fields
}

// finishHead counts how the request was answered, and adds Cache-Status and the client's own
// fields.
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
		c.scratch.text = append(c.scratch.text[:0], lines...)
		c.x.Reply.Lines(c.scratch.text)
	}
	if c.scratch.text = status.Append(c.scratch.text[:0]); len(c.scratch.text) > 0 {
		c.scratch.text = c.callback.AppendStatus(c.scratch.text)
		c.x.Reply.FieldBytes("Cache-Status", c.scratch.text)
	}
}

// detail returns the detail of the reason for asking the origin: another member has answered,
// or the plan's or the pass-through's.
func (c *call) detail(status *policy.CacheStatus) string {
	switch {
	case c.progress.fromPeer:
		return "peer"
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

// refuse answers with a status and a text of its own.
func (c *call) refuse(status int, words string) {
	r := &c.x.Reply
	if c.envelope(status) {
		return
	}
	r.Status = status
	r.Field("Content-Type", "text/plain; charset=utf-8")
	r.Build(append(append(append(r.Buf, http.StatusText(status)...), ": "...), words+"\n"...))
}

// reject is refuse for errors that do not concern the cache.
func (c *call) reject(status int, words string) {
	c.refuse(status, words)
	c.count(policy.Refused, nil)
	c.x.Record.Error = words
}
