package key

import (
	"bytes"
	"fmt"
	"strings"
)

// MaxCaptures is how many captures a path can have.
const MaxCaptures = 8

// Path is the path of a location: /count, /users/{id}/name, /pages/{rest...}. A
// capture in braces takes one segment that is not empty; the last one may take all
// that is left, slashes included and maybe nothing, if dots follow its name. Paths
// are compared byte by byte, as they came: nothing is decoded. It is immutable.
type Path struct {
	text  string
	parts []segment
	names []string
	rest  bool // the last part takes all that is left
}

// segment is what stands between two slashes: a text, or a capture.
type segment struct {
	text    string
	capture bool
}

// Captures are the parts of a request's path that a Path has captured, by index.
type Captures [MaxCaptures][]byte

// ParsePath reads a path. The error is an *Error.
func ParsePath(text string) (*Path, error) {
	p := &Path{text: text}
	if !strings.HasPrefix(text, "/") {
		return nil, &Error{text, 0, "a path begins with a slash"}
	}
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		return nil, &Error{text, i, "a path ends before the query"}
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f }); i >= 0 {
		return nil, &Error{text, i, "write other than printable ASCII as it stands in a URL, with percent signs"}
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

// add takes one more segment, which begins at the given byte.
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

// isName tells whether s may be the name of a capture.
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

// index is which capture has that name, -1 if none.
func (p *Path) index(name string) int {
	for i, n := range p.names {
		if n == name {
			return i
		}
	}
	return -1
}

// String is the path as it was written.
func (p *Path) String() string { return p.text }

// Exact tells whether the path has no captures: then it is the only one that it
// matches.
func (p *Path) Exact() bool { return len(p.names) == 0 }

// Names lists the captures.
func (p *Path) Names() []string { return p.names }

// Match tells whether path is one of p's, and then fills in the captures, which lie
// in path.
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

// Before tells whether p is more definite than q, and so goes before it where both match:
// at the first segment in which they differ in kind, a text goes before a capture, and
// that before all that is left. Of others the one with more segments goes first, so that
// paths can be sorted.
func (p *Path) Before(q *Path) bool {
	for i := range min(len(p.parts), len(q.parts)) {
		if a, b := p.rank(i), q.rank(i); a != b {
			return a < b
		}
	}
	return len(p.parts) > len(q.parts)
}

// rank is how definite a segment is.
func (p *Path) rank(i int) int {
	switch {
	case !p.parts[i].capture:
		return 0
	case p.rest && i == len(p.parts)-1:
		return 2
	}
	return 1
}
