package sigv4

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// hash sets payload to the hash of body.
func (s *scratch) hash(body []byte) {
	sum := sha256.Sum256(body)
	hex.Encode(s.payload[:], sum[:])
}

// signature returns the hexadecimal signature of r under key, with the date and the fields
// of the claim and the given scope. It returns false if the list of signed headers is
// malformed.
func (s *scratch) signature(r *http1.Request, scope []byte, key *hmacKey) (signature [2 * sha256.Size]byte, ok bool) {
	s.text, ok = s.appendCanonical(s.text[:0], r)
	canonical := sha256.Sum256(s.text)
	text := append(s.text[:0], key.inner[:]...)
	text = append(text, algorithm+"\n"...)
	text = append(text, s.claim.date...)
	text = append(text, '\n')
	text = append(text, scope...)
	text = append(text, '\n')
	text = hex.AppendEncode(text, canonical[:])
	s.text = text
	sum := key.sum(text)
	hex.Encode(signature[:], sum[:])
	return signature, ok
}

// listSigned builds the list of fields to sign: all except those that a proxy may change, as
// AWS's own signers do.
func (s *scratch) listSigned(r *http1.Request) {
	s.names, s.lower = s.names[:0], s.lower[:0]
	for i := range r.Fields {
		start := len(s.lower)
		for _, c := range r.Fields[i].Name {
			s.lower = append(s.lower, ascii.Lower(c))
		}
		switch name := s.lower[start:]; string(name) {
		case "user-agent", "x-amzn-trace-id", "expect", "transfer-encoding":
		default:
			s.names = append(s.names, name) // remains valid when lower is reallocated
		}
	}
	slices.SortFunc(s.names, bytes.Compare)
	s.list = s.list[:0]
	for i, name := range s.names {
		if i > 0 && bytes.Equal(name, s.names[i-1]) {
			continue
		}
		if i > 0 {
			s.list = append(s.list, ';')
		}
		s.list = append(s.list, name...)
	}
	s.claim.signedHeaders = s.list
}
