package wire

import "errors"

// MaxKey is the length of the longest key in bytes.
const MaxKey = 250

// ErrKey is returned for a key that can't be sent: it is empty, longer than MaxKey, or has a
// byte that would end it or the command early.
var ErrKey = errors.New("memcached: a key has 1 to 250 bytes, without spaces and control characters")

// CheckKey returns ErrKey unless key has 1 to 250 bytes of 0x21-0x7e and 0x80-0xff.
func CheckKey(key []byte) error {
	if len(key) == 0 || len(key) > MaxKey {
		return ErrKey
	}
	for _, c := range key {
		if c <= ' ' || c == 0x7f {
			return ErrKey
		}
	}
	return nil
}
