package edge

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/http1"
)

// Reply is what the handler answers. Content-Length, Date, Connection and
// X-Request-Id are added to it; a handler must not set them.
type Reply struct {
	// Status is the status code; a reply without one becomes a 500.
	Status int
	// Body must stay valid until it is written, so it is either immutable
	// memory or built in Buf. It is not sent with a 204 or 304 or in answer to
	// HEAD, which gets its length alone.
	Body []byte
	// Buf is a buffer of length 0 to build a body in. Give the result to Build,
	// so that what it has grown to is there for the next exchange.
	Buf []byte
	// Close asks for the connection to be closed after this answer.
	Close bool

	lines []byte
}

// Build makes b the body, where b is Buf with bytes appended:
// x.Reply.Build(append(x.Reply.Buf, ...)). Never give it memory of another's:
// later exchanges write into it.
func (r *Reply) Build(b []byte) { r.Buf, r.Body = b[:0], b }

// Reset makes r ready for the next exchange and keeps its buffers.
func (r *Reply) Reset() {
	r.Status, r.Body, r.Buf, r.Close, r.lines = 0, nil, r.Buf[:0], false, r.lines[:0]
}

// clear takes back what a handler has said so far.
func (r *Reply) clear() {
	r.Body, r.lines, r.Buf = nil, r.lines[:0], r.Buf[:0]
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

// Remove takes back the header lines whose names were given as a or b: for a
// handler that stands before another one and changes what it answers.
func (r *Reply) Remove(a, b string) {
	kept := r.lines[:0]
	for line := range bytes.Lines(r.lines) {
		if !called(line, a) && !called(line, b) {
			kept = append(kept, line...)
		}
	}
	r.lines = kept
}

func called(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && string(line[:len(name)]) == name
}

// settle replaces a status that can't be sent.
func (r *Reply) settle() {
	if r.Status < 200 || r.Status > 999 {
		r.Status = http.StatusInternalServerError
	}
}

// maxJoined is the largest body that is copied behind the head, to leave in
// one plain write. Larger ones are written from where they are.
const maxJoined = 16 << 10

// render writes the head of the answer, and the body if it is small, to x.out;
// what is still to be sent after it is returned.
func (x *Exchange) render(closing bool) (rest []byte) {
	r := &x.Reply
	r.settle()
	out := http1.AppendStatus(x.out[:0], r.Status)
	out = x.srv.date.Append(out, x.start)
	out = append(out, "X-Request-Id: "...)
	out = append(out, x.Record.RequestID...)
	out = append(out, "\r\n"...)
	out = append(out, r.lines...)
	allowed := http1.BodyAllowed(r.Status)
	if allowed {
		out = http1.AppendFieldUint(out, "Content-Length", uint64(len(r.Body)))
	}
	if closing {
		out = append(out, "Connection: close\r\n"...)
	} else if x.Request.Minor == 0 {
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	out = append(out, "\r\n"...)
	if allowed && !x.isHead() {
		if len(r.Body) <= maxJoined {
			out = append(out, r.Body...)
		} else {
			rest = r.Body
		}
	}
	x.out = out
	return rest
}

func (x *Exchange) isHead() bool { return string(x.Request.Method) == "HEAD" }
