package key

import (
	"crypto/sha256"
	"encoding/hex"
)

// MaxLength is the length of the longest key in bytes.
const MaxLength = 250

// Rules define how a bare key is sent. They are immutable.
type Rules struct {
	// Namespace precedes each key. It is not escaped.
	Namespace string
	// Escape escapes the key behind it.
	Escape Escape
	// HashLong replaces a key that is too long by the SHA-256 of the escaped key without the
	// namespace, in 64 hexadecimal digits in lower case. The ring hashes those digits too.
	// Without HashLong such a key is TooLong.
	HashLong bool
}

// Trouble is the reason why a request has no key that can be sent.
type Trouble uint8

// The reasons.
const (
	OK      Trouble = iota
	Absent          // the request lacks a source of the template, or has it with two values
	Empty           // it is empty
	BadByte         // it has a space, a control character or DEL
	TooLong         // with the namespace
)

// String returns a token for metrics and Cache-Status.
func (t Trouble) String() string {
	return [...]string{"ok", "no-key", "empty-key", "bad-key", "long-key"}[t]
}

// Check returns the mistake in the namespace, if there is one.
func (r *Rules) Check() Trouble {
	t := check(append([]byte(r.Namespace), '.'))
	if r.HashLong && len(r.Namespace)+hex.EncodedLen(sha256.Size) > MaxLength {
		return TooLong
	}
	return t
}

// Wire appends the key to send for a bare key to dst. hashed is the text for the ring: bare,
// or a part of wire if bare was too long and is replaced.
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

// check returns the mistake in a key to send.
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
