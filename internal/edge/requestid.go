package edge

import (
	"math/rand/v2"
)

const (
	idSize   = 16 + 1 + 8 // a connection's number, a dash, a request's number
	idMost   = 128        // longest id taken over from a client
	hexDigit = "0123456789abcdef"
)

// idSource makes request ids: a random number for the connection and a running
// number of the request on it. It belongs to one connection and needs no lock.
type idSource struct {
	connection uint64
	request    uint32
}

func newIDSource() idSource { return idSource{connection: rand.Uint64()} }

// next appends the next id to dst.
func (s *idSource) next(dst []byte) []byte {
	s.request++
	dst = appendHex(dst, s.connection, 16)
	dst = append(dst, '-')
	return appendHex(dst, uint64(s.request), 8)
}

func appendHex(dst []byte, v uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, hexDigit[v>>shift&15])
	}
	return dst
}

// saneID says whether a client's request id may be taken over: visible ASCII of
// a bounded length, so that it can stand in a log line as it is.
func saneID(id []byte) bool {
	if len(id) == 0 || len(id) > idMost {
		return false
	}
	for _, c := range id {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
