package listener

import (
	"math/rand/v2"

	"github.com/kasoku/kasoku/internal/ascii"
)

// RequestIDSize is the length of a request id: a connection's number, a dash, a request's
// number.
const RequestIDSize = 16 + 1 + 8

// RequestIDs makes the ids of one connection's requests: a random number for the connection
// and a running number of the request on it. It needs no lock.
type RequestIDs struct {
	connection [16 + 1]byte // and the dash
	request    uint32
}

// NewRequestIDs returns a source with a random number for the connection.
func NewRequestIDs() (s RequestIDs) {
	ascii.AppendHex(s.connection[:0], rand.Uint64(), 16)
	s.connection[16] = '-'
	return s
}

// Append appends the next id to dst.
func (s *RequestIDs) Append(dst []byte) []byte {
	s.request++
	return ascii.AppendHex(append(dst, s.connection[:]...), uint64(s.request), 8)
}
