package http2

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Head is a decoded header block. Its slices are valid until Conn.Next is called again.
type Head struct {
	Method, Scheme, Path, Authority []byte
	// Fields are the other fields. Their names are in lower case.
	Fields http1.Fields
	// Length is the announced length of the body, -1 if there is none.
	Length int64
	// TooLarge is set if the fields are over the limit, and incomplete.
	TooLarge bool
	// Expect100 is set if the client waits for "100 Continue".
	Expect100 bool
	// Priority is the value of the field priority.
	Priority []byte

	malformed bool
	size      int
	seen      uint8 // pseudo-header fields
}

// Pseudo-header fields that were seen.
const (
	seenMethod = 1 << iota
	seenScheme
	seenPath
	seenAuthority
)

func (h *Head) reset() { *h = Head{Fields: h.Fields[:0], Length: -1} }

// decode decodes a block into h. A malformed message is not an error of the connection.
func (h *Head) decode(d *Decoder, block []byte, limit int, trailer bool) error {
	h.reset()
	d.Start()
	for len(block) > 0 {
		name, value, rest, err := d.Next(block)
		if err != nil {
			return CompressionError
		}
		block = rest
		if name == nil || h.TooLarge {
			continue
		}
		if h.size += len(name) + len(value) + entryOverhead; h.size > limit {
			h.TooLarge = true
			d.Brief()
			continue
		}
		if !h.note(name, value, trailer) {
			h.malformed = true
		}
	}
	if !trailer && !h.malformed && !h.TooLarge {
		h.malformed = !h.complete()
	}
	return nil
}

// note adds a field, and reports whether it is well-formed.
func (h *Head) note(name, value []byte, trailer bool) bool {
	if !http1.ValidValue(value) || padded(value) {
		return false
	}
	if len(name) > 0 && name[0] == ':' {
		return !trailer && len(h.Fields) == 0 && h.pseudo(name, value)
	}
	if !lowerToken(name) || connectionSpecific(name, value) {
		return false
	}
	if !trailer && len(name) >= 6 && !h.special(name, value) {
		return false
	}
	h.Fields = append(h.Fields, http1.Field{Name: name, Value: value})
	return true
}

// pseudo notes a pseudo-header field.
func (h *Head) pseudo(name, value []byte) bool {
	var bit uint8
	switch string(name) {
	case ":method":
		bit, h.Method = seenMethod, value
	case ":scheme":
		bit, h.Scheme = seenScheme, value
	case ":path":
		bit, h.Path = seenPath, value
	case ":authority":
		bit, h.Authority = seenAuthority, value
	}
	again := h.seen&bit != 0
	h.seen |= bit
	return bit != 0 && !again
}

// special notes fields with a meaning for the protocol.
func (h *Head) special(name, value []byte) bool {
	switch string(name) {
	case "content-length":
		const maxDigits = 18
		if h.Length >= 0 || len(value) == 0 || len(value) > maxDigits {
			return false
		}
		h.Length = 0
		for _, c := range value {
			if c < '0' || c > '9' {
				return false
			}
			h.Length = h.Length*10 + int64(c-'0')
		}
	case "expect":
		h.Expect100 = ascii.EqualFold(value, "100-continue")
	case "priority":
		h.Priority = value
	}
	return true
}

// complete reports whether the pseudo-header fields of a request are present. A Host field
// beside :authority must be equal to it, and replaces one that is missing or empty.
func (h *Head) complete() bool {
	const required = seenMethod | seenScheme | seenPath
	if string(h.Method) == "CONNECT" {
		return h.seen == seenMethod|seenAuthority
	}
	if h.seen&required != required || len(h.Path) == 0 || !ascii.IsToken(h.Scheme) {
		return false
	}
	if h.Path[0] != '/' && string(h.Path) != "*" {
		return false
	}
	hosts := 0
	for i := range h.Fields {
		if f := &h.Fields[i]; string(f.Name) != "host" {
			continue
		} else if hosts++; len(h.Authority) == 0 {
			h.Authority = f.Value
		} else if !bytes.Equal(f.Value, h.Authority) {
			return false
		}
	}
	return hosts <= 1
}

// padded reports whether v begins or ends with a blank.
func padded(v []byte) bool {
	blank := func(b byte) bool { return b == ' ' || b == '\t' }
	return len(v) > 0 && (blank(v[0]) || blank(v[len(v)-1]))
}

// lowerToken reports whether name is a token without upper-case letters.
func lowerToken(name []byte) bool {
	for _, c := range name {
		if c >= 'A' && c <= 'Z' || !ascii.IsTokenByte(c) {
			return false
		}
	}
	return len(name) > 0
}

// connectionSpecific reports whether a field has no place in HTTP/2 (RFC 9113, 8.2.2).
func connectionSpecific(name, value []byte) bool {
	switch string(name) {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return true
	case "te":
		return !ascii.EqualFold(value, "trailers")
	}
	return false
}

// incremental reports whether a priority has the parameter i.
func incremental(priority []byte) bool {
	for e := range bytes.SplitSeq(priority, []byte{','}) {
		if e = ascii.Trim(e); string(e) == "i" || string(e) == "i=?1" {
			return true
		}
	}
	return false
}
