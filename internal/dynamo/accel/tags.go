package accel

import (
	"encoding/binary"
	"strings"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/origin"
)

// Kinds of tags. The letter is the first byte of the hashed name, so tags of different kinds
// never have the same name.
const (
	tagItem      = 'i' // one item
	tagPartition = 'p' // writes in a partition of the table, for queries
	tagPurge     = 'P' // an operator's purge of a partition, for items
	tagWrites    = 'w' // writes anywhere in the table, for scans
	tagTable     = 't' // everything of the table
	tagIndexPart = 'x' // changes in a partition of a global index
	tagIndex     = 'X' // all queries of a global index
	tagSchema    = 'd' // the table's schema: its keys, indexes and TTL attribute
	tagOrigin    = 'o' // everything of the origin
	tagSchemas   = 'D' // the schemas of all tables of an origin
)

// tagName builds the names of tags: the kind, then each part with its length, so that
// different lists of parts have different names.
type tagName struct{ buf []byte }

func (n *tagName) tag(kind byte, parts ...[]byte) cache.Tag {
	n.buf = append(n.buf[:0], kind)
	for _, p := range parts {
		n.buf = binary.AppendUvarint(n.buf, uint64(len(p)))
		n.buf = append(n.buf, p...)
	}
	switch kind {
	case tagPurge, tagTable, tagOrigin, tagSchema, tagSchemas:
		// Rarely invalidated, with many dependents. Every batch that writes to a table
		// invalidates the tags of its indexes.
		return cache.BroadTagOf(n.buf)
	}
	return cache.TagOf(n.buf)
}

// originTag returns the tag of everything of an origin. The names of all other tags contain
// it, so that services with the same origin share them and a write through one of them
// invalidates the entries of all.
func originTag(cfg *Config) cache.Tag {
	var n tagName
	if cfg.Local {
		return n.tag(tagOrigin, []byte(cfg.Origin.URL))
	}
	return n.tag(tagOrigin, []byte(origin.Identity(cfg.Origin.URL)), []byte(cfg.Region))
}

// tableTags are the tags that depend only on the table's name and its origin.
type tableTags struct {
	origin, table, writes cache.Tag
	schema, schemas       cache.Tag
}

func newTableTags(of cache.Tag, table string) tableTags {
	var n tagName
	space := tableSpace(of, table)
	return tableTags{
		origin:  of,
		table:   n.tag(tagTable, space),
		writes:  n.tag(tagWrites, space),
		schema:  n.tag(tagSchema, space),
		schemas: schemasTag(of),
	}
}

// schemasTag returns the tag of the schemas of all tables of an origin.
func schemasTag(of cache.Tag) cache.Tag {
	var n tagName
	return n.tag(tagSchemas, binary.BigEndian.AppendUint64(nil, uint64(of)))
}

// tableSpace returns the name of a table of an origin for tags.
func tableSpace(of cache.Tag, table string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(of)), tagTableName(table)...)
}

// tagTableName returns a table's name for tags. DynamoDB Local treats Music and music as one
// table, so a write to either must invalidate entries of the other.
func tagTableName(table string) string { return strings.ToLower(table) }

// itemTag returns the tag of an item; key is its canonical key.
func (t *table) itemTag(key []byte) cache.Tag {
	var n tagName
	return n.tag(tagItem, t.space, key)
}

func (t *table) partitionTag(hash []byte) cache.Tag {
	var n tagName
	return n.tag(tagPartition, t.space, hash)
}

func (t *table) purgeTag(hash []byte) cache.Tag {
	var n tagName
	return n.tag(tagPurge, t.space, hash)
}

func (t *table) indexTag(ix *index) cache.Tag {
	var n tagName
	return n.tag(tagIndex, t.space, ix.rawName)
}

func (t *table) indexPartitionTag(ix *index, hash []byte) cache.Tag {
	var n tagName
	return n.tag(tagIndexPart, t.space, ix.rawName, hash)
}

// itemTags returns the tags that an item's entry depends on.
func (t *table) itemTags(k itemKey) []cache.Tag {
	return []cache.Tag{t.itemTag(k.bytes), t.purgeTag(k.hash()), t.tags.table, t.tags.origin}
}
