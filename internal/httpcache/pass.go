package httpcache

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/origin"
)

// outbound returns the client's request to an origin, without its body. header is
// forOrigin's. The result is valid until the next call.
func (c *call) outbound(header http1.Fields) *origin.Outbound {
	r, q := &c.x.Request, &c.asked
	*q = origin.Outbound{
		Method: r.Method, Target: target(r), Header: c.x.Propagate(header), WantTrailer: c.connection.trailers,
		Interim: c.onInterim, Once: c.req.Traits.Has(policy.HasOverride),
	}
	if !c.set.cfg.OriginHost {
		q.Host = c.out.host
	}
	return q
}

// target returns the request target in origin form.
func target(r *http1.Request) []byte {
	if len(r.Target) > 0 && (r.Target[0] == '/' || r.Target[0] == '*') {
		return r.Target
	}
	if r.RawQuery == nil {
		return r.Path
	}
	return append(append(append([]byte(nil), r.Path...), '?'), r.RawQuery...)
}

// interim forwards a 1xx answer.
func (c *call) interim(status int, h http1.Fields) {
	_ = c.x.Interim(status, policy.EndToEnd(nil, h)) // its loss does not matter
}

// withBody adds the request's body. One that has arrived is sent together with the head, others
// are streamed.
func (c *call) withBody(q *origin.Outbound) {
	x := c.x
	switch q.Length = x.BodyLength(); {
	case q.Length == 0:
		return
	case len(x.Body) > 0 && !x.Request.Expect100:
		q.Content = x.Body
		return
	}
	q.Body, q.Trailer, q.Stop = x.BodyReader(), x.BodyTrailer, x.StopBody
	q.Expect = x.Request.Expect100
}

// ask sends a request to an origin and returns the answer's head. The access log gets the
// time that it took.
func (c *call) ask(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	if f := c.countRequest(); f != nil {
		return nil, f
	}
	c.svc.metrics.asked.Inc()
	start := time.Now()
	in, f := c.send(ctx, q)
	c.x.Record.Waited(start)
	if f != nil {
		c.progress.reachedOrigin = c.progress.reachedOrigin || f.Reached
		c.svc.logOriginFault(q.Method, q.Target, q.Header, f)
	} else {
		c.progress.reachedOrigin = true
	}
	return in, f
}

// pass forwards the request to an origin, and the answer to the client, without the cache.
func (c *call) pass(why policy.Reason) {
	q := c.outbound(c.forOrigin())
	c.withBody(q)
	ctx := c.clientContext()
	if c.wantsOutcome() {
		t := c.beginWrite()
		defer t.end()
		ctx, q.AwaitAnswer = t.ctx, t.mayDetach
	}
	in, f := c.ask(ctx, q)
	if f != nil {
		if !c.finished(WriteOutcome{Fault: f}) {
			c.answerFault(f)
		}
		return
	}
	c.svc.metrics.stored(policy.Passed)
	status := policy.CacheStatus{Reason: why, Forwarded: true, Storing: policy.Passed}
	if c.wantsOutcome() {
		defer in.Close()
		c.relayWhole(in, status)
		return
	}
	defer in.Recycle()
	c.relay(in, status)
}

// clientContext returns a context that ends when the client disconnects, for an exchange that
// ends before Serve returns.
func (c *call) clientContext() context.Context {
	if s := c.x.ClientScope(); s != nil {
		return s
	}
	return c.x.Context()
}

// relay gives the client an answer as the origin sends it.
func (c *call) relay(in *origin.Inbound, status policy.CacheStatus) {
	if c.callback.Admitted() && c.wrapRelay(&streamedWrap{
		status: in.Status, fields: in.Header, lines: func() []byte { return c.headLines(in, clock()) }, cacheStatus: status, ownDate: true,
		length: in.Length, body: &eofReader{in: in},
	}) {
		return
	}
	c.head(in, clock())
	c.finishHead(status)
	c.copyBody(in)
}

// head copies the head of an answer that is not stored.
func (c *call) head(in *origin.Inbound, now policy.Moment) {
	reply := &c.x.Reply
	reply.Status, reply.OwnDate = in.Status, true
	reply.Lines(c.headLines(in, now))
}

