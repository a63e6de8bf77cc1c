package accel

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// image is an item before or after a write. The zero value is an unknown image.
type image struct {
	known bool
	item  []byte // nil: the item didn't exist
}

// change is the known effect of a write on one item. It determines which partitions of
// global indexes the write affects. The images are taken from this write only: its request
// and its response.
type change struct {
	t        *table
	key      []byte // the Key object, or the item that contains it
	old, new image
	targets  []expr.Target // of an update; nil if it isn't one or isn't understood
	update   bool
}

// indexTags appends the tags of the index partitions that the item left, entered or changed
// in. If the partition is unknown, it appends the tag of the whole index.
func (ch *change) indexTags(tags []cache.Tag) []cache.Tag {
	ch.t.eachGlobalIndex(func(ix *index) {
		left, entered, known := ch.partitions(ix)
		if !known {
			tags = append(tags, ch.t.indexTag(ix))
			return
		}
		if left != nil {
			tags = append(tags, ch.t.indexPartitionTag(ix, left))
		}
		if entered != nil && !bytes.Equal(left, entered) {
			tags = append(tags, ch.t.indexPartitionTag(ix, entered))
		}
	})
	return tags
}

// partitions returns the partition keys in ix that the write affects, nil for none.
func (ch *change) partitions(ix *index) (left, entered []byte, known bool) {
	if left, entered, known = ch.imagePartitions(ix); known || !ch.t.keyDetermines(ix) {
		return left, entered, known
	}
	only := index{hash: ix.hash}
	left, known = only.indexHash(ch.key)
	return left, nil, known
}

// imagePartitions is like partitions, but uses only the images.
func (ch *change) imagePartitions(ix *index) (left, entered []byte, known bool) {
	if ch.update {
		return ch.updatePartitions(ix)
	}
	if !ch.old.known || !ch.new.known {
		return nil, nil, false
	}
	left, entered, known = ix.partitionsOf(ch.old.item, ch.new.item)
	if !known {
		return nil, nil, false
	}
	if left != nil && bytes.Equal(left, entered) && ix.sameEntry(ch.old.item, ch.new.item) {
		return nil, nil, true
	}
	return left, entered, true
}

// indexMoves describes which tags of global indexes indexTags has.
type indexMoves uint8

const (
	movesSome indexMoves = iota
	// movesNew: for each index that projects all attributes, the tag of the partition of the new
	// image, if that is in the index.
	movesNew
	// movesAll: for each index, the tag of the whole index, or of the only partition that the item
	// can be in.
	movesAll
)

// indexMoves describes which tags indexTags has.
func (ch *change) indexMoves() indexMoves {
	all, newest := true, ch.new.known
	ch.t.eachGlobalIndex(func(ix *index) {
		left, entered, known := ch.partitions(ix)
		if !known {
			return
		}
		all = all && ch.t.keyDetermines(ix) && left != nil
		if newest && ix.all {
			at, ok := ix.partitionOf(ch.new.item)
			newest = ok && (at == nil || bytes.Equal(at, left) || bytes.Equal(at, entered))
		}
	})
	switch {
	case all:
		return movesAll
	case newest:
		return movesNew
	}
	return movesSome
}

// remains reports whether the item remains in its partition of each global index, or outside of it, and
// changes nothing in those that don't project all attributes.
func (ch *change) remains() bool {
	remains := ch.old.known && ch.new.known
	ch.t.eachGlobalIndex(func(ix *index) {
		if remains {
			left, entered, known := ix.partitionsOf(ch.old.item, ch.new.item)
			remains = known && bytes.Equal(left, entered) && (ix.all || left == nil || ix.sameEntry(ch.old.item, ch.new.item))
		}
	})
	return remains
}

// partitionsOf returns the partition keys of two items, each of which may be nil.
func (ix *index) partitionsOf(a, b []byte) (left, entered []byte, known bool) {
	if left, known = ix.partitionOf(a); known {
		entered, known = ix.partitionOf(b)
	}
	return left, entered, known
}

