package accel

import (
	"encoding/binary"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// itemKey is an item's canonical key: the bytes of the partition key, then of the sort key.
// Keys that DynamoDB considers equal (1 and 1.0) have the same bytes.
type itemKey struct {
	bytes   []byte
	hashLen int
}

func (k itemKey) hash() []byte { return k.bytes[:k.hashLen] }

// appendKey appends the canonical key of a Key object, which must contain exactly the
// table's key attributes.
func (t *table) appendKey(dst, obj []byte) (out []byte, hashLen int, ok bool) {
	return t.appendKeyOf(dst, obj, true)
}

// keyOfItem returns the canonical key of a whole item.
func (t *table) keyOfItem(item []byte) (itemKey, bool) {
	b, n, ok := t.appendKeyOf(nil, item, false)
	return itemKey{b, n}, ok
}

// keyOf returns the canonical key of a Key object in newly allocated memory.
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
			return dst, 0, false // a duplicate: parsers differ in which one they use
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

// The kinds of cache keys: their first byte.
const (
	keyItem  = 'i'
	keyQuery = 'q'
	keyScan  = 's'
	// Only to name a partition:
	keyPartition = 'p'
	// Of questions to other nodes only:
	keyFeed    = 'f'
	keyRecords = 'r'
)

// appendPrefix appends the table's prefix of cache keys.
func (t *table) appendPrefix(dst []byte, kind byte) []byte {
	return binary.BigEndian.AppendUint32(append(dst, kind), t.id)
}

// prefixLen is the length of appendPrefix's result.
const prefixLen = 5

func (t *table) cacheKey(k itemKey) []byte {
	return append(t.appendPrefix(make([]byte, 0, prefixLen+len(k.bytes)), keyItem), k.bytes...)
}

// indexHash returns the canonical partition key of an item in an index, nil if the index
// doesn't contain the item. known is false if that can't be determined.
func (ix *index) indexHash(item []byte) (hash []byte, known bool) {
	return ix.hashOf(func(name string) ([]byte, bool) { return attributeOf(item, name) })
}

// hashOf is like indexHash, with the attributes returned by find: value is nil for an absent
// attribute, known is false for an unknown one.
func (ix *index) hashOf(find func(name string) (value []byte, known bool)) (hash []byte, known bool) {
	for i, list := range [][]attribute{ix.hash, ix.rng} {
		for _, a := range list {
			v, known := find(a.name)
			if v == nil || !known {
				return nil, known
			}
			typ, _, plain := wire.Attribute(v)
			if plain && string(typ) != string(a.typ) {
				return nil, true // of a type that the index doesn't accept
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

// attributeOf returns an attribute of an item, nil if it is absent. known is false if the
// item has it twice.
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
