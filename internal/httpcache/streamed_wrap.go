package httpcache

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/coding"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/origin"
)

// streamedWrap is an answer that is wrapped while its body arrives, without a look at the
// whole body before.
type streamedWrap struct {
	status      int
	fields      http1.Fields
	lines       func() []byte // of the unwrapped answer
	cacheStatus policy.CacheStatus
	ownDate     bool
	length      int64 // of the body, -1 if it is not known
	body        io.Reader
	loan        edge.Loan // of the memory that body reads from

	decoded bool
}

// wrapStreamed answers with f in the requested call. If it returns false, nothing of f was
// read and the answer is sent unwrapped. An error is the body's, before anything was sent.
func (c *call) wrapStreamed(f *streamedWrap) (done bool, err error) {
	cb := &c.callback
	does := cb.judge(f.status, f.fields, jsonp.Unseen)
	if does == jsonp.DecodeIt {
		if !c.decode(f) {
			return true, nil
		}
		does = cb.JudgeDecoded()
	}
	switch {
	case does == jsonp.LeaveIt:
		return false, nil
	case cb.Bare() || c.req.Method == policy.HEAD:
		c.wrapHead(f)
		return true, nil
	}
	if cb.Wrap(); cb.NotModified(f.fields.Get("ETag")) {
		c.beginCall(f.status, f.lines(), f.cacheStatus, f.ownDate)
		return true, nil
	}
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	n, err := fillUp(f.body, *buf)
	if err != nil && err != io.EOF {
		return true, err
	}
	c.wrapFrom(f, *buf, n, err == io.EOF)
	return true, nil
}

// maxEmptyReads is how many reads may return no bytes.
const maxEmptyReads = 100

// fillUp reads until buf is full or the body is at its end.
func fillUp(r io.Reader, buf []byte) (n int, err error) {
	for empty := 0; n < len(buf) && err == nil && empty < maxEmptyReads; {
		var m int
		if m, err = r.Read(buf[n:]); m == 0 {
			empty++
		}
		n += m
	}
	return n, err
}

// wrapHead answers without reading the body.
func (c *call) wrapHead(f *streamedWrap) {
	cb := &c.callback
	bare := cb.Bare()
	if c.beginCall(f.status, f.lines(), f.cacheStatus, f.ownDate) {
		return
	}
	if bare {
		c.wrapNothing()
		return
	}
	c.x.Reply.Length = -1 // the length after escaping is not known
}

// wrapFrom answers with a body whose first n bytes are in buf. all means that it has no
// more.
func (c *call) wrapFrom(f *streamedWrap, buf []byte, n int, all bool) {
	cb, reply := &c.callback, &c.x.Reply
	start := buf[:n]
	if cb.JudgeBody(cb.Filter().Look(start)) != jsonp.WrapIt {
		c.unwrapped(f, buf, n, all)
		return
	}
	c.beginCall(f.status, f.lines(), f.cacheStatus, f.ownDate)
	if all {
		known := cb.Scan(start)
		reply.Build(cb.Call().Append(reply.Buf, start, &known))
		return
	}
	c.progress.streamed = true
	c.borrow(f)
	out, err := c.x.Stream(-1)
	if err != nil {
		return // the client has disconnected
	}
	w := &cb.writer
	w.Reset(out, cb.Call())
	if c.pour(w, f, buf, n) && w.Close() == nil {
		_ = out.Close() // edge accounts for clients that disconnect
		return
	}
	out.Cut()
}

// unwrapped answers with a body that has turned out not to be wrapped.
func (c *call) unwrapped(f *streamedWrap, buf []byte, n int, all bool) {
	reply := &c.x.Reply
	reply.Status, reply.OwnDate = f.status, f.ownDate
	length := f.length
	if f.decoded {
		length = -1
		c.linesWithout(f.lines(), ofCoded...)
	} else {
		reply.Lines(f.lines())
	}
	c.finishHead(f.cacheStatus)
	if all {
		reply.Build(append(reply.Buf, buf[:n]...))
		return
	}
	c.progress.streamed = true
	c.borrow(f)
	out, err := c.x.Stream(length)
	if err != nil {
		return
	}
	if c.pour(out, f, buf, n) {
		_ = out.Close()
		return
	}
	out.Cut()
}

