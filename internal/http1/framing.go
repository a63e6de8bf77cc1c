package http1

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

var (
	errLengthTwice  = &Error{400, "more than one Content-Length"}
	errLength       = &Error{400, "malformed Content-Length"}
	errBothFramings = &Error{400, "both Transfer-Encoding and Content-Length"}
	errCoding       = &Error{400, "malformed Transfer-Encoding"}
	errCodingLast   = &Error{400, "chunked must be the last transfer coding, and once"}
	errCodingOld    = &Error{400, "Transfer-Encoding in HTTP/1.0"}
	errCodingOther  = &Error{501, "unknown transfer coding"}
	errHostTwice    = &Error{400, "more than one Host"}
	errHostMissing  = &Error{400, "no Host"}
	errHost         = &Error{400, "malformed Host"}
	errConnection   = &Error{400, "malformed Connection"}
	errConnProtects = &Error{400, "Connection names an end-to-end field"}
	errExpect       = &Error{417, "unknown expectation"}
)

// headState holds the framing and connection properties of the fields parsed so far.
type headState struct {
	host      []byte // of the Host field
	hasHost   bool
	hasLength bool
	coded     bool // a Transfer-Encoding field was seen
	chunked   bool // with the coding chunked
	foreign   bool // with a coding other than chunked
	altered   bool // with one that is never passed on: see alters
	keepAlive bool
}

// note handles the fields that http1 itself needs.
func (r *Request) note(f Field) error {
	switch len(f.Name) {
	case 4:
		if ascii.EqualFold(f.Name, "host") {
			return r.noteHost(f.Value)
		}
	case 6:
		if ascii.EqualFold(f.Name, "expect") {
			return r.noteExpect(f.Value)
		}
	case 10:
		if ascii.EqualFold(f.Name, "connection") {
			return r.noteConnection(f.Value)
		}
	case 14:
		if ascii.EqualFold(f.Name, "content-length") {
			return r.noteLength(f.Value)
		}
	case 17:
		if ascii.EqualFold(f.Name, "transfer-encoding") {
			return r.scan.head.noteCoding(f.Value)
		}
	}
	return nil
}

func (r *Request) noteHost(v []byte) error {
	if r.scan.head.hasHost {
		return errHostTwice
	}
	if !ValidHost(v) {
		return errHost
	}
	r.scan.head.hasHost, r.scan.head.host = true, v
	return nil
}

func (r *Request) noteExpect(v []byte) error {
	if !ascii.EqualFold(v, "100-continue") {
		return errExpect
	}
	r.Expect100 = true
	return nil
}

// maxLengthDigits bounds leading zeros; 18 digits can't overflow an int64.
const maxLengthDigits = 18

func (r *Request) noteLength(v []byte) error {
	if r.scan.head.hasLength {
		return errLengthTwice
	}
	n, ok := lengthOf(v)
	if !ok {
		return errLength
	}
	r.scan.head.hasLength, r.ContentLength = true, n
	return nil
}

// lengthOf reads a Content-Length: digits and nothing else.
func lengthOf(v []byte) (n int64, ok bool) {
	if len(v) == 0 || len(v) > maxLengthDigits || !allOf(v, isDigit) {
		return 0, false
	}
	for _, c := range v {
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// noteCoding reads a Transfer-Encoding. Only chunked is understood, alone.
func (h *headState) noteCoding(v []byte) error {
	h.coded = true
	for more := true; more; {
		var t []byte
		if t, v, more = cutList(v); !ascii.IsToken(t) {
			return errCoding
		}
		if h.chunked {
			return errCodingLast
		}
		if ascii.EqualFold(t, "chunked") {
			h.chunked = true
		} else {
			h.foreign = true
			h.altered = h.altered || alters(t)
		}
	}
	return nil
}

// alters reports whether a transfer coding changes the bytes of a body without an indication
// for clients: codings that compress, and names similar to chunked, for example xchunked, by
// which chunks are hidden from a proxy.
func alters(coding []byte) bool {
	const like = "chunk"
	for i := 0; i+len(like) <= len(coding); i++ {
		if ascii.EqualFold(coding[i:i+len(like)], like) {
			return true
		}
	}
	return ascii.ContainsFold([]string{"gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"}, coding)
}

// protected are fields that a client can't declare to be for one hop only: the origin must
// receive them.
var protected = [...]string{"host", "content-length", "transfer-encoding", "authorization", "content-type",
	"content-encoding", "content-range", "cache-control", "expect", "range", "date"}

func (r *Request) noteConnection(v []byte) error {
	for more := true; more; {
		var t []byte
		t, v, more = cutList(v)
		switch {
		case len(t) == 0: // an empty element is allowed
		case ascii.EqualFold(t, "keep-alive"):
			r.scan.head.keepAlive = true
		case ascii.EqualFold(t, "close"):
			r.Close = true
		case !ascii.IsToken(t):
			return errConnection
		default:
			for _, p := range protected {
				if ascii.EqualFold(t, p) {
					return errConnProtects
				}
			}
		}
	}
	return nil
}

// cutList splits off the first element of a comma-separated list.
func cutList(v []byte) (first, rest []byte, more bool) {
	first, rest, more = bytes.Cut(v, comma)
	return ascii.Trim(first), rest, more
}

var comma = []byte{','}

// finish checks the complete head.
func (r *Request) finish() error {
	h := &r.scan.head
	switch {
	case !h.hasHost && r.Minor > 0:
		return errHostMissing
	case h.coded && r.Minor == 0:
		return errCodingOld
	case h.foreign:
		return errCodingOther
	case h.coded && h.hasLength:
		return errBothFramings
	}
	if r.Host == nil {
		r.Host = h.host
	}
	if r.Chunked = h.chunked; r.Chunked {
		r.ContentLength = -1
	}
	if r.Minor == 0 {
		r.Expect100 = false
		r.Close = r.Close || !h.keepAlive
	}
	return nil
}
