package httpcache

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// wrapped answers with a stored object in the requested call. If it returns false the answer
// is sent unwrapped. lines may be in c.scratch.text.
func (c *call) wrapped(o *store.Object, lines []byte, status policy.CacheStatus) bool {
	cb := &c.callback
	r := &o.Head.Response
	does := cb.judge(r.Status, o.Head.Fields, jsonp.Unseen)
	switch {
	case does == jsonp.LeaveIt:
		return false
	case does == jsonp.DecodeIt || o.OnDisk():
		return c.wrapStored(o, lines, status)
	}
	known := o.Body.ScanJSONP(cb.Filter())
	if known.Kind != jsonp.JSON && cb.JudgeBody(known.Kind) == jsonp.LeaveIt {
		return false
	}
	if !c.beginCall(r.Status, lines, status, c.sendsStoredDate()) {
		c.wrapBody(o.Body, known)
	}
	return true
}

// beginCall begins a wrapped answer; lines are those of the unwrapped one. It reports
// whether the client has the body already, so that nothing follows.
func (c *call) beginCall(status int, lines []byte, cs policy.CacheStatus, ownDate bool) (same bool) {
	cb, reply := &c.callback, &c.x.Reply
	cb.Wrap()
	reply.Status, reply.OwnDate = cb.Call().Status(status), ownDate
	if cb.appendLines(reply, lines) {
		reply.Status, same = http.StatusNotModified, true
	}
	c.finishHead(cs)
	return same
}

// appendLines appends the lines of the wrapped answer, made of those of the unwrapped one.
// It reports whether the client has that answer.
func (cb *callback) appendLines(reply *edge.Reply, lines []byte) (same bool) {
	var tag []byte
	for len(lines) > 0 {
		line := lines[:lineEnd(lines)]
		lines = lines[len(line):]
		name, value, _ := bytes.Cut(line, colon)
		if ascii.EqualFold(name, "ETag") {
			tag = bytes.TrimSpace(value)
		}
		if !cb.Filter().Drops(name) {
			reply.Lines(line)
		}
	}
	cb.text = cb.Call().AppendLines(cb.text[:0])
	reply.Lines(cb.text)
	if cb.text = cb.Call().AppendETag(cb.text[:0], tag); len(cb.text) > 0 {
		reply.FieldBytes("ETag", cb.text)
	}
	return cb.NotModified(tag)
}

var colon = []byte{':'}

// wrapBody sends a body in the call that was begun.
func (c *call) wrapBody(stored *store.Body, known *jsonp.Body) {
	cb, reply := &c.callback, &c.x.Reply
	switch {
	case cb.Bare():
		c.wrapNothing()
		return
	case c.req.Method == policy.HEAD:
		reply.Length = cb.Call().Length(known)
		return
	}
	if text, m, ok := stored.Acquire(); ok {
		if c.wrapPiece(text, m, known) {
			return
		}
		m.Return()
	}
	c.wrapPieces(stored, known)
}

// wrapNothing sends a call without a body.
func (c *call) wrapNothing() {
	c.x.Reply.Build(c.callback.Call().AppendEmpty(c.x.Reply.Buf))
}

// maxEscaped is the longest body that is copied in order to escape it. Longer ones are
// streamed.
const maxEscaped = 64 << 10

// wrapPiece sends a body that is in one piece of memory. It returns false if the body is too
// long to be escaped at once.
func (c *call) wrapPiece(text []byte, m *store.Memory, known *jsonp.Body) bool {
	cb, reply := &c.callback, &c.x.Reply
	switch n := known.To - known.From; {
	case n <= store.MaxCopied, known.Separators > 0 && n <= maxEscaped:
		reply.Build(cb.Call().Append(reply.Buf, text, known))
		m.Return()
		return true
	case known.Separators > 0:
		return false
	}
	cb.text = cb.Call().AppendTail(cb.text[:0], known)
	c.around(cb.Call().AppendHead(reply.Buf), cb.text)
	reply.Body, reply.Pages = text[known.From:known.To], m.Run()
	if m.Tracked() {
		reply.Loan = m
	}
	return true
}

// around sends head and tail around the body. head begins where Reply.Buf does.
func (c *call) around(head, tail []byte) {
	b := append(head, tail...)
	reply := &c.x.Reply
	reply.Before, reply.After, reply.Buf = b[:len(head):len(head)], b[len(head):], b[:0]
}

// wrapPieces streams a body that is in several pieces, or has to be escaped.
func (c *call) wrapPieces(stored *store.Body, known *jsonp.Body) {
	cb := &c.callback
	c.progress.streamed = true
	c.holdBody(stored)
	out, err := c.x.Stream(cb.Call().Length(known))
	if err != nil {
		return // the client has disconnected
	}
	cb.writer.Reset(out, cb.Call())
	if c.copyRange(&cb.writer, stored, 0, stored.Len()) == nil && cb.writer.Close() == nil {
		_ = out.Close() // edge accounts for clients that disconnect
	}
}

// wrapForm answers with a body that was compressed once for all calls. It returns false if
// there is none for this client.
func (c *call) wrapForm(o *store.Object, status policy.CacheStatus) bool {
	cb, reply := &c.callback, &c.x.Reply
	if !cb.gzip {
		return false
	}
	f := o.PackedFor(cb.Filter())
	if f == nil || cb.judge(o.Head.Response.Status, o.Head.Fields, jsonp.JSON) != jsonp.WrapIt {
		return false
	}
	if c.beginCall(o.Head.Response.Status, f.Lines, status, c.sendsStoredDate()) {
		return true
	}
	reply.Field("Content-Encoding", f.Coding)
	if c.req.Method == policy.HEAD {
		reply.Length = f.Packed.CallLength(cb.Call())
		return true
	}
	var head []byte
	head, cb.text = f.Packed.Call(reply.Buf, cb.text[:0], cb.Call())
	c.around(head, cb.text)
	reply.Body = f.Packed.Middle()
	return true
}
