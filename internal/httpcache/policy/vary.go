package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// AppendVaryValues appends a request's values of the fields of these names
// ([Response.Vary]), normalised so that equivalent requests have the same bytes (RFC 9111,
// section 4.1): for each field "=" and its value, or nothing if it is absent, and a line
// feed.
func AppendVaryValues(dst []byte, names []string, h http1.Fields, o *Options) []byte {
	for _, name := range names {
		dst = append(appendVaryValue(dst, name, h, o), '\n')
	}
	return dst
}

// Matches reports whether a response selected by the values in stored, a result of
// AppendVaryValues, answers a request. It allocates nothing unless the values are very long.
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
		if !bytes.Equal(value, stored[:end]) && !(o.Languages && name == "accept-language" && r.inPreferredLanguage(value)) {
			return false
		}
		stored = stored[end+1:]
	}
	return len(stored) == 0
}

// Better reports whether r is preferred to s when both match: a negotiated one first, then
// the one created later, then the one received later.
func (r *Response) Better(s *Response) bool {
	if a, b := len(r.Vary) > 0, len(s.Vary) > 0; a != b {
		return a
	}
	if r.Date != s.Date {
		return r.Date > s.Date
	}
	return r.ResponseTime > s.ResponseTime
}

// appendVaryValue appends "=" and a field's value, or nothing.
func appendVaryValue(dst []byte, name string, h http1.Fields, o *Options) []byte {
	start := len(dst)
	kind := kindOf(name, o)
	if kind == siteField {
		name = "forwarded"
	}
	for i := range h {
		if f := &h[i]; ascii.EqualFold(f.Name, name) {
			if len(dst) == start {
				dst = append(dst, '=')
			}
			dst = kind.appendLine(dst, start+1, f.Value)
		}
	}
	switch {
	case len(dst) <= start+1:
	case kind == codingField:
		return appendReduced(dst[:start+1], dst[start+1:], o.Encodings)
	case kind == setField:
		sortMembers(dst[start+1:])
	}
	return dst
}

// fieldKind is the normalisation of a field's value.
type fieldKind uint8

const (
	listField   fieldKind = iota // members in order
	textField                    // every byte: not a list
	setField                     // members in any order and case, without blanks
	codingField                  // setField, with Options.Encodings
	siteField                    // see appendSite
)

func kindOf(name string, o *Options) fieldKind {
	switch name {
	case "accept-encoding":
		if len(o.Encodings) > 0 {
			return codingField
		}
		return setField
	case "accept-language":
		if o.Languages {
			return setField
		}
	case "user-agent", "cookie", "authorization", "proxy-authorization", "referer", "date", "from", "host", "origin",
		"if-modified-since", "if-unmodified-since", "if-range", "range", "content-type", "content-length", "content-location",
		"max-forwards":
		return textField
	case ForwardedSite:
		return siteField
	}
	return listField
}

// appendLine appends a line to the value that begins at start, after a comma if it is not
// the first.
func (k fieldKind) appendLine(dst []byte, start int, line []byte) []byte {
	switch k {
	case textField:
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		return append(dst, line...)
	case siteField:
		return appendSite(append(dst, ','), line)
	case listField:
		return appendMembers(dst, start, line)
	}
	return appendFlat(dst, start, line)
}

// appendMembers appends the members of a line, without the blanks around them.
func appendMembers(dst []byte, start int, line []byte) []byte {
	for len(line) > 0 {
		var m []byte
		if m, line = cutMember(line); len(m) == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, m...)
	}
	return dst
}

// appendFlat is appendMembers in lower case and without any blanks, for fields without
// quoting.
func appendFlat(dst []byte, start int, line []byte) []byte {
	begun := false
	for _, c := range line {
		switch {
		case c == ' ' || c == '\t':
		case c == ',':
			begun = false
		default:
			if !begun && len(dst) > start {
				dst = append(dst, ',')
			}
			begun = true
			dst = append(dst, ascii.Lower(c))
		}
	}
	return dst
}

// Limits for sorting; longer lists do not occur in legitimate requests.
const (
	maxMembers = 32
	maxBytes   = 512
)

// sortMembers sorts the members of a list in place. A list beyond the limits is left
// unsorted and compared as it is.
func sortMembers(list []byte) {
	var memory [maxBytes + 1]byte
	var starts [maxMembers + 1]int
	n := 1
	for i, c := range list {
		if c == ',' {
			if n == maxMembers {
				return
			}
			starts[n] = i + 1
			n++
		}
	}
	if n == 1 || len(list) > maxBytes {
		return
	}
	starts[n] = len(list) + 1
	member := func(i int) []byte { return list[starts[i] : starts[i+1]-1] }
	var order [maxMembers]uint8
	for i := range n {
		at := i
		for ; at > 0 && bytes.Compare(member(int(order[at-1])), member(i)) > 0; at-- {
			order[at] = order[at-1]
		}
		order[at] = uint8(i)
	}
	sorted := memory[:0]
	for i := range n {
		sorted = append(append(sorted, member(int(order[i]))...), ',')
	}
	copy(list, sorted[:len(list)])
}
