package httpcache

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/origin"
)

// fetch answers from the origin, by a flight that requests for the same answer share.
func (c *call) fetch(seen *store.Object, why policy.Reason, apart bool) {
	if f := c.countRequest(); f != nil {
		if c.progress.unconfirmed {
			seen = nil
		}
		c.failed(seen, f)
		return
	}
	f := c.newFetch(seen)
	if seen == nil {
		if f.part = c.completablePart(); f.part != nil {
			why = policy.PartMissing
		}
	}
	if seen == nil && f.part == nil && !apart {
		f.peer = c.peerQuestion()
	}
	req := flight.Request{Query: &c.query, Seen: seen, Alone: apart, Fill: f.run}
	if f.fill != nil {
		req.Tags, req.Since = f.fill.Tags, c.plan.Since
	}
	if !apart {
		req.RetryOf = c.joined.retryOf
	}
	join := c.svc.flights.Join
	if f.shared != nil {
		join = f.shared.Join
	}
	next := c.join(join(&req), f, why)
	switch {
	case next == fetchAlone, next == retryShared && c.joined.mismatches >= maxMismatches:
		c.fetch(seen, why, true)
	case next == retryShared:
		c.joined.mismatches++
		c.fetch(seen, why, false)
	}
}

// mayRetry reports whether a request is repeated after a flight that it had joined failed
// without an answer: once, and only if the failure is not about the origin's state and no
// stored object may be used. The failure may have been caused by the other client's request.
func (c *call) mayRetry(t *flight.Waiter, seen *store.Object, err error) bool {
	if !t.Joined() || c.joined.retried || c.x.Context().Err() != nil || seen != nil && c.mayUseStale(seen) {
		return false
	}
	var f *origin.Fault
	if !errors.As(err, &f) {
		return errors.Is(err, io.ErrUnexpectedEOF)
	}
	return f.Kind == origin.Dial || f.Kind == origin.Reset || f.Kind == origin.Garbage
}

// mayUseStale reports whether seen may be used if there is no answer.
func (c *call) mayUseStale(seen *store.Object) bool {
	d := policy.AfterFailure(&c.req, &seen.Head.Response, seen.Mark(), policy.Disconnected, c.now, c.opt)
	return d.Action == policy.Use
}

// maxMismatches is how many flights a request joins that turn out to be for other variants.
// Each of them shows what the URL varies by, which an origin may change.
const maxMismatches = 3

// nextStep is how a request continues after a flight.
type nextStep uint8

const (
	answered    nextStep = iota
	retryShared          // join another flight: this one was for another variant, or broke off
	fetchAlone           // the answer is for another request alone
)

// join follows a flight and leaves it, also after a panic: other members must not wait for a
// reader that is gone.
func (c *call) join(t *flight.Waiter, f *originFetch, why policy.Reason) nextStep {
	defer t.Leave()
	return c.follow(t, f, why)
}

// follow waits for a flight and answers with its result, or returns how to continue.
func (c *call) follow(t *flight.Waiter, f *originFetch, why policy.Reason) nextStep {
	x := c.x
	t.OnInterim = func(i flight.Interim) { _ = x.Interim(i.Status, i.Fields) }
	ctx, start := x.Context(), time.Now()
	out, err := t.Wait(ctx)
	x.Record.Waited(start)
	if err != nil {
		if c.mayRetry(t, f.stale(), err) {
			c.joined.retried, c.joined.retryOf = true, t.Flight()
			return retryShared
		}
		c.failed(f.stale(), err)
		return answered
	}
	if out.Head != nil && c.standIn(f.stale(), out) {
		return answered
	}
	status := policy.CacheStatus{Reason: why, Forwarded: true, Collapsed: t.Joined(), Storing: policy.Stored, Timed: c.plan == nil}
	if !t.Joined() {
		status.Storing = f.why
		if f.own != nil {
			c.clientFields = f.own
		}
		c.progress.fromPeer = f.fromPeer
	}
	if out.Head != nil {
		status.TTL = out.Head.Response.TTL(c.now)
	}
	switch {
	case out.Kind == flight.OtherVariant:
		return retryShared
	case out.Kind == flight.Unshared:
		return fetchAlone
	case out.Kind == flight.Private:
		c.own(out, f, status)
	case t.Joined() && !c.usable(out.Head):
		return fetchAlone
	case out.Kind == flight.Streaming:
		return c.stream(t, out, status)
	case c.connection.trailers && !c.callback.Admitted() && len(t.Trailer()) > 0:
		out.Length = -1 // trailers need a chunked body
		return c.stream(t, out, status)
	case t.Remembered():
		c.hit(out.Object, policy.CacheStatus{Reason: policy.Remembered}, 0)
	case t.Stored() && c.plan != nil:
		c.hit(out.Object, policy.CacheStatus{Reason: policy.Followed}, 0)
	case t.Stored():
		c.hit(out.Object, policy.CacheStatus{Reason: policy.Fresh, Timed: true, TTL: status.TTL}, out.Head.Response.Age(c.now))
	default:
		if !t.Joined() && f.fwdStatus == 304 {
			status.FwdStatus = 304
		}
		if out.Object.IsPart() { // the requested part, or what the origin sends in its place
			c.answerReceivedPart(out.Object, status)
			break
		}
		c.answerFetched(out.Object, status)
	}
	return answered
}

