package jsonp

import (
	"bytes"
	"strconv"

	"github.com/kasoku/kasoku/internal/http1"
)

// layout is part of every derived entity tag. Change it when the bytes around a body change
// for the same configuration.
const layout = "1"

// version returns a hash of everything that determines a wrapped body, beside the stored
// body and the call.
func (f *Filter) version() uint64 {
	c := &f.cfg
	h := hash(offset, layout, c.Prefix, "\x00", f.tail, "\x00")
	return hash(h, string([]byte{byte(c.Mode), byte(c.Type), bit(c.Guard), bit(c.Attachment)}))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// FNV-1a in 64 bits.
const (
	offset = 0xcbf29ce484222325
	prime  = 0x100000001b3
)

func hash(h uint64, texts ...string) uint64 {
	for _, t := range texts {
		for i := range len(t) {
			h = (h ^ uint64(t[i])) * prime
		}
	}
	return h
}

const (
	derived   = ";jp-"
	maxSuffix = len(derived) + 13 + len(`"`) // 2^64 has 13 digits of base 36
)

// appendSuffix appends the part of a derived tag that replaces the last quote.
func (c *Call) appendSuffix(dst []byte) []byte {
	h := c.filter.seed
	for _, b := range c.name {
		h = (h ^ uint64(b)) * prime
	}
	h = (h ^ uint64(c.status)) * prime
	return append(strconv.AppendUint(append(dst, derived...), h, 36), '"')
}

// AppendETag appends the entity tag of the wrapped body, derived from the stored body's tag
// base. It is different for each name, and weak if base is weak. If base is not an entity
// tag, nothing is appended.
func (c *Call) AppendETag(dst, base []byte) []byte {
	tag, rest := http1.CutETag(base)
	if tag == nil || len(rest) > 0 {
		return dst
	}
	return c.appendSuffix(append(dst, base[:len(base)-1]...))
}

// NotModified reports whether a line of If-None-Match lists the wrapped body whose stored
// body has the tag base, or is "*".
func (c *Call) NotModified(line, base []byte) bool {
	line = trim(line)
	if len(line) == 1 && line[0] == '*' {
		return true
	}
	tag, rest := http1.CutETag(base)
	if tag == nil || len(rest) > 0 {
		return false
	}
	var room [maxSuffix]byte
	suffix := c.appendSuffix(room[:0])
	base = opaque(tag)
	base = base[:len(base)-1]
	for len(line) > 0 {
		tag, rest := http1.CutETag(line)
		if tag == nil || !ends(rest) { // a member of the list that is not a tag
			_, line, _ = bytes.Cut(line, comma)
			line = trim(line)
			continue
		}
		if t := opaque(tag); len(t) == len(base)+len(suffix) && bytes.HasPrefix(t, base) && bytes.HasSuffix(t, suffix) {
			return true
		}
		line = trim(rest)
	}
	return false
}

var comma = []byte{','}

// ends reports whether a member of a list ends before rest.
func ends(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t")
	return len(rest) == 0 || rest[0] == ','
}

func opaque(tag []byte) []byte { return bytes.TrimPrefix(tag, weak) }

var weak = []byte("W/")

func trim(b []byte) []byte { return bytes.Trim(b, " \t,") }
