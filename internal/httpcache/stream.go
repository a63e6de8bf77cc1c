package httpcache

import (
	"errors"
	"io"
	"strconv"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// stream answers with a body that is still arriving, or returns how to continue if none of
// it arrived.
func (c *call) stream(t *flight.Waiter, out flight.Outcome, status policy.CacheStatus) nextStep {
	if c.callback.Admitted() {
		if next, done := c.wrapFlight(t, out, status); done {
			return next
		}
	}
	r := &out.Head.Response
	what := policy.Evaluate(c.scratch.spans[:0], &c.req, r, out.Length, c.now, c.opt)
	switch {
	case what.Status == 304:
		status.FwdStatus = r.Status
		c.notModified(out.Head, status)
	case c.req.Method == policy.HEAD:
		c.missHead(out.Head, status)
		c.x.Reply.Length = out.Length
	case what.Status == 206 && len(what.Spans) == 1 && r.Status == 200 && t.StartAt(what.Spans[0].Start) == nil:
		s := what.Spans[0]
		return c.sendStream(t, s.Length, func() { c.beginPart(out, s, status) })
	case what.Status == 416 && r.Status == 200:
		c.x.Reply.Status = 416
		c.x.Reply.Field("Content-Range", "bytes */"+strconv.FormatInt(out.Length, 10))
		c.finishHead(status)
	default:
		return c.sendStream(t, out.Length, func() { c.missHead(out.Head, status) })
	}
	return answered
}

// beginPart begins an answer with a range of a body that is still arriving.
func (c *call) beginPart(out flight.Outcome, s policy.Span, status policy.CacheStatus) {
	reply := &c.x.Reply
	reply.Status, reply.OwnDate = 206, c.sendsStoredDate()
	c.linesWithout(c.freshLines(out.Head, status.Collapsed), "Content-Range")
	reply.FieldBytes("Content-Range", appendContentRange(nil, s, out.Length))
	status.FwdStatus = out.Head.Response.Status
	c.finishHead(status)
}

// sendStream answers with length bytes of a flight, or with all of them if length is
// negative. head makes the head of the answer.
//
// The head of a body with a known length waits for the first bytes. If the body ends before
// them, nothing has been sent: a request that had joined the flight is repeated, once, and
// the starter gets an error.
func (c *call) sendStream(t *flight.Waiter, length int64, head func()) nextStep {
	ctx := c.x.Context()
	var b []byte
	var err error
	if length > 0 {
		if b, err = t.Next(ctx); err != nil && t.Joined() && !c.joined.retried && ctx.Err() == nil {
			c.joined.retried = true
			return retryShared
		}
	}
	head()
	switch {
	case err != nil:
		c.unsent(err)
		return answered
	case length > 0 && length <= store.MaxCopied && int64(len(b)) >= length:
		c.x.Reply.Body = b[:length]
		return answered
	case length > 0 && int64(len(b)) >= length && t.Hold():
		c.x.Reply.Body, c.x.Reply.Loan = b[:length], t
		return answered
	}
	c.progress.streamed = true
	if length < 0 {
		b = t.TryNext()
	}
	c.x.Reply.Loan = t
	if out, serr := c.x.StreamWith(length, b); serr == nil { // otherwise the client has disconnected
		c.copyStream(out, t, length-int64(len(b)), length < 0)
	}
	return answered
}

// copyStream sends the next n bytes of a body, or with all every byte that arrives.
func (c *call) copyStream(out *edge.Outgoing, t *flight.Waiter, n int64, all bool) {
	var err error
	for all || n > 0 {
		var b []byte
		if b, err = t.Next(c.x.Context()); err != nil {
			break
		}
		if !all {
			b = b[:min(int64(len(b)), n)]
			n -= int64(len(b))
		}
		if _, werr := out.Write(b); werr != nil {
			return
		}
	}
	if err == nil {
		_ = out.Close() // edge accounts for clients that disconnect
		return
	}
	if err == io.EOF {
		out.Trailer(t.Trailer())
		_ = out.Close()
		return
	}
	c.logCut(err)
	out.Cut()
}

// unsent replaces an answer of which nothing was sent by an error.
func (c *call) unsent(err error) {
	c.x.Reply.Reset()
	var f *origin.Fault
	if !errors.As(err, &f) {
		f = c.interrupted(err)
	}
	status, words := c.faultStatus(f)
	c.refuse(status, words)
	c.x.Record.Error = f.Error()
}
