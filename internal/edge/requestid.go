package edge

import (
	"math/rand/v2"

	"github.com/kasoku/kasoku/internal/ascii"
)

const (
	idSize = 16 + 1 + 8 // a connection's number, a dash, a request's number
	idMost = 128        // longest id taken over from a client
)

// idSource makes request ids: a random number for the connection and a running
// number of the request on it. It belongs to one connection and needs no lock.
type idSource struct {
	connection [16 + 1]byte // and the dash
	request    uint32
}

func newIDSource() (s idSource) {
	ascii.AppendHex(s.connection[:0], rand.Uint64(), 16)
	s.connection[16] = '-'
	return s
}

// next appends the next id to dst.
func (s *idSource) next(dst []byte) []byte {
	s.request++
	return ascii.AppendHex(append(dst, s.connection[:]...), uint64(s.request), 8)
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
