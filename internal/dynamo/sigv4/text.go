package sigv4

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// Find returns the index of the key with an ID.
func (v *Verifier) Find(id []byte) (key int, ok bool) {
	key, ok = v.index[string(id)]
	return key, ok
}

// VerifyText checks that text was signed as it stands, in hexadecimal, with the signing key
// that one of the verifier's keys has in its scope on a day, given as YYYYMMDD of a time that
// ParseDate has read. It is for those who are sent the text and not the request: what the text
// says is theirs to check, its day and scope included, and how long it may be. Nothing is kept
// but the day's key.
func (v *Verifier) VerifyText(key int, day [8]byte, signature, text []byte) bool {
	s := scratches.Get().(*scratch)
	k := v.secrets[key].signing(day)
	s.text = append(append(s.text[:0], k.inner[:]...), text...)
	sum := k.sum(s.text)
	s.free()
	var want [2 * sha256.Size]byte
	hex.Encode(want[:], sum[:])
	return subtle.ConstantTimeCompare(want[:], signature) == 1
}
