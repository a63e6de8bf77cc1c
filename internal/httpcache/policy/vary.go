package policy

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/http1"
)

// AppendVaryValues appends what a request says in the fields of these names
// ([Response.Vary]), normalised so that requests which a server can only
// understand alike give the same bytes (RFC 9111, section 4.1): for each field
// "=" and its value, or nothing if it is absent, and a line feed.
func AppendVaryValues(dst []byte, names []string, h http1.Fields, o *Options) []byte {
	for _, name := range names {
		dst = append(appendVaryValue(dst, name, h, o), '\n')
	}
	return dst
}

// Matches says whether a request is answered by a response that was chosen by
// the values in stored, which AppendVaryValues made. It allocates nothing unless
// the values are uncommonly long.
func Matches(r *Response, stored []byte, h http1.Fields, o *Options) bool {
	if r.VaryAll {
		return false
	}
	var memory [512]byte
	for _, name := range r.Vary {
		end := bytes.IndexByte(stored, '\n')
		if end < 0 {
			return false
		}
		value := appendVaryValue(memory[:0], name, h, o)
		if !bytes.Equal(value, stored[:end]) && !(o.Languages && name == "accept-language" && r.favourite(value)) {
			return false
		}
		stored = stored[end+1:]
	}
	return len(stored) == 0
}

// Better says whether r goes before s where both match: one that was negotiated
// before one that was not, then the one made later, then the one that came later.
func (r *Response) Better(s *Response) bool {
	if a, b := len(r.Vary) > 0, len(s.Vary) > 0; a != b {
		return a
	}
	if r.Date != s.Date {
		return r.Date > s.Date
	}
	return r.ResponseTime > s.ResponseTime
}

// appendVaryValue appends one field's value, "=" first, or nothing.
func appendVaryValue(dst []byte, name string, h http1.Fields, o *Options) []byte {
	start := len(dst)
	asIs := verbatim(name)
	for i := range h {
		if f := &h[i]; fold(f.Name, name) {
			if len(dst) == start {
				dst = append(dst, '=')
			} else if asIs {
				dst = append(dst, ", "...)
			}
			dst = appendLine(dst, start+1, f.Value, asIs)
		}
	}
	if len(dst) <= start+1 {
		return dst
	}
	switch value := dst[start+1:]; {
	case name == "accept-encoding" && len(o.Encodings) > 0:
		return appendReduced(dst[:start+1], value, o.Encodings)
	case name == "accept-encoding", name == "accept-language" && o.Languages:
		return dst[:start+1+len(sortMembers(value))]
	}
	return dst
}

// appendLine appends one line to the value that begins at start: as it is, or
// member by member with single commas between them.
func appendLine(dst []byte, start int, line []byte, asIs bool) []byte {
	if asIs {
		return append(dst, line...)
	}
	for len(line) > 0 {
		var m []byte
		if m, line = cut(line); len(m) == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, m...)
	}
	return dst
}

// verbatim says whether a field is no list, so that its commas and blanks are
// part of the value.
func verbatim(name string) bool {
	switch name {
	case "user-agent", "cookie", "authorization", "proxy-authorization", "referer", "date", "from", "host", "origin",
		"if-modified-since", "if-unmodified-since", "if-range", "range", "content-type", "content-length", "content-location",
		"max-forwards":
		return true
	}
	return false
}

// maxSorted is how many members of a list are put in order. Longer lists are
// sent by nobody who deserves the work.
const maxSorted = 32

// sortMembers puts a list in order where neither order, nor case, nor blanks
// mean anything, in place. Nothing in such lists is quoted.
func sortMembers(list []byte) []byte {
	n := 0
	for _, c := range list {
		if c != ' ' && c != '\t' {
			list[n] = lower[c]
			n++
		}
	}
	list = list[:n]
	if bytes.Count(list, []byte{','}) < maxSorted {
		for pass(list) {
		}
	}
	return list
}

// pass goes through the members once, exchanges neighbours that are in the wrong
// order, and says whether there were any. The members lie in one piece of memory
// and are few, so that sorting them this way needs no other.
func pass(list []byte) (exchanged bool) {
	for at := 0; ; {
		comma := bytes.IndexByte(list[at:], ',')
		if comma < 0 {
			return exchanged
		}
		next, end := at+comma+1, len(list)
		if i := bytes.IndexByte(list[next:], ','); i >= 0 {
			end = next + i
		}
		if bytes.Compare(list[at:next-1], list[next:end]) > 0 {
			exchange(list[at:end], comma)
			exchanged = true
			next = at + end - next + 1
		}
		at = next
	}
}

// exchange makes "a,b" of "b,a", whose comma stands at i, by turning the whole
// around and then each part.
func exchange(list []byte, i int) {
	slices.Reverse(list)
	j := len(list) - 1 - i
	slices.Reverse(list[:j])
	slices.Reverse(list[j+1:])
}
