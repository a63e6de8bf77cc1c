package http1

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

var (
	errTarget    = &Error{400, "malformed request target"}
	errTargetEsc = &Error{400, "malformed percent escape in the request target"}
	errTargetUp  = &Error{400, "request target climbs above the root"}
	errScheme    = &Error{400, "scheme of the request target is not this listener's"}
)

// target checks Target and splits it into Path and RawQuery.
func (r *Request) target(lim *Limits) error {
	if len(r.Target) > or(lim.Target, 8<<10) {
		return errLongTarget
	}
	if len(r.Target) == 0 {
		return errRequestLine
	}
	switch string(r.Method) {
	case "CONNECT", "TRACE":
		return errNotAllowed
	case "PRI":
		return errPreface
	}
	for _, c := range r.Method {
		if c >= 'a' && c <= 'z' {
			return errCaseMethod
		}
	}
	t := r.Target
	switch {
	case t[0] == '/':
	case len(t) == 1 && t[0] == '*' && string(r.Method) == "OPTIONS":
		r.Path = t
		return nil
	default:
		var err error
		if t, err = r.absolute(t, lim.Secure); err != nil {
			return err
		}
	}
	return r.split(t)
}

// CheckTarget returns an error if a request with this path and query of a URL would be
// refused.
func CheckTarget(target []byte) error {
	var r Request
	return r.split(target)
}

// root is the path of an absolute-form target without one.
var root = []byte("/")

// absolute removes scheme and authority from an absolute-form target; the authority replaces
// the Host field.
func (r *Request) absolute(t []byte, secure bool) ([]byte, error) {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	if len(t) < len(scheme) || !ascii.EqualFold(t[:len(scheme)], scheme) {
		if bytes.Contains(t, []byte("://")) {
			return nil, errScheme
		}
		return nil, errTarget
	}
	t = t[len(scheme):]
	end := bytes.IndexAny(t, "/?")
	if end < 0 {
		end = len(t)
	}
	if !ValidHost(t[:end]) {
		return nil, errTarget
	}
	r.Host = t[:end]
	return t[end:], nil
}

// split checks the bytes of path and query and separates them.
func (r *Request) split(t []byte) error {
	query, dots := -1, false
	for i := 0; i < len(t); i++ {
		c := t[i]
		if class[c]&isTarget == 0 {
			return errTarget
		}
		switch c {
		case '%':
			if i+2 >= len(t) || class[t[i+1]]&class[t[i+2]]&isHex == 0 {
				return errTargetEsc
			}
			dots = dots || t[i+1] == '2'
		case '.':
			dots = true
		case '?':
			if query < 0 {
				query = i
			}
		}
	}
	r.Path = t
	if query >= 0 {
		r.Path, r.RawQuery = t[:query], t[query+1:]
	}
	if len(r.Path) == 0 {
		r.Path = root
	}
	if dots && climbs(r.Path) {
		return errTargetUp
	}
	return nil
}

// climbs reports whether the dot segments of a path lead above its root, also when their
// dots or slashes are escaped.
func climbs(path []byte) bool {
	depth := 0
	for len(path) > 0 {
		path = path[slashAt(path):] // a path starts with one
		end := nextSlash(path)
		switch dots(path[:end]) {
		case 1:
		case 2:
			if depth--; depth < 0 {
				return true
			}
		default:
			if end > 0 {
				depth++
			}
		}
		path = path[end:]
	}
	return false
}

// slashAt is the length of the slash that b starts with, if it does.
func slashAt(b []byte) int {
	switch {
	case len(b) > 0 && b[0] == '/':
		return 1
	case len(b) > 2 && b[0] == '%' && b[1] == '2' && b[2]|0x20 == 'f':
		return 3
	}
	return 0
}

// nextSlash is where the segment ends that b starts with.
func nextSlash(b []byte) int {
	for i := range b {
		if slashAt(b[i:]) > 0 {
			return i
		}
	}
	return len(b)
}

// dots is how many dots a segment consists of; 0 if there is anything else.
func dots(seg []byte) int {
	n := 0
	for len(seg) > 0 {
		switch {
		case seg[0] == '.':
			seg = seg[1:]
		case len(seg) > 2 && seg[0] == '%' && seg[1] == '2' && seg[2]|0x20 == 'e':
			seg = seg[3:]
		default:
			return 0
		}
		n++
	}
	return n
}
