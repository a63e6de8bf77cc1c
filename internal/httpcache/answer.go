package httpcache

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// hit answers from a stored object that was not fetched for this request.
func (c *call) hit(o *store.Object, status policy.CacheStatus, age int64) {
	c.setAge(age)
	c.x.Record.Age = max(time.Duration(age)*time.Second, 1)
	if c.callback.Admitted() && c.wrapForm(o, status) {
		return
	}
	if !c.req.Traits.Has(policy.HasRange) {
		if f := o.EncodedFor(&c.query); f != nil {
			c.answerEncoded(o, f, status)
			return
		}
	}
	c.answerObject(o, o.Head.Lines, status)
}

// setAge adds the field Age, except to the answer of a Plan, which is valid at any age.
func (c *call) setAge(seconds int64) {
	if c.plan == nil {
		c.x.Reply.FieldUint("Age", uint64(seconds))
	}
}

func (c *call) answerEncoded(o *store.Object, f *store.EncodedVariant, status policy.CacheStatus) {
	reply := &c.x.Reply
	reply.Status, reply.OwnDate = http.StatusOK, c.sendsStoredDate()
	if policy.NotModified(&c.req, &o.Head.Response, c.now, c.opt) {
		reply.Status = http.StatusNotModified
	} else {
		reply.Field("Content-Encoding", f.Coding)
	}
	reply.Lines(f.Lines)
	c.finishHead(status)
	c.sendBody(f.Body, 0, f.Body.Len())
}

// answerFetched answers with an object that the origin has just sent or validated, or another
// member has sent.
func (c *call) answerFetched(o *store.Object, status policy.CacheStatus) {
	c.answerObject(o, c.freshLines(o.Head, status.Collapsed || c.progress.fromPeer), status)
}

// freshLines returns the lines of an answer with a response that was just received. The
// request that fetched it gets all fields of the origin, including Age. A collapsed request
// gets the lines of a hit, because fields hidden by private, no-cache or the configuration
// were for the other client. The lines are in c.scratch.text or the head's.
func (c *call) freshLines(h *store.Head, collapsed bool) []byte {
	if collapsed {
		c.setAge(h.Response.Age(c.now))
		return h.Lines
	}
	c.scratch.text = append(appendLines(c.scratch.text[:0], h.Fields, c.opt), h.Added...)
	return c.scratch.text
}

// answerObject answers with a complete object. The lines may be in c.scratch.text.
func (c *call) answerObject(o *store.Object, lines []byte, status policy.CacheStatus) {
	if c.callback.Admitted() && c.wrapped(o, lines, status) {
		return
	}
	r := &o.Head.Response
	length := o.Body.Len()
	if o.IsPart() {
		length = r.Part.Total
	}
	out := policy.Evaluate(c.scratch.spans[:0], &c.req, r, length, c.now, c.opt)
	if out.Spans != nil {
		c.scratch.spans = out.Spans
	}
	if !c.openBody(o, &out) {
		return
	}
	reply := &c.x.Reply
	reply.Status, reply.OwnDate = out.Status, c.sendsStoredDate()
	switch {
	case out.Status == http.StatusPartialContent && len(out.Spans) > 1:
		c.multipart(o, lines, out.Spans, status)
	case out.Status == http.StatusPartialContent && len(out.Spans) == 1:
		c.answerRange(o, lines, out.Spans[0], length, status)
	case out.Status == http.StatusRequestedRangeNotSatisfiable && out.Status != r.Status:
		reply.OwnDate = false
		reply.Field("Content-Range", "bytes */"+strconv.FormatInt(length, 10))
		c.finishHead(status)
	default:
		reply.Lines(lines)
		c.finishHead(status)
		c.sendBody(o.Body, 0, o.Body.Len())
	}
}

