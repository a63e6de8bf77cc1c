package accel

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Limits of ownWrites. Beyond them, own writes are treated as foreign.
const (
	ownShards      = 64
	maxOwnItems    = 1024      // of a shard
	maxOwnWrites   = 4096      // of a shard
	maxWritesOfOne = 256       // of an item
	maxSeen        = 64        // images of a write in flight
	maxOwnUpdates  = 256 << 10 // bytes of the updates of a shard
	maxOwnAge      = 10 * time.Minute
	ownSweep       = time.Minute // the minimum interval between sweeps of a shard
)

// ownWrites recognizes the stream records of writes through this process. Each own write has
// moved its tags already, so its record need not move them again.
//
// DynamoDB's answer to a write has no sequence number. A record is therefore recognized by
// its item and its images: a write with a known new image adds an expectation, and a record
// with the same new image, and not with another old one, is taken for the write's own. Each
// record x, from the old image O to the new image N, makes ownWrites forget writes of the
// item, so that they recognize no later record. These are the writes to N or to O, and if
// one of the two is unknown, all writes. But if x was recognized by e, then the writes that
// began after e had ended are kept. The images of a write in flight are compared when it
// ends.
//
// # Why a foreign record is never mistaken
//
// The records of an item arrive in the order in which its writes were executed. After a
// record x has arrived, each write that is not forgotten was executed after x. The proof is
// by induction. Let W be a write that was executed after the record before x:
//
//   - If W was executed after x, there is nothing to prove.
//   - If x is the record of W, then W is a write to N.
//   - If W was executed before x, then W has no record, since there is none in between. So
//     it changed nothing, and its new image is the state before x, which is O.
//
// So W is forgotten in the last two cases, unless x was recognized by a write e and W began
// after e had ended. This can't be. The expectation of e was not forgotten, so e too was
// executed after the record before x, and is one of the three cases. The new image of e is
// N. If e was executed before x, then O is N, and x changed nothing, for which DynamoDB
// writes no record. So e was executed at x or after it, and W after e.
//
// It follows that a record is recognized only by its own write or by one that was executed
// after it. At its end this write has moved the tags of the item, of the partition and of
// the table's writes, and everything that was cached under them since contains the record's
// change. If the old images are equal too, then the write affects the same partitions of
// indexes as the record, and has moved their tags as well. So it has if the record leaves the
// item in its partition of each index, and the write has moved the tags of the partitions of
// its new image, which is the record's; an index that doesn't project all attributes is left
// out if the record changes nothing in it. And so it has if it has moved the tags of whole
// indexes.
//
// A write may also be a function U of the item, such as ADD, whose images aren't known. It recognizes
// a record if U(O) is N and isn't O, and is forgotten as if its images were unknown. The proof is the
// same: if it was executed before x without a record, then U(O) is O. It has moved the tags of all
// partitions of indexes that U may affect, as x does.
//
// The same holds for the first record after reset, provided that reset is called after the
// stream's position has been determined: the remaining writes began after all records that
// are not delivered.
//
// Forgetting a write is always safe, because only a write can recognize a record. The proof
// requires that equal images of records have equal hashes, but not that the image of a write
// has the hash of its record's: then the write recognizes nothing.
type ownWrites struct {
	shards  [ownShards]ownShard
	updated atomic.Int64 // when the last update ended, by the cache's clock; 0 if none did
}

// ownShard has the writes of the items of a shard. Its mutex is a leaf.
type ownShard struct {
	mu     sync.Mutex
	items  map[cache.Tag]ownItem
	writes int    // of all items
	bytes  int    // of their updates
	stamp  uint64 // of the last event
	swept  int64  // the time of the last sweep, by the cache's clock
}

// ownItem is the list of an item's writes in flight or expected, in the order of begin.
type ownItem struct {
	first, last *ownWrite
	n           int
}

// ownWrite is a write through this process. It is in its item's list until it is forgotten.
// It is used by one goroutine, except for the fields that its shard's mutex guards.
type ownWrite struct {
	shard *ownShard
	item  cache.Tag
	ended bool // end or drop was called

	// Guarded by shard.mu:
	prev, next *ownWrite
	listed     bool
	began      int64  // time, by the cache's clock
	begin      uint64 // stamp
	commit     uint64 // stamp, 0 in flight
	old, new   itemHash
	oldKnown   bool
	moves      indexMoves
	update     *ownUpdate // in place of the images, which are not known then
	seen       []itemHash // in flight: the images that the write must not end with
}

