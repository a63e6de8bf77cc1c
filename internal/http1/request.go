// Package http1 reads and writes HTTP/1.1 messages, strictly and without
// allocating: the head of a request or an answer becomes slices of the buffer it
// arrived in, a chunked body is decoded as its bytes come, and heads are appended
// to a caller's buffer. The package does no I/O and holds no state of its own.
//
// Strict means that whatever two implementations could read in two ways is
// refused instead of repaired: both framings at once, folded lines, bare line
// feeds, lists of lengths. Every such refusal is an *Error, and after an
// *Error the connection must be closed: where the next message starts is no
// longer certain.
package http1

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Request is one parsed head. All slices alias the buffer given to
// ParseRequest and live as long as that buffer is left alone.
type Request struct {
	// Method is as sent, upper case by construction.
	Method []byte
	// Target is the request target as sent, whatever its form.
	Target []byte
	// Path and RawQuery are the target split at the first '?', not decoded.
	// Path is "*" for "OPTIONS *".
	Path, RawQuery []byte
	// Host is the Host field, or the authority of an absolute-form target,
	// which goes first. It may be nil in HTTP/1.0.
	Host []byte
	// Minor is 0 for HTTP/1.0 and 1 for every later HTTP/1.
	Minor int
	// Fields are the header lines in their order.
	Fields Fields
	// ContentLength is the announced length of the body: -1 when it is
	// chunked, 0 when there is none.
	ContentLength int64
	// Chunked says that the body comes in chunks.
	Chunked bool
	// Close says that the client wants the connection closed afterwards.
	Close bool
	// Expect100 says that the client waits for "100 Continue" before it sends
	// the body.
	Expect100 bool

	scan scanState
}

// Reset forgets the head, and any half-parsed one, but keeps the storage of
// Fields.
func (r *Request) Reset() { *r = Request{Fields: r.Fields[:0]} }

// Get returns the value of the first field called name, in any case, or nil.
func (r *Request) Get(name string) []byte { return r.Fields.Get(name) }

// Limits bound what a head may hold. The zero value of a limit means its
// default.
type Limits struct {
	// Head is the size of the whole head in bytes, request line included.
	// Default 32 KiB; over it the answer is 431.
	Head int
	// Target is the length of the request target. Default 8 KiB; over it the
	// answer is 414.
	Target int
	// Fields is the number of header lines. Default 128; over it the answer
	// is 431.
	Fields int
	// Underscores keeps fields whose names have an underscore. By default they are left
	// out: CGI, WSGI and PHP give an application one variable for X_Real_IP and X-Real-IP, so
	// that the one could be sent in place of the other.
	Underscores bool
	// Secure says that the connection is TLS: an absolute-form target must
	// then name the scheme https, and http otherwise.
	Secure bool
}

// Drops reports whether a field of that name is left out. Proxy always is: CGI makes
// HTTP_PROXY of it, by which programs choose the proxy of their own requests.
func (lim *Limits) Drops(name []byte) bool {
	return len(name) == len("proxy") && ascii.EqualFold(name, "proxy") || !lim.Underscores && bytes.IndexByte(name, '_') >= 0
}

// Error is a refused message. The connection it came from must be closed after
// the answer.
type Error struct {
	// Status is the status to answer the client with: 502 when it was an origin's
	// answer that was refused.
	Status int
	// Reason says what was wrong, for people.
	Reason string
}

func (e *Error) Error() string { return "http1: " + e.Reason }
