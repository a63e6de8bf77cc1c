package accel

import (
	"encoding/binary"
	"strings"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/origin"
)

// What a tag names. The letter is the first byte of the name that is hashed, so
// tags of different kinds never share a name.
const (
	tagItem      = 'i' // one item
	tagPartition = 'p' // writes in a partition of the table: queries
	tagPurge     = 'P' // an operator's purge of a partition: items
	tagWrites    = 'w' // writes anywhere in the table: scans
	tagTable     = 't' // the table itself: everything of it
	tagIndexPart = 'x' // changes in a partition of a global index
	tagIndex     = 'X' // all queries of a global index
	tagSchema    = 'd' // what the table is like: its keys, indexes and TTL attribute
	tagOrigin    = 'o' // everything of the origin
	tagSchemas   = 'D' // what all of its tables are like
)

// tagName builds names of tags: the kind, then each part with its length, so
// that no two lists of parts give the same bytes.
type tagName struct{ buf []byte }

func (n *tagName) tag(kind byte, parts ...[]byte) cache.Tag {
	n.buf = append(n.buf[:0], kind)
	for _, p := range parts {
		n.buf = binary.AppendUvarint(n.buf, uint64(len(p)))
		n.buf = append(n.buf, p...)
	}
	switch kind {
	case tagPurge, tagTable, tagOrigin, tagSchema, tagSchemas:
		// Seldom moved, and much depends on them. An index's tag is moved by every
		// batch that writes to its table.
		return cache.BroadTagOf(n.buf)
	}
	return cache.TagOf(n.buf)
}

// originTag is the tag of everything of an origin. All other tags are named with it, so that
// services with the same origin share them: what is written through one of them is written
// for all.
func originTag(cfg *Config) cache.Tag {
	var n tagName
	if cfg.Local {
		return n.tag(tagOrigin, []byte(cfg.Origin.URL))
	}
	return n.tag(tagOrigin, []byte(origin.Identity(cfg.Origin.URL)), []byte(cfg.Region))
}

// tableTags are the tags that a table's name and its origin alone decide.
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

// schemasTag is the tag of what all tables of an origin are like.
func schemasTag(of cache.Tag) cache.Tag {
	var n tagName
	return n.tag(tagSchemas, binary.BigEndian.AppendUint64(nil, uint64(of)))
}

// tableSpace names a table of an origin in tags.
func tableSpace(of cache.Tag, table string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(of)), tagTableName(table)...)
}

// tagTableName is a table's name in tags: DynamoDB Local takes Music and music for
// one table, so a write to either must drop what is cached of the other.
func tagTableName(table string) string { return strings.ToLower(table) }

// item returns the tag of an item; key is its canonical key bytes.
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

// itemTags are the tags that an item's entry depends on.
func (t *table) itemTags(k itemKey) []cache.Tag {
	return []cache.Tag{t.itemTag(k.bytes), t.purgeTag(k.hash()), t.tags.table, t.tags.origin}
}
