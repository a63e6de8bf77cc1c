package sigv4

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// Find returns the index of the key with the given ID.
func (v *Verifier) Find(id []byte) (key int, ok bool) {
	key, ok = v.index[string(id)]
	return key, ok
}

// VerifyText reports whether text has the given signature, in hexadecimal, under the signing
// key derived from one of the verifier's keys for its scope and a day. The day is the
// YYYYMMDD of a date accepted by ParseDate.
//
// It is for protocols that transmit the signed text instead of the request. The caller must
// check the content of the text, its day and scope included, and limit its length.
// VerifyText retains only the day's key.
func (v *Verifier) VerifyText(key int, day [8]byte, signature, text []byte) bool {
	s := scratches.Get().(*scratch)
	k := v.secrets[key].signing(day)
	s.text = append(append(s.text[:0], k.inner[:]...), text...)
	sum := k.sum(s.text)
	s.release()
	var want [2 * sha256.Size]byte
	hex.Encode(want[:], sum[:])
	return subtle.ConstantTimeCompare(want[:], signature) == 1
}