// headLines returns the lines of an answer that is not stored. They are in c.scratch.text.
func (c *call) headLines(in *origin.Inbound, now policy.Moment) []byte {
	c.scratch.text = appendLines(c.scratch.text[:0], c.receivedFields(in, now), c.opt)
	c.scratch.text = http1.AppendFieldBytes(c.scratch.text, "Via", via[in.Minor].Value)
	return c.scratch.text
}

// receivedFields returns the fields of an answer that concern its receiver. They are in
// c.scratch.dated.
func (c *call) receivedFields(in *origin.Inbound, now policy.Moment) http1.Fields {
	c.scratch.fields = policy.EndToEnd(c.scratch.fields[:0], in.Header)
	c.scratch.dated = policy.Dated(c.scratch.dated[:0], c.scratch.fields, now)
	return c.scratch.dated
}

// via is the field Via of answers, by the minor version of HTTP/1 that the origin speaks.
var via = [...]http1.Field{
	{Name: []byte("Via"), Value: []byte("1.0 kasoku")},
	{Name: []byte("Via"), Value: []byte("1.1 kasoku")},
}

// appendLines renders valid fields, except those that edge writes and those that are hidden
// from clients.
func appendLines(dst []byte, fields http1.Fields, o *policy.Options) []byte {
	for i := range fields {
		f := &fields[i]
		if ascii.EqualFold(f.Name, "Content-Length") || ascii.EqualFold(f.Name, "X-Request-Id") || o.Strips(f.Name) {
			continue
		}
		dst = append(append(dst, f.Name...), ": "...)
		dst = append(append(dst, f.Value...), "\r\n"...)
	}
	return dst
}

var (
	copyBuffers  = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}
	smallBuffers = sync.Pool{New: func() any { b := make([]byte, 4<<10); return &b }}
)

// buffers returns the pool of copy buffers: small ones while memory is short.
func (c *call) buffers() *sync.Pool {
	if c.svc.budget.Pressed() {
		return &smallBuffers
	}
	return &copyBuffers
}

// copyBody gives the client an answer's body.
func (c *call) copyBody(in *origin.Inbound) { c.copyBodyTo(in, nil) }

// copyBodyTo is copyBody, with a copy for keep. The head of a body with a known length waits
// for its first bytes: both are sent together, and a body that fails before them is answered
// with an error.
func (c *call) copyBodyTo(in *origin.Inbound, keep *collector) {
	defer keep.release()
	if c.req.Method == policy.HEAD || in.Status == http.StatusNotModified {
		c.x.Reply.Length = in.Length
		return
	}
	buffers := c.buffers()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	n, err := 0, error(nil)
	from := &c.from
	*from = eofReader{in: in}
	if in.Length > 0 {
		n, err = from.Read(*buf)
		keep.add((*buf)[:n], err)
		switch {
		case err == io.EOF:
			c.x.Reply.Build(append(c.x.Reply.Buf, (*buf)[:n]...))
			return
		case n == 0 && err != nil:
			c.unsent(err)
			return
		}
	}
	c.progress.streamed = true
	if out, serr := c.x.StreamWith(in.Length, (*buf)[:n]); serr == nil { // otherwise the client is gone
		c.copyRest(out, from, keep, *buf, err)
	}
}

// errSurplus means that a body is longer than announced.
var errSurplus = errors.New("httpcache: the body is longer than was announced")

// eofReader reads an answer's body. For one with a known length it returns io.EOF together
// with the last bytes, so that the body is stored before the client has all of it and
// requests it again.
type eofReader struct {
	in   *origin.Inbound
	got  int64
	more [1]byte
}

func (e *eofReader) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	e.got += int64(n)
	if n > 0 && err == nil && e.got == e.in.Length {
		if _, err = e.in.Read(e.more[:]); err == nil {
			err = errSurplus
		}
	}
	return n, err
}

