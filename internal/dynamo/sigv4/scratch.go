package sigv4

import (
	"crypto/sha256"
	"sync"
)

// scratch holds what one verification or signing writes. It belongs to that call alone, from
// the pool and back.
type scratch struct {
	claim claim
	// decoded holds the unescaped parameters of the query form, which the claim
	// points to until the end.
	decoded []byte
	// plain and encoded hold the parameters of the canonical query, unescaped and
	// escaped again; pairs point into encoded.
	plain, encoded []byte
	pairs          []pair
	// names are those of the fields to sign, in lower case; their bytes are in lower,
	// and the list made of them in list.
	names       [][]byte
	lower, list []byte
	// payload is the hash of the body, in hexadecimal.
	payload [2 * sha256.Size]byte
	// text is the canonical request, then the string to sign.
	text []byte
}

// pair is a parameter of the canonical query, escaped.
type pair struct{ name, value []byte }

var scratches = sync.Pool{New: func() any { return &scratch{text: make([]byte, 0, 2048)} }}

// free drops what aliases the request, so that the pool does not keep it alive.
func (s *scratch) free() {
	s.claim = claim{}
	clear(s.names)
	scratches.Put(s)
}
