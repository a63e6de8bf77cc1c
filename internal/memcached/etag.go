package memcached

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// tag is the entity tag of a value, a hash of its bytes as stored. The same value in gzip
// has another tag.
type tag struct {
	b [1 + 16 + len(inGzip) + 1]byte
	n int
}

const inGzip = "-gzip"

func tagOf(stored []byte) (t tag) {
	t.b[0] = '"'
	ascii.AppendHex(t.b[:1], xxhash.Sum64(stored), 16)
	t.b[17], t.n = '"', 18
	return t
}

// gzip returns the tag of the value in gzip.
func (t tag) gzip() tag {
	t.n = 17 + copy(t.b[17:], inGzip+`"`)
	return t
}

func (t *tag) bytes() []byte { return t.b[:t.n] }

// lists reports whether a line of If-None-Match lists a strong tag, or is "*".
func lists(line, tag []byte) bool {
	line = bytes.Trim(line, " \t")
	if string(line) == "*" {
		return true
	}
	for len(line) > 0 {
		i := bytes.Index(line, tag)
		if i < 0 {
			return false
		}
		before, after := bytes.TrimRight(line[:i], " \t"), bytes.TrimLeft(line[i+len(tag):], " \t")
		before = bytes.TrimRight(bytes.TrimSuffix(before, weak), " \t")
		if (len(before) == 0 || before[len(before)-1] == ',') && (len(after) == 0 || after[0] == ',') {
			return true
		}
		line = line[i+1:]
	}
	return false
}

var weak = []byte("W/")

// notModified reports whether the client has the representation with that tag.
func notModified(fields http1.Fields, tag []byte) bool {
	return slices.ContainsFunc(fields, func(f http1.Field) bool { return f.Is("If-None-Match") && lists(f.Value, tag) })
}