// usable reports whether the response to another client's request answers this one.
func (c *call) usable(h *store.Head) bool {
	if c.shared() != nil {
		return true
	}
	d := policy.Decide(&c.req, &h.Response, policy.Unmarked, c.now, c.opt)
	return d.Action == policy.Use || d.Action == policy.UseAndRefresh
}

// standIn answers with the stored object if the origin has failed and the object may be
// used. It reports whether it did.
func (c *call) standIn(seen *store.Object, out flight.Outcome) bool {
	return seen != nil && policy.Failing(out.Head.Response.Status) && c.answerStale(seen)
}

// failed answers when there is no answer from an origin.
func (c *call) failed(seen *store.Object, err error) {
	if errors.Is(err, flight.ErrPanicked) {
		c.svc.metrics.faults.Inc()
		c.svc.log.Error("a fault inside the cache", "error", err)
		c.pass(policy.CacheFault)
		return
	}
	var f *origin.Fault
	if !errors.As(err, &f) {
		f = c.interrupted(err)
	}
	var r *policy.Response
	mark := policy.Unmarked
	if seen != nil {
		r, mark = &seen.Head.Response, seen.Mark()
	}
	d := policy.AfterFailure(&c.req, r, mark, policy.Disconnected, c.now, c.opt)
	c.x.Record.Error = f.Error()
	switch {
	case d.Action == policy.Use:
		c.hit(seen, policy.CacheStatus{Reason: d.Reason, Timed: true, TTL: d.TTL}, d.Age)
	case errors.Is(f, inflight.ErrFull):
		c.answerFault(f)
	case d.Action == policy.GatewayTimeout && f.Kind != origin.Canceled:
		_, words := c.faultStatus(f)
		c.refuse(504, words)
		c.count(d.Reason, nil)
	default:
		c.answerFault(f)
	}
}

// interrupted returns the fault for an end of waiting.
func (c *call) interrupted(err error) *origin.Fault {
	kind := origin.Reset
	switch ctx := c.x.Context(); {
	case errors.Is(context.Cause(ctx), edge.ErrRequestTimeout):
		kind = origin.Timeout
	case ctx.Err() != nil:
		kind = origin.Canceled
	}
	return &origin.Fault{Origin: c.svc.name, Kind: kind, Err: err}
}

// own answers with a private response.
func (c *call) own(out flight.Outcome, f *originFetch, status policy.CacheStatus) {
	status.Timed = false
	if out.Object != nil { // a 304 whose object may no longer be stored
		status.FwdStatus = 304
		c.answerFetched(out.Object, status)
		return
	}
	if policy.NotModified(&c.req, &out.Head.Response, c.now, c.opt) && out.Head.Response.Status == 200 {
		status.FwdStatus = 200
		c.notModified(out.Head, status)
		return
	}
	if c.callback.Admitted() && c.wrapRelay(&streamedWrap{
		status: out.Head.Response.Status, fields: out.Head.Fields, lines: func() []byte { return c.freshLines(out.Head, status.Collapsed) },
		cacheStatus: status, ownDate: c.sendsStoredDate(), length: f.in.Length, body: &eofReader{in: f.in},
	}) {
		return
	}
	c.missHead(out.Head, status)
	c.copyBody(f.in)
}

// missHead begins an answer with a response that has just arrived.
func (c *call) missHead(h *store.Head, status policy.CacheStatus) {
	reply := &c.x.Reply
	reply.Status, reply.OwnDate = h.Response.Status, c.sendsStoredDate()
	reply.Lines(c.freshLines(h, status.Collapsed))
	c.finishHead(status)
}

func (c *call) notModified(h *store.Head, status policy.CacheStatus) {
	c.missHead(h, status)
	c.x.Reply.Status = 304
}
