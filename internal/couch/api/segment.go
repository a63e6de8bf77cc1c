package api

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// nextSegment consumes and returns the next segment of the path. Like CouchDB, it skips
// empty segments. It returns nil at the end.
func (r *Route) nextSegment() []byte {
	p := r.unread
	for len(p) > 0 && p[0] == '/' {
		p = p[1:]
	}
	end := 0
	for end < len(p) && p[end] != '/' {
		end++
	}
	r.unread = p[end:]
	if end == 0 {
		return nil
	}
	return p[:end]
}

// atEnd reports whether no segment is left.
func (r *Route) atEnd() bool {
	return len(bytes.TrimLeft(r.unread, "/")) == 0
}

// validEscapes reports whether each % begins an escape.
func validEscapes(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '%' {
			continue
		}
		if i+2 >= len(b) {
			return false
		}
		if _, ok := ascii.HexByte(b[i+1], b[i+2]); !ok {
			return false
		}
		i += 2
	}
	return true
}

// decodeByte returns the first byte of b, unescaped, and its length in b. An invalid escape
// is not decoded.
func decodeByte(b []byte) (c byte, n int) {
	if b[0] == '+' {
		return ' ', 1
	}
	if b[0] == '%' && len(b) >= 3 {
		if c, ok := ascii.HexByte(b[1], b[2]); ok {
			return c, 3
		}
	}
	return b[0], 1
}

func firstByte(b []byte) byte {
	c, _ := decodeByte(b)
	return c
}

// appendDecoded appends b unescaped.
func appendDecoded(dst, b []byte) []byte {
	for len(b) > 0 {
		c, n := decodeByte(b)
		dst = append(dst, c)
		b = b[n:]
	}
	return dst
}

// appendEncoded appends b in a normal form: exactly the bytes are escaped that are not
// unreserved in RFC 3986.
func appendEncoded(dst, b []byte) []byte {
	for len(b) > 0 {
		c, n := decodeByte(b)
		b = b[n:]
		dst = ascii.AppendEscaped(dst, c)
	}
	return dst
}

// maxName is the length of the longest name with a meaning to CouchDB.
const maxName = 32

// unescapeName returns b unescaped, in buf if there are escapes. It returns nil if b is
// longer than any name with a meaning.
func unescapeName(b []byte, buf *[maxName]byte) []byte {
	escaped := false
	for _, c := range b {
		escaped = escaped || c == '%' || c == '+'
	}
	if !escaped {
		return b
	}
	if len(b) > 3*maxName {
		return nil
	}
	n := 0
	for len(b) > 0 {
		c, took := decodeByte(b)
		if n == len(buf) {
			return nil
		}
		buf[n] = c
		n++
		b = b[took:]
	}
	return buf[:n]
}

// cutPrefix removes prefix from b, of which any part may be escaped.
func cutPrefix(b []byte, prefix string) ([]byte, bool) {
	for i := range len(prefix) {
		if len(b) == 0 {
			return nil, false
		}
		c, n := decodeByte(b)
		if c != prefix[i] {
			return nil, false
		}
		b = b[n:]
	}
	return b, true
}