// copyRest streams the rest of a body behind its first bytes, whose Read returned err.
func (c *call) copyRest(out *edge.Outgoing, from *eofReader, keep *collector, buf []byte, err error) {
	for {
		switch {
		case err == io.EOF:
			out.Trailer(trailer(from.in, c.opt))
			_ = out.Close() // edge counts clients that disconnect
			return
		case err != nil:
			c.logCut(err)
			out.Cut()
			return
		}
		var n int
		n, err = from.Read(buf)
		keep.add(buf[:n], err)
		if _, werr := out.Write(buf[:n]); werr != nil {
			return
		}
	}
}

// trailer returns the trailer fields of a whole body that are not hidden from clients.
func trailer(in *origin.Inbound, o *policy.Options) http1.Fields {
	return slices.DeleteFunc(slices.Clone(in.Trailer()), func(f http1.Field) bool { return o.Strips(f.Name) })
}

// answerFault answers a request that got no answer from an origin.
func (c *call) answerFault(f *origin.Fault) {
	if errors.Is(f, inflight.ErrFull) {
		c.refuseNoMemory()
		return
	}
	status, words := c.faultStatus(f)
	c.refuse(status, words)
	c.count(policy.OriginSilent, nil)
	c.x.Record.Error = f.Error()
}

// faultStatus returns the status and the text of the answer to a fault.
func (c *call) faultStatus(f *origin.Fault) (status int, words string) {
	var refused *http1.Error
	switch {
	case f.Kind == origin.Canceled && errors.Is(context.Cause(c.x.Context()), edge.ErrClientGone):
		return statusClientGone, "the client went away"
	case f.Kind == origin.Withheld:
		return http.StatusGatewayTimeout, "this node has lost contact with its cluster; the request may have been executed"
	case f.Kind == origin.Timeout:
		return http.StatusGatewayTimeout, "the origin did not answer in time"
	case f.Kind == origin.BreakerOpen || f.Kind == origin.Overload:
		return http.StatusServiceUnavailable, "the origin is overloaded or failing; try again"
	case f.Kind == origin.Dial:
		return http.StatusBadGateway, "no connection to the origin"
	case errors.As(f.Err, &refused) && refused.Status < 500:
		return refused.Status, refused.Reason // the client's body is invalid
	case f.Kind == origin.Garbage:
		return http.StatusBadGateway, "the origin's answer is not valid HTTP"
	}
	return http.StatusBadGateway, "the origin ended the connection without an answer"
}

// statusClientGone is logged for a client that did not wait for the answer. It is never
// sent.
const statusClientGone = 499

// tunnel forwards a request for another protocol, and then the bytes of both sides.
func (c *call) tunnel() {
	header := c.forOrigin()
	for _, f := range c.x.Request.Fields {
		if ascii.EqualFold(f.Name, "Upgrade") {
			header = append(header, f)
		}
	}
	q := c.outbound(header)
	q.Upgrade = true
	in, f := c.ask(c.x.Context(), q)
	if f != nil {
		c.answerFault(f)
		return
	}
	if in.Status != http.StatusSwitchingProtocols {
		defer in.Close()
		c.relay(in, policy.CacheStatus{Reason: policy.UpgradePassed, Forwarded: true, Storing: policy.Passed})
		return
	}
	c.runTunnel(in)
}

func (c *call) runTunnel(in *origin.Inbound) {
	up := in.Conn()
	defer up.Close()
	c.head(in, c.now)
	for _, f := range in.Header {
		if ascii.EqualFold(f.Name, "Upgrade") {
			c.x.Reply.FieldBytes("Upgrade", f.Value)
		}
	}
	c.count(policy.UpgradePassed, nil)
	c.progress.streamed = true
	down, err := c.x.Upgrade()
	if err != nil {
		return
	}
	splice(down, up)
}

// halfCloser is a connection whose directions end separately.
type halfCloser interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// splice copies in both directions until both have ended.
func splice(a, b io.ReadWriteCloser) {
	var both sync.WaitGroup
	for _, way := range [][2]io.ReadWriteCloser{{a, b}, {b, a}} {
		both.Go(func() {
			from, to := way[0], way[1]
			_, err := io.Copy(to, from)
			if half, ok := to.(halfCloser); ok && err == nil {
				_ = half.CloseWrite() // the other side sees the end, or its own error
				return
			}
			_ = to.Close()
			_ = from.Close()
		})
	}
	both.Wait()
}