func newOwnWrites() *ownWrites { return new(ownWrites) }

func (o *ownWrites) shard(item cache.Tag) *ownShard { return &o.shards[item%ownShards] }

// begin declares a write of an item before it is sent. now is the time by the cache's clock.
// It returns nil if the write is not tracked. Else the write must be ended with end or drop.
func (o *ownWrites) begin(item cache.Tag, now int64) *ownWrite {
	s := o.shard(item)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.swept > int64(ownSweep) {
		s.sweep(now)
	}
	l, tracked := s.items[item]
	if l.n >= maxWritesOfOne {
		s.forget(item, s.stamp+1)
		l, tracked = ownItem{}, false
	}
	if !tracked && len(s.items) >= maxOwnItems || s.writes >= maxOwnWrites {
		return nil
	}
	if s.items == nil {
		s.items = make(map[cache.Tag]ownItem)
	}
	s.stamp++
	w := &ownWrite{shard: s, item: item, listed: true, began: now, begin: s.stamp, prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.n++
	s.items[item] = l
	s.writes++
	return w
}

// end ends a write that was executed, after its tags have moved. It expects the write's
// record if the images are known. If they are equal, there is none.
func (w *ownWrite) end(old, new image) {
	if w == nil || w.ended {
		return
	}
	newHash, ok := imageHash(new)
	oldHash, oldKnown := imageHash(old)
	if !ok || oldKnown && oldHash == newHash {
		w.drop()
		return
	}
	w.ended = true
	s := w.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(w.seen, newHash) {
		s.remove(w)
		return
	}
	s.stamp++
	w.commit, w.new, w.old, w.oldKnown, w.seen = s.stamp, newHash, oldHash, oldKnown, nil
}

// endUpdate is end for an update that was executed, whose images aren't known. It has moved the tags of
// all partitions of indexes that the update may affect.
func (w *ownWrite) endUpdate(u *ownUpdate) {
	if w == nil || w.ended {
		return
	}
	w.ended = true
	s := w.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.listed {
		return
	}
	if len(w.seen) > 0 || s.bytes+u.size() > maxOwnUpdates {
		s.remove(w)
		return
	}
	s.stamp++
	w.commit, w.update, w.moves = s.stamp, u, movesAll
	s.bytes += u.size()
}

// movesIndexes records which tags of indexes the end of a write moves. It is called before end.
func (w *ownWrite) movesIndexes(m indexMoves) {
	if w != nil && !w.ended {
		w.moves = m
	}
}

// drop ends a write whose record isn't expected. It has no effect after end.
func (w *ownWrite) drop() {
	if w == nil || w.ended {
		return
	}
	w.ended = true
	s := w.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(w)
}

// take receives a record of an item. own reports that it is the record of a write through
// this process, or of an earlier one: the tags of the item, the partition and the table's
// writes have moved since. exact reports that those of the indexes' partitions have moved
// too. remains is that of the change.
func (o *ownWrites) take(item cache.Tag, old, new image, remains bool) (own, exact bool) {
	if !o.shard(item).tracks(item) {
		return false, false
	}
	r := hashRecord(item, old, new)
	r.remains = remains
	return o.takeHashes(r)
}

// takeHashes is take for a record whose images were hashed before.
func (o *ownWrites) takeHashes(r recordHashes) (own, exact bool) {
	s := o.shard(r.item)
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *ownWrite
	for w := s.items[r.item].first; r.newKnown && w != nil && (found == nil || w.begin < found.commit); w = w.next {
		if (found == nil || w.commit < found.commit) && w.makes(&r) {
			found = w
		}
	}
	before := s.stamp + 1
	if found != nil {
		own, before = true, found.commit
		exact = found.oldKnown && r.oldKnown || found.moves == movesNew && r.remains || found.moves == movesAll
	}
	if r.oldKnown && r.newKnown {
		s.forgetImages(r.item, before, r.old, r.new)
	} else {
		s.forget(r.item, before)
	}
	return own, exact
}

// makes reports whether w has ended and makes the change of r, whose new image is known. The shard's mu
// must be held.
func (w *ownWrite) makes(r *recordHashes) bool {
	switch {
	case w.commit == 0:
		return false
	case w.update != nil:
		return w.update.makes(r)
	}
	return w.new == r.new && !(w.oldKnown && r.oldKnown && w.old != r.old)
}

// hasUpdates reports whether an update has ended a short time ago. now is the time by the cache's clock.
func (o *ownWrites) hasUpdates(now int64) bool {
	at := o.updated.Load()
	return at != 0 && now-at < int64(itemsWanted)
}

// reset forgets all writes. It is called after records may have been missed, once the
// position of the next record has been determined.
func (o *ownWrites) reset() {
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.Lock()
		for item := range s.items {
			s.forget(item, s.stamp+1)
		}
		s.mu.Unlock()
	}
}