// ofCoded are the fields that describe the encoded body.
var ofCoded = []string{"Content-Encoding", "ETag", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"}

// borrow keeps the memory that a body is read from counted until the answer has ended.
func (c *call) borrow(f *streamedWrap) {
	if f.loan != nil {
		c.x.Reply.Loan = f.loan
	}
}

// pour writes the first n bytes of buf and what follows them. It returns false if the body
// broke off or the client has disconnected.
func (c *call) pour(w io.Writer, f *streamedWrap, buf []byte, n int) bool {
	for {
		if _, err := w.Write(buf[:n]); err != nil {
			return false
		}
		var err error
		n, err = f.body.Read(buf)
		switch {
		case err == io.EOF:
			_, err = w.Write(buf[:n])
			return err == nil
		case err != nil:
			c.logCut(err)
			return false
		}
	}
}

// decode removes f's content coding. If that fails the answer is an error, since the waiting
// script could do nothing with encoded bytes. It reports whether it succeeded.
func (c *call) decode(f *streamedWrap) bool {
	f.decoded = true
	if c.req.Method == policy.HEAD {
		return true
	}
	r, err := coding.NewReader(string(f.fields.Get("Content-Encoding")), f.body)
	if err != nil {
		c.refuse(http.StatusBadGateway, "the origin's answer has a content coding that can't be undone, which a callback needs")
		c.count(f.cacheStatus.Reason, nil)
		return false
	}
	f.body = r
	return true
}

// wrapRelay wraps an answer that is for this client alone. If it returns false the answer is
// sent unwrapped.
func (c *call) wrapRelay(f *streamedWrap) bool {
	done, err := c.wrapStreamed(f)
	if err != nil {
		c.unsent(err)
		c.count(policy.OriginSilent, nil)
	}
	return done
}

// wrapStored answers with an object whose body has to be read in order: from disk, or to
// decode it.
func (c *call) wrapStored(o *store.Object, lines []byte, status policy.CacheStatus) bool {
	if !c.openBody(o, &policy.Outcome{Status: http.StatusOK}) {
		return true
	}
	m := o.Body.Hold()
	f := &streamedWrap{
		status: o.Head.Response.Status, fields: o.Head.Fields, lines: func() []byte { return lines }, cacheStatus: status, ownDate: c.sendsStoredDate(),
		length: o.Body.Len(),
	}
	if o.OnDisk() {
		f.body = &diskReader{c: c, body: o.Body}
	} else {
		f.body = m.Reader()
		if m.Tracked() {
			f.loan = m
		}
	}
	done, err := c.wrapStreamed(f)
	if f.loan == nil || c.x.Reply.Loan == nil {
		m.Return()
	}
	switch {
	case !done:
		c.closeReader()
	case err != nil:
		c.unsent(&origin.Fault{Origin: c.svc.name, Kind: origin.Garbage, Reached: true, Err: err})
		c.count(policy.OriginSilent, nil)
	}
	return done
}

// diskReader reads a body that call.open has opened.
type diskReader struct {
	c    *call
	body *store.Body
	at   int64
}

func (r *diskReader) Read(p []byte) (int, error) {
	if r.at == r.body.Len() {
		return 0, io.EOF
	}
	b, err := r.c.reader.At(r.at)
	if errors.Is(err, disk.ErrDamaged) {
		r.c.svc.store.DropDamaged(r.body)
	}
	if err != nil {
		return 0, err
	}
	n := copy(p, b)
	r.at += int64(n)
	return n, nil
}

// waiterReader reads the body of a flight.
type waiterReader struct {
	t    *flight.Waiter
	ctx  context.Context
	rest []byte
}

func (r *waiterReader) Read(p []byte) (n int, err error) {
	if len(r.rest) == 0 {
		if r.rest, err = r.t.Next(r.ctx); err != nil {
			return 0, err
		}
	}
	n = copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// wrapFlight is stream for an answer that may be wrapped. If done is false it is not to be.
func (c *call) wrapFlight(t *flight.Waiter, out flight.Outcome, status policy.CacheStatus) (next nextStep, done bool) {
	ctx := c.x.Context()
	h := out.Head
	f := &streamedWrap{
		status: h.Response.Status, fields: h.Fields, cacheStatus: status, ownDate: c.sendsStoredDate(),
		lines:  func() []byte { return c.freshLines(h, status.Collapsed) },
		length: out.Length, body: &waiterReader{t: t, ctx: ctx}, loan: t,
	}
	done, err := c.wrapStreamed(f)
	if err != nil && t.Joined() && !c.joined.retried && ctx.Err() == nil {
		c.joined.retried = true
		return retryShared, true
	}
	if err != nil {
		c.unsent(err)
		c.count(policy.OriginSilent, nil)
	}
	return answered, done
}

// envelope answers with a wrapped status in place of a refusal, if errors are wrapped so. It
// reports whether it did.
func (c *call) envelope(status int) bool {
	cb := &c.callback
	if !cb.Admitted() || cb.judge(status, words, jsonp.Unseen) != jsonp.WrapIt {
		return false
	}
	reply := &c.x.Reply
	cb.Wrap()
	reply.Status = cb.Call().Status(status)
	cb.appendLines(reply, nil)
	c.wrapNothing()
	return true
}

var words = http1.FieldsOf("Content-Type", "text/plain; charset=utf-8")
