package sigv4

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// maxSigned bounds the list of signed headers, because each is looked up among all fields.
const maxSigned = 128

// appendCanonical appends the canonical request of r, the text that both sides hash. It
// returns false if the list of signed headers is malformed.
func (s *scratch) appendCanonical(dst []byte, r *http1.Request) ([]byte, bool) {
	dst = append(dst, r.Method...)
	dst = append(dst, '\n')
	dst = appendPath(dst, r.Path)
	dst = append(dst, '\n')
	dst = s.appendQuery(dst, r.RawQuery)
	dst = append(dst, '\n')
	dst, ok := appendHeaders(dst, r, s.claim.signedHeaders)
	dst = append(dst, '\n')
	dst = append(dst, s.claim.signedHeaders...)
	dst = append(dst, '\n')
	return append(dst, s.payload[:]...), ok
}

// appendPath appends the path with redundant segments removed and the others escaped. A path
// that the client escaped is thus escaped twice, as every service except S3 requires.
func appendPath(dst, path []byte) []byte {
	start := len(dst)
	if len(path) > 0 && path[0] != '/' {
		return appendEscaped(dst, path) // "*", which has no segments
	}
	closed := false // the last segment was empty, "." or ".."
	for rest := path; len(rest) > 0; {
		var segment []byte
		segment, rest, _ = bytes.Cut(rest, []byte("/"))
		closed = true
		switch string(segment) {
		case "", ".":
		case "..":
			dst = dst[:start+max(bytes.LastIndexByte(dst[start:], '/'), 0)]
		default:
			dst = appendEscaped(append(dst, '/'), segment)
			closed = path[len(path)-1] == '/'
		}
	}
	if closed || len(dst) == start {
		dst = append(dst, '/')
	}
	return dst
}

// appendQuery appends the parameters sorted by escaped name, then by escaped value. The
// signature of a presigned request is omitted.
func (s *scratch) appendQuery(dst, query []byte) []byte {
	if len(query) == 0 {
		return dst
	}
	s.pairs, s.encoded = s.pairs[:0], s.encoded[:0]
	for rest := query; len(rest) > 0; {
		var part []byte
		part, rest, _ = bytes.Cut(rest, []byte("&"))
		if len(part) == 0 {
			continue
		}
		name, value, _ := bytes.Cut(part, []byte("="))
		p := pair{name: s.escapedAgain(name), value: s.escapedAgain(value)}
		if s.claim.presigned && string(p.name) == "X-Amz-Signature" {
			continue
		}
		s.pairs = append(s.pairs, p)
	}
	slices.SortFunc(s.pairs, comparePairs)
	for i, p := range s.pairs {
		if i > 0 {
			dst = append(dst, '&')
		}
		dst = append(dst, p.name...)
		dst = append(dst, '=')
		dst = append(dst, p.value...)
	}
	clear(s.pairs)
	return dst
}

// escapedAgain returns a part of a query in canonical spelling.
func (s *scratch) escapedAgain(part []byte) []byte {
	s.plain, part = unescape(s.plain[:0], part)
	start := len(s.encoded)
	s.encoded = appendEscaped(s.encoded, part)
	return s.encoded[start:] // remains valid when encoded is reallocated
}

func comparePairs(a, b pair) int {
	if c := bytes.Compare(a.name, b.name); c != 0 {
		return c
	}
	return bytes.Compare(a.value, b.value)
}

// appendHeaders appends the lines of the signed headers. It returns false unless their names
// are lower case, sorted and unique.
func appendHeaders(dst []byte, r *http1.Request, names []byte) ([]byte, bool) {
	var last []byte
	for n := 0; len(names) > 0; n++ {
		var name []byte
		name, names, _ = bytes.Cut(names, []byte(";"))
		if n == maxSigned || bytes.Compare(name, last) <= 0 || !isLowerToken(name) {
			return dst, false
		}
		last = name
		dst = append(dst, name...)
		dst = append(dst, ':')
		dst = appendValues(dst, r, name)
		dst = append(dst, '\n')
	}
	return dst, true
}

// appendValues appends the values of all fields called name, joined by commas.
func appendValues(dst []byte, r *http1.Request, name []byte) []byte {
	if string(name) == "host" {
		return appendFolded(dst, r.Host)
	}
	found := false
	for i := range r.Fields {
		f := &r.Fields[i]
		if !ascii.EqualFold(f.Name, name) {
			continue
		}
		if found {
			dst = append(dst, ',')
		}
		found = true
		dst = appendFolded(dst, f.Value)
	}
	return dst
}

// appendFolded appends a value without surrounding white space and with each run of spaces
// folded into one.
func appendFolded(dst, value []byte) []byte {
	value = bytes.Trim(value, " \t")
	if !bytes.Contains(value, []byte("  ")) {
		return append(dst, value...)
	}
	for i, c := range value {
		if c != ' ' || value[i-1] != ' ' {
			dst = append(dst, c)
		}
	}
	return dst
}

// isLowerToken reports whether name is a valid header name in lower case.
func isLowerToken(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || c == ':' || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return len(name) > 0
}

// isSigned reports whether a field is in the list of signed headers.
func isSigned(field, names []byte) bool {
	for len(names) > 0 {
		var name []byte
		name, names, _ = bytes.Cut(names, []byte(";"))
		if ascii.EqualFold(field, name) {
			return true
		}
	}
	return false
}