// partitionOf returns the partition key of an item, which may be nil.
func (ix *index) partitionOf(item []byte) (hash []byte, known bool) {
	if item == nil {
		return nil, true
	}
	return ix.indexHash(item)
}

// sameEntry reports whether two items have the same projection in the index.
func (ix *index) sameEntry(a, b []byte) bool {
	if ix.all {
		return false // they nearly always differ, and a needless invalidation is cheap
	}
	for name := range ix.projected {
		if name == "" {
			continue
		}
		x, knownX := attributeOf(a, name)
		y, knownY := attributeOf(b, name)
		if !knownX || !knownY || (x == nil) != (y == nil) {
			return false
		}
		cx, okX := wire.AppendCanonical(nil, x)
		cy, okY := wire.AppendCanonical(nil, y)
		if x != nil && (!okX || !okY || !bytes.Equal(cx, cy)) {
			return false
		}
	}
	return true
}

// updatePartitions is like partitions, for an update. One image is often sufficient: an
// update that doesn't touch the index's key attributes leaves the item in its partition.
func (ch *change) updatePartitions(ix *index) (left, entered []byte, known bool) {
	if ch.targets == nil {
		return nil, nil, false
	}
	if ch.touches(ix.hash) || ch.touches(ix.rng) {
		return ch.movedPartitions(ix)
	}
	if !ch.touchesProjection(ix) && !ch.t.keyCovers(ix) {
		return nil, nil, true
	}
	for _, im := range []image{ch.new, ch.old} {
		switch {
		case !im.known:
		case im.item != nil:
			left, known = ix.partitionOf(im.item)
			return left, nil, known
		default:
			// The update created the item: it has its key and the attributes that were set.
			entered, known = ix.partitionOf(ch.key)
			return nil, entered, known
		}
	}
	return nil, nil, false
}

// movedPartitions returns both partitions of an update that touches the index's key.
func (ch *change) movedPartitions(ix *index) (left, entered []byte, known bool) {
	if !ch.old.known {
		return nil, nil, false
	}
	if ch.new.known {
		return ix.partitionsOf(ch.old.item, ch.new.item)
	}
	if left, known = ix.partitionOf(ch.old.item); known {
		entered, known = ix.hashOf(ch.attributeAfter)
	}
	return left, entered, known
}

// attributeAfter returns the value of an attribute after the update, nil if it is absent.
// known is false if the value depends on evaluating an expression.
func (ch *change) attributeAfter(name string) (value []byte, known bool) {
	for _, t := range ch.targets {
		if t.Name != name {
			continue
		}
		switch t.Effect {
		case expr.SetTo:
			return t.Value, true
		case expr.Removed:
			return nil, true
		default:
			return nil, false
		}
	}
	from := ch.old.item
	if from == nil {
		from = ch.key
	}
	return attributeOf(from, name)
}

func (ch *change) touches(attributes []attribute) bool {
	for _, a := range attributes {
		for _, t := range ch.targets {
			if t.Name == a.name {
				return true
			}
		}
	}
	return false
}

func (ch *change) touchesProjection(ix *index) bool {
	return ix.all || slices.ContainsFunc(ch.targets, func(t expr.Target) bool { return ix.projected[t.Name] })
}

// keyDetermines reports whether an item's key determines its partition in ix, because the
// index's partition key consists of key attributes of the table.
func (t *table) keyDetermines(ix *index) bool {
	return !slices.ContainsFunc(ix.hash, func(a attribute) bool { return a != t.hash && a != t.rng })
}

// keyCovers reports whether ix contains every item of the table, because the index's key
// consists of key attributes of the table.
func (t *table) keyCovers(ix *index) bool {
	for _, list := range [][]attribute{ix.hash, ix.rng} {
		for _, a := range list {
			if a != t.hash && a != t.rng {
				return false
			}
		}
	}
	return true
}
