package key

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/number"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// part is the value of one attribute in key bytes.
type part struct {
	Attribute
	of      *Schema
	raw     []byte // of a number: its encoding
	ordered bool   // a number in a sort key
}

// maxKey is far larger than any key: DynamoDB accepts 2048 and 1024 bytes, and rejects
// slightly longer keys with its own error.
const maxKey = 64 << 10

// split returns the parts of key bytes. It doesn't decode numbers.
func (s *Schema) split(key []byte) (hash, sort part, err error) {
	if len(key) > maxKey {
		return hash, sort, fmt.Errorf("a key of %d bytes: DynamoDB takes no more than 3 KB", len(key))
	}
	hash, sort = part{Attribute: s.Hash, of: s}, part{Attribute: s.Range, of: s}
	if !s.HasSortKey() {
		hash.raw = key
		return hash, sort, hash.check()
	}
	r := cbor.NewReader(key)
	switch s.Hash.Type {
	case 'S':
		hash.raw = r.Text()
	case 'B':
		hash.raw = r.Bytes()
	default:
		hash.raw = r.Raw()
	}
	if err := r.Err(); err != nil {
		return hash, sort, hash.wrapError(err)
	}
	sort.raw, sort.ordered = r.Rest(), true
	return hash, sort, sort.check()
}

var errUTF8 = errors.New("a text is not UTF-8")

// check validates a part that is copied verbatim.
func (p *part) check() error {
	if p.Type == 'S' && !utf8.Valid(p.raw) {
		return p.wrapError(errUTF8)
	}
	return nil
}

// wrapError adds the schema to an error: clients keep a schema for as long as they run, and
// may send keys of an earlier table with the same name.
func (p *part) wrapError(err error) error {
	return fmt.Errorf("the key does not fit the table's schema (%s): %s: %w; restart a client that has known the table with another key", p.of, p.Name, err)
}

// appendText appends the text of a number.
func (p *part) appendText(dst []byte) (_ []byte, err error) {
	if p.ordered {
		dst, err = number.AppendOrderedText(dst, p.raw)
	} else {
		r := cbor.NewReader(p.raw)
		if dst, err = number.AppendText(dst, &r); err == nil {
			err = r.Close()
		}
	}
	if err != nil {
		return dst, p.wrapError(err)
	}
	return dst, nil
}

// AppendCanonical appends the same bytes as wire.AppendScalar for the key in JSON: the
// partition key's part, of length hashLen, then the sort key's. It returns an error for a
// key that no item has, for example an empty one.
func (s *Schema) AppendCanonical(dst, key []byte) (out []byte, hashLen int, err error) {
	hash, sort, err := s.split(key)
	if err != nil {
		return dst, 0, err
	}
	start := len(dst)
	if dst, err = hash.appendCanonical(dst); err != nil {
		return dst, 0, err
	}
	hashLen = len(dst) - start
	if s.HasSortKey() {
		dst, err = sort.appendCanonical(dst)
	}
	return dst, hashLen, err
}

// maxPart is the maximum length of a part, which is preceded by its length in two bytes.
// Valid keys are much shorter.
const maxPart = 2048

var errLength = errors.New("it is empty, or longer than any key")

func (p *part) appendCanonical(dst []byte) (_ []byte, err error) {
	start := len(dst)
	dst = append(dst, p.Type, 0, 0)
	if p.Type == 'N' {
		var buf [400]byte
		text, err := p.appendText(buf[:0])
		if err != nil {
			return dst, err
		}
		var ok bool
		if dst, ok = wire.AppendNumber(dst, text); !ok {
			return dst, p.wrapError(errors.New("the number is none that DynamoDB has"))
		}
	} else {
		dst = append(dst, p.raw...)
	}
	n := len(dst) - start - 3
	if n == 0 || n > maxPart {
		return dst, p.wrapError(errLength)
	}
	binary.BigEndian.PutUint16(dst[start+1:], uint16(n))
	return dst, nil
}
