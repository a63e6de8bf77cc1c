package ring

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// textRoom is enough for a key of memcached's 250 bytes with half of them escaped, and a
// namespace.
const textRoom = 512

// text makes the text to hash from a key: the namespace and the key with its escapes, or
// only the part of these in a hash tag.
type text struct {
	bare      bool // the text is the key itself
	namespace string
	digits    string // for escapes; empty: nothing is escaped
	open, end byte   // of the hash tag; 0: none
}

func newText(namespace, escape, tag string) (text, error) {
	t := text{namespace: namespace}
	switch escape {
	case "", "none":
	case "nginx-lower":
		t.digits = ascii.LowerHex
	case "nginx-upper":
		t.digits = ascii.UpperHex
	default:
		return t, wrong(FieldKeyEscape, "unknown key escape %q; there are none, nginx-lower (until 1.7.3, and memcached_hash), nginx-upper", escape)
	}
	if tag != "" {
		t.open, t.end = tag[0], tag[1]
	}
	t.bare = namespace == "" && t.digits == "" && tag == ""
	return t, nil
}

// of returns the text to hash for key. It is key, or room, or a part of one of them.
func (t *text) of(key, room []byte) []byte {
	if t.namespace != "" || t.digits != "" && bytes.IndexFunc(key, escaped) >= 0 {
		room = append(room, t.namespace...)
		key = t.appendEscaped(room, key)
	}
	if t.open != 0 {
		return t.tagged(key)
	}
	return key
}

// escaped reports whether nginx sends c as %xx to memcached. Bytes from 0x7f on are sent
// unchanged.
func escaped(c rune) bool { return c <= ' ' || c == '%' }

func (t *text) appendEscaped(dst, key []byte) []byte {
	if t.digits == "" {
		return append(dst, key...)
	}
	for _, c := range key {
		if escaped(rune(c)) {
			dst = append(dst, '%', t.digits[c>>4], t.digits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// tagged returns the part between the tag's first opening character and the next closing
// one. If that is empty, it returns the whole key.
func (t *text) tagged(key []byte) []byte {
	_, rest, found := bytes.Cut(key, []byte{t.open})
	if !found {
		return key
	}
	inside, _, found := bytes.Cut(rest, []byte{t.end})
	if !found || len(inside) == 0 {
		return key
	}
	return inside
}
