package edge

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/pages"
)

// Reply is the handler's answer. The server adds Content-Length, Date, Connection and
// X-Request-Id; a handler must not set them.
type Reply struct {
	// Status is the status code; a reply without one becomes a 500.
	Status int
	// Body must stay valid until it is written, so it is either immutable
	// memory or built in Buf. It is not sent with a 204 or 304 or in answer to
	// HEAD, which gets its length alone.
	Body []byte
	// Before and After are sent around Body, for an answer that adds something of its own to
	// a shared body. They are short, and usually built in Buf.
	Before, After []byte
	// Pages is the Run that contains Body, if there is one: then Body is not copied on its
	// way to a client without TLS. The Run is kept until the answer is written.
	Pages *pages.Run
	// Loan, if not nil, is returned when Body has been written or will not be, and for a
	// streamed answer when that has ended: from then on nothing of the answer refers to its
	// memory.
	Loan Loan
	// Buf is a buffer of length 0 to build a body in. Pass the result to Build, so that the
	// next exchange reuses the memory.
	Buf []byte
	// Close closes the connection after this answer.
	Close bool
	// Hangup closes the connection without an answer; over HTTP/2 it resets the stream.
	Hangup bool
	// OwnDate is set if the lines contain a Date: a cache repeats the origin's.
	OwnDate bool
	// Length is the Content-Length of an answer without a body: to HEAD with a nil Body, and
	// with a 304. -1 omits the line. 0 is the default: the length of Body for HEAD, none for
	// 304.
	Length int64

	lines []byte
}

// Loan is memory of an answer's body that belongs to someone else.
type Loan interface {
	Return()
	// Pace returns the minimum pace, in bytes a second, of a client that is waited for. A
	// value below the minimum for every answer has no effect. It is called after each wait.
	Pace() int64
}

// returnLoan returns the memory of the body.
func (r *Reply) returnLoan() {
	if r.Loan != nil {
		r.Body, r.Pages, r.Before, r.After = nil, nil, nil, nil
		r.Loan.Return()
		r.Loan = nil
	}
}

// Build makes b the body, where b is Buf with bytes appended:
// x.Reply.Build(append(x.Reply.Buf, ...)). Never pass memory of another owner: later
// exchanges write into it.
func (r *Reply) Build(b []byte) { r.Buf, r.Body = b[:0], b }

// Reset makes r ready for the next exchange and keeps its buffers.
func (r *Reply) Reset() {
	r.returnLoan()
	r.Status, r.Body, r.Buf, r.Close, r.lines = 0, nil, r.Buf[:0], false, r.lines[:0]
	r.Hangup = false
	r.OwnDate, r.Length, r.Pages, r.Before, r.After = false, 0, nil, nil, nil
}

// clear removes the answer that a handler has begun to build.
func (r *Reply) clear() {
	r.returnLoan()
	r.Body, r.lines, r.Buf, r.OwnDate, r.Length, r.Pages = nil, r.lines[:0], r.Buf[:0], false, 0, nil
	r.Before, r.After = nil, nil
}

// Field adds a header line. Control bytes in the value become blanks.
func (r *Reply) Field(name, value string) { r.lines = http1.AppendField(r.lines, name, value) }

// FieldBytes adds a header line. Control bytes in the value become blanks.
func (r *Reply) FieldBytes(name string, value []byte) {
	r.lines = http1.AppendFieldBytes(r.lines, name, value)
}

// FieldUint adds a header line with a number.
func (r *Reply) FieldUint(name string, v uint64) { r.lines = http1.AppendFieldUint(r.lines, name, v) }

// Lines adds prepared "Name: value\r\n" lines as they are.
func (r *Reply) Lines(prepared []byte) { r.lines = append(r.lines, prepared...) }

// Remove removes the header lines named a or b, for a handler that wraps another one and
// changes its answer.
func (r *Reply) Remove(a, b string) {
	kept := r.lines[:0]
	for line := range bytes.Lines(r.lines) {
		if !hasName(line, a) && !hasName(line, b) {
			kept = append(kept, line...)
		}
	}
	r.lines = kept
}

func hasName(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && string(line[:len(name)]) == name
}

// fixStatus replaces an invalid status.
func (r *Reply) fixStatus() {
	if r.Status < 200 || r.Status > 999 {
		r.Status = http.StatusInternalServerError
	}
}

// maxJoined is the largest body that is copied behind the head, to be sent in one write.
// Larger ones are written from their own memory.
const maxJoined = 16 << 10

// render writes the head of the answer, the bytes before its body, and the rest of it if the
// body is small, to x.out. It returns the bytes that are still to be sent after that.
func (x *Exchange) render() (body, after []byte) {
	r := &x.Reply
	r.fixStatus()
	out := x.appendHead(x.out[:0], x.replyLength(), false)
	if http1.BodyAllowed(r.Status) && !x.isHead() {
		out = append(out, r.Before...)
		if len(r.Body) <= maxJoined {
			out = append(append(out, r.Body...), r.After...)
		} else {
			body, after = r.Body, r.After
		}
	}
	x.out = out
	return body, after
}

// replyLength returns the Content-Length of the answer in x.Reply, or noLength.
func (x *Exchange) replyLength() int64 {
	r := &x.Reply
	switch allowed := http1.BodyAllowed(r.Status); {
	case allowed && (r.Body != nil || r.Length == 0 || !x.isHead()):
		return int64(len(r.Before) + len(r.Body) + len(r.After))
	case r.Length > 0 && (allowed || r.Status == http.StatusNotModified):
		return r.Length
	}
	return noLength
}

// appendHead writes the head of the answer.
func (x *Exchange) appendHead(out []byte, length int64, chunked bool) []byte {
	r := &x.Reply
	out = http1.AppendStatus(out, r.Status)
	if !r.OwnDate {
		out = x.srv.date.Append(out, x.start)
	}
	out = append(out, "X-Request-Id: "...)
	out = append(out, x.Record.RequestID...)
	out = append(out, "\r\n"...)
	out = append(out, r.lines...)
	switch {
	case chunked:
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	case length >= 0:
		out = http1.AppendFieldUint(out, "Content-Length", uint64(length))
	}
	switch {
	case r.Status == http.StatusSwitchingProtocols:
		out = append(out, "Connection: Upgrade\r\n"...)
	case x.closing:
		out = append(out, "Connection: close\r\n"...)
	case x.Request.Minor == 0:
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	return append(out, "\r\n"...)
}

func (x *Exchange) isHead() bool { return string(x.Request.Method) == "HEAD" }
