package embedded

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// nextToken is the beginning of the next page of a SELECT: the read, and the item after
// which to continue. It is opaque to clients: the first bytes of a hash of the request, the
// number of the read, the key of the item, and a checksum, in base 64.
type nextToken struct {
	request [16]byte
	read    int
	last    []byte // the key in JSON; empty for the beginning of the read
}

var (
	errNextToken      = wire.Invalid("Invalid NextToken")
	errOtherNextToken = wire.Invalid("NextToken does not match request")
)

// identity returns a hash of the request that a NextToken is bound to.
func (r *statementRequest) identity() (id [16]byte) {
	h := sha256.New()
	h.Write(r.Text)
	for i := range r.Parameters {
		h.Write(r.Parameters[i].Append([]byte{0}))
	}
	copy(id[:], h.Sum(nil))
	return id
}

// append appends the token as a JSON string.
func (n *nextToken) append(dst []byte) []byte {
	raw := append([]byte(nil), n.request[:]...)
	raw = binary.AppendUvarint(raw, uint64(n.read))
	raw = append(raw, n.last...)
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	dst = append(dst, '"')
	dst = base64.URLEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}

// parse reads a token. It must be a token of the request in n.
func (n *nextToken) parse(text string) error {
	const sum = 4
	raw, err := base64.URLEncoding.DecodeString(text)
	if err != nil || len(raw) < len(n.request)+1+sum {
		return errNextToken
	}
	body := raw[:len(raw)-sum]
	if binary.BigEndian.Uint32(raw[len(body):]) != crc32.ChecksumIEEE(body) {
		return errNextToken
	}
	if [16]byte(body) != n.request {
		return errOtherNextToken
	}
	read, width := binary.Uvarint(body[len(n.request):])
	if width <= 0 || read > maxReads {
		return errNextToken
	}
	n.read, n.last = int(read), body[len(n.request)+width:]
	return nil
}

// resume continues at the token, which a client may have forged.
func (s *selectRun) resume(n *nextToken) error {
	if n.read >= len(s.reads) {
		return errNextToken
	}
	s.at = n.read
	if len(n.last) == 0 {
		return nil
	}
	last, err := value.ParseItem(n.last)
	if err != nil {
		return errNextToken
	}
	s.req.Start = &last
	if s.checkStartLength() != nil || s.checkStartKey() != nil {
		return errNextToken
	}
	for i := range s.key.Len() {
		if s.checkStartPart(i) != nil {
			return errNextToken
		}
	}
	s.start = appendPartition(s.start[:0], s.t.id, s.number(), last.Get(s.plan.hash()))
	s.appendStartRest()
	r := &s.reads[s.at]
	s.lower, s.upper = r.lower, r.upper
	if !s.inBounds() {
		return errNextToken
	}
	s.skip()
	r.lower, r.upper = s.lower, s.upper
	return nil
}