// sendBody sends n bytes of a body; for HEAD only their length, and for 304 nothing.
func (c *call) sendBody(stored *store.Body, from, n int64) {
	reply := &c.x.Reply
	switch {
	case reply.Status == http.StatusNotModified:
		return
	case c.req.Method == policy.HEAD:
		reply.Length = n
		return
	}
	if b, m, ok := stored.Acquire(); ok {
		reply.Body, reply.Pages = b[from:from+n], m.Run()
		if m.Tracked() {
			reply.Loan = m
		}
		return
	}
	c.progress.streamed = true
	c.holdBody(stored)
	out, err := c.x.Stream(n)
	if err != nil {
		return // the client is gone
	}
	if c.copyRange(out, stored, from, n) == nil {
		_ = out.Close() // edge counts clients that disconnect
	}
}

// holdBody counts the memory of a streamed body until the answer has ended.
func (c *call) holdBody(b *store.Body) {
	if m := b.Hold(); m.Tracked() {
		c.x.Reply.Loan = m
	}
}

// answerRange answers with one range of a response of length bytes.
func (c *call) answerRange(o *store.Object, lines []byte, s policy.Span, length int64, status policy.CacheStatus) {
	c.linesWithout(lines, "Content-Range")
	c.x.Reply.FieldBytes("Content-Range", appendContentRange(nil, s, length))
	c.finishHead(status)
	from := s.Start
	if o.IsPart() {
		from -= o.Head.Response.Part.First
	}
	c.sendBody(o.Body, from, s.Length)
}

func appendContentRange(dst []byte, s policy.Span, length int64) []byte {
	dst = strconv.AppendInt(append(dst, "bytes "...), s.Start, 10)
	dst = strconv.AppendInt(append(dst, '-'), s.Start+s.Length-1, 10)
	return strconv.AppendInt(append(dst, '/'), length, 10)
}

// linesWithout adds lines, except fields of these names.
func (c *call) linesWithout(lines []byte, names ...string) {
	for len(lines) > 0 {
		line := lines[:lineEnd(lines)]
		lines = lines[len(line):]
		if !slices.ContainsFunc(names, func(name string) bool { return lineIs(line, name) }) {
			c.x.Reply.Lines(line)
		}
	}
}

// lineEnd returns the end of the first line, including its CRLF.
func lineEnd(lines []byte) int {
	for i, b := range lines {
		if b == '\n' {
			return i + 1
		}
	}
	return len(lines)
}

func lineIs(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && ascii.EqualFold(line[:len(name)], name)
}

// multipart answers with several ranges (RFC 9110, section 14.6). o is never a part: a
// stored part answers for one range only.
func (c *call) multipart(o *store.Object, lines []byte, spans []policy.Span, status policy.CacheStatus) {
	boundary := strconv.FormatUint(rand.Uint64(), 36)
	c.linesWithout(lines, "Content-Range", "Content-Type")
	c.x.Reply.Field("Content-Type", "multipart/byteranges; boundary="+boundary)
	c.finishHead(status)
	heads := make([][]byte, len(spans))
	total := int64(0)
	for i, s := range spans {
		heads[i] = partHead(boundary, o.Head.Fields.Get("Content-Type"), s, o.Body.Len(), i == 0)
		total += int64(len(heads[i])) + s.Length
	}
	last := []byte("\r\n--" + boundary + "--\r\n")
	c.progress.streamed = true
	c.holdBody(o.Body)
	out, err := c.x.Stream(total + int64(len(last)))
	if err != nil {
		return // the client is gone
	}
	for i, s := range spans {
		if _, err := out.Write(heads[i]); err != nil || c.copyRange(out, o.Body, s.Start, s.Length) != nil {
			return
		}
	}
	if _, err := out.Write(last); err == nil {
		_ = out.Close() // edge counts clients that disconnect
	}
}

func partHead(boundary string, contentType []byte, s policy.Span, length int64, first bool) []byte {
	var h []byte
	if !first {
		h = append(h, "\r\n"...)
	}
	h = append(append(append(h, "--"...), boundary...), "\r\n"...)
	if len(contentType) > 0 {
		h = http1.AppendFieldBytes(h, "Content-Type", contentType)
	}
	return append(http1.AppendFieldBytes(h, "Content-Range", appendContentRange(nil, s, length)), "\r\n"...)
}
