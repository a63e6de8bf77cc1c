package key

import (
	"crypto/sha256"
	"encoding/hex"
)

// MaxLength is the length of the longest key that memcached takes, in bytes.
const MaxLength = 250

// Rules say what becomes of a bare key on its way to a server. They are immutable.
type Rules struct {
	// Namespace is put before each key, unescaped.
	Namespace string
	// Escape is how the key behind it is escaped.
	Escape Escape
	// HashLong replaces a key that is too long with the 64 hexadecimal digits, in lower
	// case, of the SHA-256 of the escaped key without the namespace. The ring gets those
	// digits as well. Without it such a key is TooLong.
	HashLong bool
}

// Trouble says why a request has no key that could be sent.
type Trouble uint8

// What can be wrong with keys.
const (
	OK      Trouble = iota
	Absent          // the request lacks something that the template names, or says it twice
	Empty           // there is nothing in it
	BadByte         // a blank, a control character or DEL
	TooLong         // with the namespace
)

// String is a token for metrics and Cache-Status.
func (t Trouble) String() string {
	return [...]string{"ok", "no-key", "empty-key", "bad-key", "long-key"}[t]
}

// Check finds out whether the rules can work, by their namespace.
func (r *Rules) Check() Trouble {
	t := check(append([]byte(r.Namespace), '.'))
	if r.HashLong && len(r.Namespace)+hex.EncodedLen(sha256.Size) > MaxLength {
		return TooLong
	}
	return t
}

// Wire appends what is sent for a bare key to dst. hashed is what the ring gets: bare
// itself or, if it was too long and is replaced, a part of what was appended.
func (r *Rules) Wire(dst, bare []byte) (wire, hashed []byte, t Trouble) {
	if len(bare) == 0 {
		return dst, bare, Empty
	}
	n := len(dst)
	dst = append(dst, r.Namespace...)
	from := len(dst)
	dst = r.Escape.append(dst, bare)
	if len(dst)-n > MaxLength && r.HashLong {
		sum := sha256.Sum256(dst[from:])
		dst = hex.AppendEncode(dst[:from], sum[:])
		bare = dst[from:]
	}
	return dst, bare, check(dst[n:])
}

// check says what is wrong with a key as it is sent.
func check(wire []byte) Trouble {
	switch {
	case len(wire) == 0:
		return Empty
	case len(wire) > MaxLength:
		return TooLong
	}
	for _, c := range wire {
		if c <= ' ' || c == 0x7f {
			return BadByte
		}
	}
	return OK
}
