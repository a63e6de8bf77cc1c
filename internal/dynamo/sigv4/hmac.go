package sigv4

import (
	"crypto/sha256"
	"sync/atomic"
)

// hmacKey is an HMAC-SHA256 key, expanded to its inner and outer blocks. Unlike a crypto/hmac
// hash, it is read-only memory that goroutines can share.
type hmacKey struct{ inner, outer [sha256.BlockSize]byte }

func newPads(key []byte) (p hmacKey) {
	if len(key) > sha256.BlockSize {
		short := sha256.Sum256(key)
		key = short[:]
	}
	copy(p.inner[:], key)
	copy(p.outer[:], key)
	for i := range p.inner {
		p.inner[i] ^= 0x36
		p.outer[i] ^= 0x5c
	}
	return p
}

// sum returns the HMAC of message. block must be append(inner, message).
func (p *hmacKey) sum(block []byte) [sha256.Size]byte {
	inner := sha256.Sum256(block)
	var outer [sha256.BlockSize + sha256.Size]byte
	copy(outer[:], p.outer[:])
	copy(outer[sha256.BlockSize:], inner[:])
	return sha256.Sum256(outer[:])
}

// mac returns the HMAC of message under key.
func mac(key []byte, message string) []byte {
	p := newPads(key)
	sum := p.sum(append(append(make([]byte, 0, sha256.BlockSize+len(message)), p.inner[:]...), message...))
	return sum[:]
}

// secret derives the signing keys of one access key.
type secret struct {
	secret, region, service string
	// days caches the signing keys of two neighbouring days, indexed by the last bit of the
	// day's number, because around midnight clients sign for both. A reader that finds no
	// key derives it; concurrent derivations store equal keys.
	days [2]atomic.Pointer[dayKey]
}

type dayKey struct {
	day  [8]byte // YYYYMMDD
	pads hmacKey
}

// signing returns the signing key of a day, given as a valid YYYYMMDD.
func (s *secret) signing(day [8]byte) *hmacKey {
	place := &s.days[day[7]&1]
	if k := place.Load(); k != nil && k.day == day {
		return &k.pads
	}
	key := mac([]byte("AWS4"+s.secret), string(day[:]))
	key = mac(key, s.region)
	key = mac(key, s.service)
	k := &dayKey{day: day, pads: newPads(mac(key, terminator))}
	place.Store(k)
	return &k.pads
}
