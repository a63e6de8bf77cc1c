package http1

import "bytes"

// CutETag cuts a well-formed entity tag (RFC 9110, section 8.8.3) off the front of b. The tag
// is nil if there is none.
func CutETag(b []byte) (tag, rest []byte) {
	i := len(b) - len(bytes.TrimPrefix(b, []byte("W/")))
	if i == len(b) || b[i] != '"' {
		return nil, b
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[:i+1], b[i+1:]
		case c < 0x21 || c == 0x7f:
			return nil, b
		}
	}
	return nil, b
}
