package httpcache

import (
	"errors"
	"io"
	"strconv"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin"
)

// stream answers with a body that is still coming.
func (c *call) stream(t *Ticket, out Outcome, status policy.CacheStatus) {
	r := &out.Head.Response
	what := policy.Evaluate(c.spans[:0], &c.req, r, out.Length, c.now, &c.set.options)
	switch {
	case what.Status == 304:
		status.FwdStatus = r.Status
		c.notModified(out.Head, status)
	case c.req.Method == policy.HEAD:
		c.missHead(out.Head, status)
		c.x.Reply.Length = out.Length
	case what.Status == 206 && len(what.Spans) == 1 && r.Status == 200:
		c.streamPart(t, out, what.Spans[0], status)
	case what.Status == 416 && r.Status == 200:
		c.x.Reply.Status = 416
		c.x.Reply.Field("Content-Range", "bytes */"+strconv.FormatInt(out.Length, 10))
		c.decided(status)
	default:
		c.missHead(out.Head, status)
		c.follower(t, out.Length, out.Length)
	}
}

// streamPart answers with a range of a body that is still coming.
func (c *call) streamPart(t *Ticket, out Outcome, s policy.Span, status policy.CacheStatus) {
	if t.From(s.Start) != nil {
		c.missHead(out.Head, status)
		c.follower(t, out.Length, out.Length)
		return
	}
	reply := &c.x.Reply
	reply.Status, reply.OwnDate = 206, true
	c.text = append(appendLines(c.text[:0], out.Head.Fields), out.Head.Added...)
	c.linesWithout(c.text, "Content-Range", "")
	reply.FieldBytes("Content-Range", appendContentRange(nil, s, out.Length))
	status.FwdStatus = out.Head.Response.Status
	c.decided(status)
	c.follower(t, s.Length, s.Length)
}

// follower sends up to n bytes (all that come if it is negative) as the flight
// brings them, as a body of that length.
//
// The head of a body with a known length waits for its first bytes: one that ends
// before them is told as what it is, an error.
func (c *call) follower(t *Ticket, length, n int64) {
	ctx := c.x.Context()
	var b []byte
	var err error
	if length > 0 {
		if b, err = t.Next(ctx); err != nil {
			c.unsent(err)
			return
		}
		if int64(len(b)) >= n {
			c.x.Reply.Body = b[:n]
			return
		}
	}
	c.streamed = true
	out, serr := c.x.Stream(length)
	if serr != nil {
		return // the client is gone
	}
	for {
		if n >= 0 {
			b = b[:min(int64(len(b)), n)]
			n -= int64(len(b))
		}
		if len(b) > 0 {
			if _, werr := out.Write(b); werr != nil {
				return
			}
		}
		if n == 0 {
			_ = out.Close() // edge accounts for clients that leave
			return
		}
		if b, err = t.Next(ctx); err != nil {
			break
		}
	}
	if err == io.EOF {
		_ = out.Close()
		return
	}
	c.svc.metrics.cut.Inc()
	out.Cut()
}

// unsent takes back an answer of which nothing has left, because nothing comes.
func (c *call) unsent(err error) {
	c.x.Reply.Reset()
	var f *origin.Fault
	if !errors.As(err, &f) {
		f = c.interrupted(err)
	}
	status, words := c.failure(f)
	c.refuse(status, words)
}