func (s *ownShard) tracks(item cache.Tag) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[item].n > 0
}

// forget removes the writes of an item that began before a stamp. mu must be held.
func (s *ownShard) forget(item cache.Tag, before uint64) {
	for w := s.items[item].first; w != nil && w.begin < before; w = s.items[item].first {
		s.remove(w)
	}
}

// forgetImages is forget for the writes to one of two images. mu must be held.
func (s *ownShard) forgetImages(item cache.Tag, before uint64, a, b itemHash) {
	next := (*ownWrite)(nil)
	for w := s.items[item].first; w != nil && w.begin < before; w = next {
		next = w.next
		switch {
		case w.commit == 0 && len(w.seen) < maxSeen:
			w.seen = append(w.seen, a, b)
		case w.commit == 0 || w.update != nil || w.new == a || w.new == b:
			s.remove(w)
		}
	}
}

// remove removes a write from its item's list, if it is still there. mu must be held.
func (s *ownShard) remove(w *ownWrite) {
	if !w.listed {
		return
	}
	l := s.items[w.item]
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.listed = nil, nil, false
	s.writes--
	if w.update != nil {
		s.bytes -= w.update.size()
	}
	if l.n--; l.n == 0 {
		delete(s.items, w.item)
		return
	}
	s.items[w.item] = l
}

// sweep removes the writes that are too old: their records are late, or the stream is no
// longer followed. mu must be held.
func (s *ownShard) sweep(now int64) {
	s.swept = now
	for _, l := range s.items {
		for l.first != nil && now-l.first.began > int64(maxOwnAge) {
			w := l.first
			l.first = w.next
			s.remove(w)
		}
	}
}

// itemHash is the hash of an image, the same in all processes. It has 128 bits, so that no
// two images share one by accident.
type itemHash struct{ low, high uint64 }

// absentHash is the hash of an item that doesn't exist.
var absentHash = itemHash{1, 1}

// recordHashes is a record of an item, with the hashes of its images.
type recordHashes struct {
	item               cache.Tag
	old, new           itemHash
	oldKnown, newKnown bool
	remains            bool   // see change.remains
	oldItem            []byte // the old image, if updates can be compared; nil too if there is none
}

func hashRecord(item cache.Tag, old, new image) recordHashes {
	r := recordHashes{item: item, oldItem: old.item}
	r.old, r.oldKnown = imageHash(old)
	r.new, r.newKnown = imageHash(new)
	return r
}

// canonicalItems holds buffers for the canonical forms of items.
var canonicalItems = sync.Pool{New: func() any { return new([]byte) }}

// maxCanonicalBuffer is the maximum size of a buffer that is kept.
const maxCanonicalBuffer = 64 << 10

// imageHash returns the hash of an image. Images that DynamoDB considers equal have the same
// hash. ok is false if the image is unknown or isn't an item.
func imageHash(im image) (h itemHash, ok bool) {
	if !im.known {
		return h, false
	}
	if im.item == nil {
		return absentHash, true
	}
	buf := canonicalItems.Get().(*[]byte)
	defer canonicalItems.Put(buf)
	text, ok := wire.AppendCanonicalItem((*buf)[:0], im.item)
	if !ok {
		return h, false
	}
	if *buf = text; cap(text) > maxCanonicalBuffer {
		*buf = nil
	}
	var d xxhash.Digest
	d.ResetWithSeed(1)
	_, _ = d.Write(text)
	return itemHash{low: xxhash.Sum64(text), high: d.Sum64()}, true
}
