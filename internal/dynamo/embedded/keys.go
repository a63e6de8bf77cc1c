package embedded

import (
	"encoding/binary"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// The key spaces. Numbers in keys are big-endian, so that they sort.
//
//	m name                                          values of the whole store
//	c table                                         catalog.Table as JSON
//	n table index                                   kv.Sums: items, bytes; index 0 is the table
//	t table 0     hash partition sort               item
//	t table index hash index-partition index-sort   index entry, followed by hash
//	              hash partition sort               and key of its item
//	x ...                                           expiry index (ttl.go)
//	s ...                                           streams (streams.go)
//	b table index                                   backfill cursor (backfill.go)
//	k ...                                           client request tokens (tokens.go)
//
// hash is the serviceHash of the partition key, so that a scan visits partitions in the
// service's order, and segments of a scan are ranges of it. After an index key it is the
// hash of the item's whole key. Key attributes are encoded by value.AppendKey: the encodings
// sort and mark their own end.
const (
	spaceMeta    = 'm'
	spaceCatalog = 'c'
	spaceCounter = 'n'
	spaceTable   = 't'
	spaceExpiry  = 'x'
	spaceStream  = 's'
	spaceCursor  = 'b'
	spaceToken   = 'k'
)

// tableIndex is the index number of the table itself.
const tableIndex = 0

// appendTable appends the prefix of a table's keys in a space.
func appendTable(dst []byte, space byte, table uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, space), table)
}

// appendIndex appends the prefix of the items of a table, if index is tableIndex, or of the
// entries of one of its indexes.
func appendIndex(dst []byte, table uint64, index uint32) []byte {
	return binary.BigEndian.AppendUint32(appendTable(dst, spaceTable, table), index)
}

// hashStart is the offset of the partition's hash in the key of an item or of an index
// entry.
const hashStart = 1 + 8 + 4

// appendPartition appends the prefix of a partition: of all items or entries with this
// partition key.
func appendPartition(dst []byte, table uint64, index uint32, partition ...*value.Value) []byte {
	dst = appendIndex(dst, table, index)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	start := len(dst)
	for _, v := range partition {
		dst = v.AppendKey(dst)
	}
	binary.BigEndian.PutUint64(dst[start-8:], serviceHash(partition...))
	return dst
}

// appendItemKey appends the key of an item, which may be a Key alone. It must have passed
// the checks of keys.
func appendItemKey(dst []byte, t *catalog.Table, item *value.Value) []byte {
	dst = appendPartition(dst, t.ID, tableIndex, item.Get(t.Key.Hash[0].Name))
	for i := range t.Key.Range {
		dst = item.Get(t.Key.Range[i].Name).AppendKey(dst)
	}
	return dst
}

// appendEntryKey appends the key of an item's entry in an index. It returns false if the
// item is not in the index because a key attribute of the index is missing, or has another
// type, is empty or too long. Such items are older than the index.
func appendEntryKey(dst []byte, t *catalog.Table, x *catalog.Index, item *value.Value) ([]byte, bool) {
	if !indexes(x, item) {
		return dst, false
	}
	var buf [4]*value.Value
	partition := buf[:0]
	for i := range x.Key.Hash {
		partition = append(partition, item.Get(x.Key.Hash[i].Name))
	}
	dst = appendPartition(dst, t.ID, x.ID, partition...)
	for i := range x.Key.Range {
		dst = item.Get(x.Key.Range[i].Name).AppendKey(dst)
	}
	return appendTieBreaker(dst, t, item), true
}

// appendTieBreaker appends the part of an entry's key that distinguishes entries with the
// same index key: the hash and the values of the item's key.
func appendTieBreaker(dst []byte, t *catalog.Table, item *value.Value) []byte {
	var buf [2]*value.Value
	key := buf[:0]
	for a := range t.Key.All() {
		key = append(key, item.Get(a.Name))
	}
	dst = binary.BigEndian.AppendUint64(dst, serviceHash(key...))
	for _, v := range key {
		dst = v.AppendKey(dst)
	}
	return dst
}

// The maximum sizes of key attributes in bytes, of tables and of indexes.
const (
	maxHashKey  = 2048
	maxRangeKey = 1024
)

// indexes reports whether an item has an entry in the index.
func indexes(x *catalog.Index, item *value.Value) bool {
	fits := func(attributes []catalog.Attribute, limit int) bool {
		size := 0
		for i := range attributes {
			v := item.Get(attributes[i].Name)
			if v == nil || v.Type != attributes[i].Type || v.Type != value.Number && len(v.Text) == 0 {
				return false
			}
			if v.Type != value.Number {
				size += len(v.Text)
			}
		}
		return size <= limit
	}
	return fits(x.Key.Hash, maxHashKey) && fits(x.Key.Range, maxRangeKey)
}

// counterKey returns the key of the sums of a table or of one of its indexes.
func counterKey(dst []byte, table uint64, index uint32) []byte {
	return binary.BigEndian.AppendUint32(appendTable(dst, spaceCounter, table), index)
}

// prefixEnd appends the first key after all keys that begin with prefix, and returns dst.
func prefixEnd(dst, prefix []byte) []byte {
	start := len(dst)
	dst = append(dst, prefix...)
	for i := len(dst) - 1; i >= start; i-- {
		if dst[i]++; dst[i] != 0 {
			return dst[:i+1]
		}
	}
	return dst[:start] // no key follows; spaces are letters, so this doesn't happen
}
