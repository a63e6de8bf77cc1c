// Package http1 reads and writes HTTP/1.1 messages, strictly and without allocating: the
// head of a request or an answer becomes slices of the buffer in which it arrived, a chunked
// body is decoded as its bytes arrive, and heads are appended to a caller's buffer. The
// package does no I/O and holds no state of its own.
//
// Strict means that a message which two implementations could read in two ways is refused
// instead of repaired: both framings at once, folded lines, bare line feeds, lists of
// lengths. Every refusal is an *Error, and after an *Error the connection must be closed,
// because the start of the next message is no longer certain.
//
// For example:
//
//	var r http1.Request
//	n, err := http1.ParseRequest(buf, &http1.Limits{}, &r)
//	if err != nil {
//		// Answer err.(*http1.Error).Status and close the connection.
//	}
//	if n == 0 {
//		// Read more into buf and call ParseRequest again.
//	}
package http1

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Request is one parsed head. All slices alias the buffer passed to ParseRequest and are
// valid until that buffer changes.
type Request struct {
	// Method is as sent, upper case by construction.
	Method []byte
	// Target is the request target as sent, whatever its form.
	Target []byte
	// Path and RawQuery are the target split at the first '?', not decoded.
	// Path is "*" for "OPTIONS *".
	Path, RawQuery []byte
	// Host is the Host field, or the authority of an absolute-form target, which has
	// precedence. It may be nil in HTTP/1.0.
	Host []byte
	// Minor is 0 for HTTP/1.0 and 1 for every later HTTP/1.
	Minor int
	// Fields are the header lines in their order.
	Fields Fields
	// ContentLength is the announced length of the body: -1 when it is
	// chunked, 0 when there is none.
	ContentLength int64
	// Chunked is set if the body is chunked.
	Chunked bool
	// Close is set if the client wants the connection closed afterwards.
	Close bool
	// Expect100 is set if the client waits for "100 Continue" before it sends the body.
	Expect100 bool
	// Memory may hold values that are added to a request, for example a signature. Parsers
	// don't use it.
	Memory []byte

	scan scanState
}

// Reset clears the head, even if it is partly parsed, but keeps the storage of Fields, and
// Memory.
func (r *Request) Reset() { *r = Request{Fields: r.Fields[:0], Memory: r.Memory[:0]} }

// Get returns the value of the first field called name, in any case, or nil.
func (r *Request) Get(name string) []byte { return r.Fields.Get(name) }

// Limits bound the contents of a head. The zero value of a limit is its default.
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
	// Underscores keeps fields whose names have an underscore. By default they are dropped:
	// CGI, WSGI and PHP map X_Real_IP and X-Real-IP to the same variable, so a client could
	// use one to forge the other.
	Underscores bool
	// Secure is set if the connection is TLS: an absolute-form target must then have the
	// scheme https, and otherwise http.
	Secure bool
}

// Drops reports whether a field of that name is left out. Proxy always is: CGI makes
// HTTP_PROXY of it, by which programs choose the proxy of their own requests.
func (lim *Limits) Drops(name []byte) bool {
	return len(name) == len("proxy") && ascii.EqualFold(name, "proxy") || !lim.Underscores && bytes.IndexByte(name, '_') >= 0
}

// Error is a refused message. Its connection must be closed after the answer.
type Error struct {
	// Status is the status to answer the client with: 502 when it was an origin's
	// answer that was refused.
	Status int
	// Reason is a description for people.
	Reason string
}

func (e *Error) Error() string { return "http1: " + e.Reason }
