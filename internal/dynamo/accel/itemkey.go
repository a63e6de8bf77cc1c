package accel

import (
	"encoding/binary"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// itemKey is an item's canonical key: the partition key's bytes, then the sort
// key's. Keys that DynamoDB takes for equal (1 and 1.0) have the same bytes.
type itemKey struct {
	bytes   []byte
	hashLen int
}

func (k itemKey) hash() []byte { return k.bytes[:k.hashLen] }

// appendKey appends the canonical key of a Key object, which must hold exactly
// the table's key attributes.
func (t *table) appendKey(dst, obj []byte) (out []byte, hashLen int, ok bool) {
	return t.appendKeyOf(dst, obj, true)
}

// keyOfItem makes the canonical key of a whole item.
func (t *table) keyOfItem(item []byte) (itemKey, bool) {
	b, n, ok := t.appendKeyOf(nil, item, false)
	return itemKey{b, n}, ok
}

// keyOf makes the canonical key of a Key object, in memory of its own.
func (t *table) keyOf(obj []byte) (itemKey, bool) {
	b, n, ok := t.appendKeyOf(nil, obj, true)
	return itemKey{b, n}, ok
}

func (t *table) appendKeyOf(dst, obj []byte, exact bool) (out []byte, hashLen int, ok bool) {
	var hash, rng []byte
	it := wire.Object(obj)
	for it.Next() {
		part := &hash
		switch {
		case wire.NameIs(it.Name(), t.hash.name):
		case t.rng.name != "" && wire.NameIs(it.Name(), t.rng.name):
			part = &rng
		case exact:
			return dst, 0, false
		default:
			continue
		}
		if *part != nil {
			return dst, 0, false // twice: parsers differ in which they believe
		}
		*part = it.Value()
	}
	if it.Err() || hash == nil || (rng == nil) != (t.rng.name == "") {
		return dst, 0, false
	}
	start := len(dst)
	dst, ok = wire.AppendScalar(dst, hash, t.hash.typ)
	hashLen = len(dst) - start
	if ok && t.rng.name != "" {
		dst, ok = wire.AppendScalar(dst, rng, t.rng.typ)
	}
	return dst, hashLen, ok
}

// What a cache key is of: its first byte.
const (
	keyItem  = 'i'
	keyQuery = 'q'
	keyScan  = 's'
)

// appendPrefix begins a cache key of the table.
func (t *table) appendPrefix(dst []byte, kind byte) []byte {
	return binary.BigEndian.AppendUint32(append(dst, kind), t.id)
}

// prefixLen is how long appendPrefix is.
const prefixLen = 5

// cacheKey is the key under which an item's entry is kept.
func (t *table) cacheKey(k itemKey) []byte {
	return append(t.appendPrefix(make([]byte, 0, prefixLen+len(k.bytes)), keyItem), k.bytes...)
}

// indexHash makes the canonical partition key that an item has in an index: nil
// if the item is not in the index. known is false if that can't be told.
func (ix *index) indexHash(item []byte) (hash []byte, known bool) {
	return ix.hashOf(func(name string) ([]byte, bool) { return attributeOf(item, name) })
}

// hashOf is indexHash over attributes however they are found: value is nil for an
// attribute that is not there, known is false for one that can't be told.
func (ix *index) hashOf(find func(name string) (value []byte, known bool)) (hash []byte, known bool) {
	for i, list := range [][]attribute{ix.hash, ix.rng} {
		for _, a := range list {
			v, known := find(a.name)
			if v == nil || !known {
				return nil, known
			}
			typ, _, plain := wire.Attribute(v)
			if plain && string(typ) != string(a.typ) {
				return nil, true // of a type that the index does not take
			}
			out, ok := wire.AppendScalar(hash, v, a.typ)
			if !ok {
				return nil, false
			}
			if i == 0 {
				hash = out
			}
		}
	}
	return hash, true
}

// attributeOf finds an attribute of an item: nil if it is not there. known is
// false if the item has it twice.
func attributeOf(item []byte, name string) (value []byte, known bool) {
	it := wire.Object(item)
	for it.Next() {
		if wire.NameIs(it.Name(), name) {
			if value != nil {
				return nil, false
			}
			value = it.Value()
		}
	}
	return value, !it.Err()
}
