package key

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/number"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// AppendJSON appends the members encoded by key bytes, without braces:
// "pk":{"S":"a"},"sk":{"N":"1"}.
func (s *Schema) AppendJSON(dst, key []byte) ([]byte, error) {
	hash, sort, err := s.split(key)
	if err != nil {
		return dst, err
	}
	if dst, err = hash.appendMember(dst); err != nil || !s.HasSortKey() {
		return dst, err
	}
	return sort.appendMember(append(dst, ','))
}

func (p *part) appendMember(dst []byte) (_ []byte, err error) {
	dst = wire.AppendQuoted(dst, []byte(p.Name))
	dst = append(dst, ':', '{', '"', p.Type, '"', ':')
	switch p.Type {
	case 'S':
		dst = wire.AppendQuoted(dst, p.raw)
	case 'B':
		dst = append(base64.StdEncoding.AppendEncode(append(dst, '"'), p.raw), '"')
	default:
		dst, err = p.appendText(append(dst, '"'))
		dst = append(dst, '"')
	}
	return append(dst, '}'), err
}

// AppendKey appends the key bytes of an item or a key in JSON. It ignores other attributes.
func (s *Schema) AppendKey(dst, item []byte) (_ []byte, err error) {
	var hash, sort []byte
	for it := wire.Object(item); it.Next(); {
		switch {
		case wire.NameIs(it.Name(), s.Hash.Name):
			hash = it.Value()
		case s.HasSortKey() && wire.NameIs(it.Name(), s.Range.Name):
			sort = it.Value()
		}
	}
	hash, err = s.Hash.valueOf(hash)
	if err != nil {
		return dst, err
	}
	if !s.HasSortKey() {
		return s.Hash.appendBare(dst, hash, attr.AppendNumber)
	}
	if sort, err = s.Range.valueOf(sort); err != nil {
		return dst, err
	}
	if dst, err = s.Hash.appendItem(dst, hash); err != nil {
		return dst, err
	}
	return s.Range.appendBare(dst, sort, appendOrdered)
}

// valueOf returns the text of a JSON attribute value, which must have the right type.
func (a *Attribute) valueOf(v []byte) ([]byte, error) {
	typ, value, ok := wire.Attribute(v)
	if !ok || len(typ) != 1 || typ[0] != a.Type {
		return nil, fmt.Errorf("an item has no key attribute %s of type %c", a.Name, a.Type)
	}
	return value, nil
}

// appendItem appends a partition key that is followed by a sort key.
func (a *Attribute) appendItem(dst, v []byte) ([]byte, error) {
	switch a.Type {
	case 'S':
		return attr.AppendString(dst, v)
	case 'B':
		return attr.AppendBinary(dst, v)
	}
	return attr.AppendNumber(dst, v)
}

// appendBare appends the last part of a key.
func (a *Attribute) appendBare(dst, v []byte, digits func(dst, v []byte) ([]byte, error)) ([]byte, error) {
	ok := true
	switch a.Type {
	case 'S':
		dst, ok = wire.AppendString(dst, v)
	case 'B':
		dst, ok = wire.AppendBinary(dst, v)
	default:
		return digits(dst, v)
	}
	if !ok {
		return dst, fmt.Errorf("the key attribute %s can't be read", a.Name)
	}
	return dst, nil
}

func appendOrdered(dst, quoted []byte) ([]byte, error) {
	text, ok := wire.Plain(quoted)
	if !ok {
		return dst, fmt.Errorf("%s is no number", quoted)
	}
	return number.AppendOrdered(dst, text)
}

// Limits of a query's start position: its bytes, at most four keys of 2 KB each, and its
// attributes, at most ten in the keys of a table and an index.
const (
	maxStart      = 64 << 10
	maxStartNames = 16
)

// AppendStartJSON appends the start position of a query on an index as a JSON object. start
// is a map of the names of all key attributes, of the table and the index, to their values.
func AppendStartJSON(dst, start []byte) (_ []byte, err error) {
	if len(start) > maxStart {
		return dst, fmt.Errorf("the start key of an index is none: it has %d bytes", len(start))
	}
	r := cbor.NewReader(start)
	n := r.Map()
	var buf [maxStartNames][]byte
	names := buf[:0]
	dst = append(dst, '{')
	for r.More(&n) {
		name := r.Text()
		if len(names) == maxStartNames || slices.ContainsFunc(names, func(other []byte) bool { return bytes.Equal(name, other) }) {
			err = errors.New("it has an attribute twice, or more than any key")
			break
		}
		if names = append(names, name); len(names) > 1 {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendQuoted(dst, name), ':')
		if dst, err = attr.AppendJSON(dst, &r); err != nil {
			break
		}
	}
	if err == nil {
		err = r.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("the start key of an index is none: %w", err)
	}
	return append(dst, '}'), nil
}

// AppendStart appends the map of a JSON object, for example LastEvaluatedKey. It has
// indefinite length, because some clients accept no other.
func AppendStart(dst, object []byte) ([]byte, error) {
	dst, err := attr.AppendMembers(cbor.AppendMapOpen(dst), object)
	return cbor.AppendBreak(dst), err
}
