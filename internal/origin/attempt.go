package origin

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/kasoku/kasoku/internal/http1"
)

// outcome is the result of one attempt: a response or a fault.
type outcome struct {
	response *Response
	fault    *Fault
	// started is false if breaker, limiter, Prepare or the caller prevented the attempt.
	started bool
}

// reached reports whether the origin may have executed the request.
func (o *outcome) reached() bool {
	if o.fault != nil {
		return o.fault.Reached
	}
	return o.response.Class != Throttled && o.response.Class != Refused
}

// mayRepeat reports whether another attempt is useful and safe.
func (o *outcome) mayRepeat(r *Request) bool {
	if o.fault != nil {
		return o.fault.Kind != Canceled && o.fault.Kind != Withheld && (r.Repeatable || !o.fault.Reached)
	}
	switch o.response.Class {
	case Throttled:
		return true
	case Failed:
		return r.Repeatable
	}
	return false
}

// measurable reports whether the attempt's duration indicates the load of the origin.
func (o *outcome) measurable() bool {
	if o.fault != nil {
		return o.fault.Kind == Timeout
	}
	return o.response.Class == Good || o.response.Class == Refused
}

// attempt makes one attempt if breaker and limiter admit it.
func (c *Client) attempt(ctx context.Context, r *Request) outcome {
	if err := ctx.Err(); err != nil {
		return outcome{fault: &Fault{Kind: endKind(err), Err: err}}
	}
	permit, err := c.limiter.acquire(ctx)
	if err != nil {
		return outcome{fault: limited(ctx, err)}
	}
	o := c.execute(ctx, r)
	release(permit, o.started && o.measurable())
	return o
}

// errConnectLimit is the error of a request that does not wait for a connection.
var errConnectLimit = errors.New("the last connection attempt failed, and the maximum number of attempts is in progress")

func limited(ctx context.Context, err error) *Fault {
	if errors.Is(err, adaptivelimiter.ErrExceeded) {
		return &Fault{Kind: Overload, Err: errors.New("the limit of concurrent requests is reached and its queue is full")}
	}
	if end := ctx.Err(); end != nil {
		err = end
	}
	return &Fault{Kind: endKind(err), Err: err}
}

// endKind returns the fault kind of a context's error.
func endKind(err error) FaultKind {
	if errors.Is(err, context.DeadlineExceeded) {
		return Timeout
	}
	return Canceled
}

// execute prepares and sends the request, within the attempt's own time.
func (c *Client) execute(ctx context.Context, r *Request) outcome {
	x := exchanges.Get().(*exchange)
	defer x.free()
	if err := c.prepare(ctx, x, r); err != nil {
		f := &Fault{Kind: Unprepared, Err: err}
		if end := ctx.Err(); end != nil {
			f.Kind = endKind(end)
		}
		return outcome{fault: f}
	}
	now := time.Now()
	permit := c.breaker.force(now) // there is no other origin
	var o outcome
	o.response, o.fault = c.send(ctx, x, r.Guard, attemptDeadline(ctx, now, c.cfg.Timeout))
	o.started = o.fault == nil || o.fault.Kind != BreakerOpen
	if c.cfg.OnRefusal != nil && o.response != nil && (o.response.Class == Throttled || o.response.Class == Refused) {
		c.cfg.OnRefusal(r, o.response)
	}
	v, request := verdictOf(o.fault), uint64(0)
	if v == unanswered {
		request = requestHash(x.request.Method, x.request.Target, r.Body)
	}
	c.breaker.release(permit, v, request, time.Now())
	return o
}

var hashSeed = maphash.MakeSeed()

// requestHash identifies a request. body is nil if it is not in memory.
func requestHash(method, target, body []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	h.Write(method)
	h.WriteByte(' ')
	h.Write(target)
	h.WriteByte(' ')
	h.Write(body)
	return h.Sum64()
}

// prepare builds the bytes to send.
func (c *Client) prepare(ctx context.Context, x *exchange, r *Request) error {
	x.compose(c, r)
	if c.cfg.Prepare != nil {
		if err := c.cfg.Prepare(ctx, &x.request, r.Body); err != nil {
			return err
		}
	}
	return x.serialise(r.Body)
}

// attemptDeadline returns the deadline of an attempt that begins now.
func attemptDeadline(ctx context.Context, now time.Time, timeout time.Duration) time.Time {
	deadline := now.Add(timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		return d
	}
	return deadline
}

// send makes the exchange. If an idle connection turns out to be closed before a byte of the
// request was sent, send uses another one instead of failing.
func (c *Client) send(ctx context.Context, x *exchange, guard func() bool, deadline time.Time) (*Response, *Fault) {
	for {
		conn, err := c.pool.get(ctx, deadline)
		if err != nil {
			return nil, newFault(ctx, Dial, false, err)
		}
		used := conn.used
		resp, left, err := x.roundTrip(ctx, c.pool, conn, guard, c.cfg.MaxBody)
		if err == nil {
			resp.Class = c.cfg.Classify(resp.Status, resp.Header, resp.Body)
			return resp, nil
		}
		if f := newFault(ctx, Reset, left, err); left || !used || f.Kind != Reset {
			return nil, f
		}
	}
}

// newFault returns the fault for err. Its kind is the given one unless err is a timeout, a
// cancellation or an invalid answer. ctx is the caller's.
func newFault(ctx context.Context, kind FaultKind, reached bool, err error) *Fault {
	f := &Fault{Kind: kind, Reached: reached, Err: err}
	var refused *http1.Error
	end := ctx.Err()
	switch {
	case errors.Is(err, errWithheld):
		f.Kind = Withheld
		return f
	case end != nil:
		f.Kind = endKind(end)
	case errors.Is(err, errConnectLimit):
		f.Kind = BreakerOpen
	case isTimeout(err):
		f.Kind, end = Timeout, context.DeadlineExceeded
	case errors.As(err, &refused):
		f.Kind = Garbage
	}
	if end != nil && !errors.Is(err, end) {
		f.Err = fmt.Errorf("%w: %w", end, err)
	}
	return f
}
