package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
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
		if !bytes.Equal(value, stored[:end]) && !(o.Languages && name == "accept-language" && r.inPreferredLanguage(value)) {
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

// fieldKind says what of a field's value means something.
type fieldKind uint8

const (
	listField   fieldKind = iota // the members and their order
	textField                    // every byte: it is no list
	setField                     // the members, in any case, without blanks
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

// appendLine appends one line to the value that begins at start, with a comma
// before it where something precedes.
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

// appendFlat is appendMembers in lower case and without any blank, for fields
// in which nothing is quoted.
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

// What is put in order: longer lists are sent by nobody who deserves the work.
const (
	mostMembers = 32
	mostBytes   = 512
)

// sortMembers puts the members of a list in order, in place. What is too long
// for that stays as it is, and is compared so.
func sortMembers(list []byte) {
	var memory [mostBytes + 1]byte
	var starts [mostMembers + 1]int
	n := 1
	for i, c := range list {
		if c == ',' {
			if n == mostMembers {
				return
			}
			starts[n] = i + 1
			n++
		}
	}
	if n == 1 || len(list) > mostBytes {
		return
	}
	starts[n] = len(list) + 1
	member := func(i int) []byte { return list[starts[i] : starts[i+1]-1] }
	var order [mostMembers]uint8
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
