package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// ETag is an entity tag as received, including W/ and quotes.
type ETag struct {
	Value []byte
	Kind  TagKind
}

// TagKind is the kind of an entity tag, which determines its use.
type TagKind uint8

// The kinds of entity tags.
const (
	NoTag     TagKind = iota
	OpaqueTag         // not a valid entity tag; compared bytewise and never strongly
	WeakTag           // W/"..."
	StrongTag         // "..."
)

// ParseETag classifies an entity tag by its form (RFC 9110, section 8.8.3).
func ParseETag(b []byte) ETag {
	switch tag, _ := http1.CutETag(b); {
	case len(b) == 0:
		return ETag{}
	case len(tag) != len(b):
		return ETag{b, OpaqueTag}
	case b[0] == 'W':
		return ETag{b, WeakTag}
	}
	return ETag{b, StrongTag}
}

// strongEqual is the strong comparison of RFC 9110, section 8.8.3.2.
func (t ETag) strongEqual(u ETag) bool {
	return t.Kind == StrongTag && u.Kind == StrongTag && bytes.Equal(t.Value, u.Value)
}

// weakEqual is the weak comparison, which ignores W/.
func (t ETag) weakEqual(u ETag) bool {
	return t.Kind != NoTag && u.Kind != NoTag && bytes.Equal(opaque(t.Value), opaque(u.Value))
}

func opaque(b []byte) []byte { return bytes.TrimPrefix(b, []byte("W/")) }

// listed reports whether a line of If-None-Match has a tag that weakly equals t. A member
// that is no entity tag is compared bytewise.
func (t ETag) listed(line []byte) bool {
	for line = ascii.Trim(line); len(line) > 0; line = ascii.Trim(line) {
		tag, rest := http1.CutETag(line)
		if rest = ascii.Trim(rest); tag == nil || len(rest) > 0 && rest[0] != ',' {
			tag, rest = cutMember(line)
		} else if len(rest) > 0 {
			rest = rest[1:]
		}
		if t.weakEqual(ParseETag(tag)) {
			return true
		}
		line = rest
	}
	return false
}
