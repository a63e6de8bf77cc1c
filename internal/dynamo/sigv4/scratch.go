package sigv4

import (
	"crypto/sha256"
	"sync"
)

// scratch holds the buffers of one verification or signing. It is taken from the pool and
// returned to it by that call.
type scratch struct {
	claim claim
	// decoded holds the unescaped parameters of the presigned form; the claim aliases it.
	decoded []byte
	// plain and encoded hold the parameters of the canonical query, unescaped and
	// re-escaped. pairs aliases encoded.
	plain, encoded []byte
	pairs          []pair
	// names holds the lower-case names of the fields to sign; they alias lower. list holds
	// them joined.
	names       [][]byte
	lower, list []byte
	// payload is the hexadecimal hash of the body.
	payload [2 * sha256.Size]byte
	// text is first the canonical request, then the string to sign.
	text []byte
}

// pair is a parameter of the canonical query, escaped.
type pair struct{ name, value []byte }

var scratches = sync.Pool{New: func() any { return &scratch{text: make([]byte, 0, 2048)} }}

// release returns s to the pool. It first drops references to the request, so that the pool
// doesn't retain it.
func (s *scratch) release() {
	s.claim = claim{}
	clear(s.names)
	scratches.Put(s)
}
