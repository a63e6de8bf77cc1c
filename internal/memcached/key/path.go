package key

import (
	"bytes"
	"fmt"
	"strings"
)

// MaxCaptures is the maximum number of captures in a path.
const MaxCaptures = 8

// Path is the path of a location, for example /count, /users/{id}/name or /pages/{rest...}.
// A capture in braces matches one segment that is not empty. If dots follow its name, the
// last one matches the rest of the path, which may contain slashes and may be empty. Paths
// are compared byte by byte, without decoding. It is immutable.
type Path struct {
	text  string
	parts []segment
	names []string
	rest  bool // the last capture matches the rest of the path
}

// segment is a part of the path between two slashes: a text, or a capture.
type segment struct {
	text    string
	capture bool
}

// Captures are the captured parts of a request's path, by index.
type Captures [MaxCaptures][]byte

// ParsePath parses a path. The error is an *Error.
func ParsePath(text string) (*Path, error) {
	p := &Path{text: text}
	if !strings.HasPrefix(text, "/") {
		return nil, &Error{text, 0, "a path begins with a slash"}
	}
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		return nil, &Error{text, i, "a path ends before the query"}
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f }); i >= 0 {
		return nil, &Error{text, i, "write bytes other than printable ASCII percent-encoded, as in a URL"}
	}
	at := 1
	for s := range strings.SplitSeq(text[1:], "/") {
		if p.rest {
			return nil, &Error{text, at, "nothing can follow a capture of all that is left"}
		}
		if err := p.add(s, at); err != nil {
			return nil, err
		}
		at += len(s) + 1
	}
	return p, nil
}

// add adds a segment that begins at the given byte.
func (p *Path) add(s string, at int) error {
	open := strings.IndexAny(s, "{}")
	if open < 0 {
		p.parts = append(p.parts, segment{text: s})
		return nil
	}
	if open != 0 || s[0] != '{' || strings.IndexByte(s, '}') != len(s)-1 {
		return &Error{p.text, at + open, "a capture is a whole segment in braces: /users/{id}/name"}
	}
	name := s[1 : len(s)-1]
	name, p.rest = strings.CutSuffix(name, "...")
	switch {
	case !isName(name):
		return &Error{p.text, at + 1, "a capture's name has letters, digits, _ and -"}
	case p.index(name) >= 0:
		return &Error{p.text, at + 1, fmt.Sprintf("there are two captures called %s", name)}
	case len(p.names) == MaxCaptures:
		return &Error{p.text, at, fmt.Sprintf("at most %d captures are possible", MaxCaptures)}
	}
	p.names = append(p.names, name)
	p.parts = append(p.parts, segment{capture: true})
	return nil
}

// isName reports whether s is a valid name of a capture.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '_' && c != '-' {
				return false
			}
		}
	}
	return s != ""
}

// index returns the index of the capture with that name, -1 if there is none.
func (p *Path) index(name string) int {
	for i, n := range p.names {
		if n == name {
			return i
		}
	}
	return -1
}

// String returns the path as it was written.
func (p *Path) String() string { return p.text }

// Exact reports whether the path has no captures. It then matches only itself.
func (p *Path) Exact() bool { return len(p.names) == 0 }

// Names returns the names of the captures.
func (p *Path) Names() []string { return p.names }

// Match reports whether p matches path, and sets the captures, which are slices of path.
func (p *Path) Match(path []byte, c *Captures) bool {
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	left, n := path[1:], 0
	for i := range p.parts {
		last := i == len(p.parts)-1
		if last && p.rest {
			c[n] = left
			return true
		}
		s, after, more := bytes.Cut(left, slash)
		if more == last {
			return false
		}
		switch part := &p.parts[i]; {
		case !part.capture:
			if string(s) != part.text {
				return false
			}
		case len(s) == 0:
			return false
		default:
			c[n] = s
			n++
		}
		left = after
	}
	return true
}

var slash = []byte("/")

// Before reports whether p is more specific than q and takes precedence if both match. At
// the first segment of different kinds, a text precedes a capture, which precedes a capture
// of the rest. Otherwise the path with more segments is first, so that paths can be sorted.
func (p *Path) Before(q *Path) bool {
	for i := range min(len(p.parts), len(q.parts)) {
		if a, b := p.rank(i), q.rank(i); a != b {
			return a < b
		}
	}
	return len(p.parts) > len(q.parts)
}

// rank returns how specific a segment is.
func (p *Path) rank(i int) int {
	switch {
	case !p.parts[i].capture:
		return 0
	case p.rest && i == len(p.parts)-1:
		return 2
	}
	return 1
}
