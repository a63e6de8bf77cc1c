package fluent

import "sync"

// shard holds new records, usually of one processor. A call holds mu while it appends an
// encoded record, so never while foreign code runs.
type shard struct {
	mu     sync.Mutex
	closed bool // set by the last collection of Shutdown; nothing is added afterwards
	filled filling
	last   int64 // the at of the last record

	// Credit: the amount that may be added without another reservation.
	bytes, records int64

	posted  uint64 // records added so far
	hurried bool   // the collector was woken because this shard is large

	_ [64]byte // keeps the next shard's lock in another cache line
}

// filling is the data added to a shard since the last collection. The collector swaps it for
// an empty one.
type filling struct {
	buf   []byte // records, one after the other
	marks []mark // one for each
	tags  []string
}

// mark describes a record in a filling.
type mark struct {
	at   int64 // position by the Logger's clock; never decreases within a shard
	size uint32
	tag  uint32 // index in tags
}

// tagCost is the amount by which a change of the tag increases a shard's size, as far as it
// triggers a collection: each tag may become a batch.
const tagCost = 64

// outcome is the result of adding a record to a shard.
type outcome int

const (
	put              outcome = iota
	putFirst                 // the shard was empty: the collector must be woken
	putOverThreshold         // the shard has passed its threshold: the collector must hurry
	noRoom
	isClosed
)

// put appends an encoded record. Within a shard at never decreases, and a record has a
// higher at than the records that its goroutine posted before, in any shard: the collector
// restores the order by it. If another record was added between reading the clock and taking
// the lock, the clock is read again:
//
//	A reads 10             B reads 30, appends to shard 1
//	A appends to shard 1   as 10 it would break the order of the shard; as 30
//	A posts at 20          it would be after this one, in shard 2
func (s *shard) put(l *limits, tag string, entry []byte, at int64, threshold int, c *clock) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return isClosed
	}
	size := int64(len(entry))
	if (s.bytes < size || l.maxRecords > 0 && s.records < 1) && !s.borrow(l, size) {
		return noRoom
	}
	s.bytes -= size
	s.records--
	if at < s.last {
		at = c.read()
	}
	s.last = at
	f := &s.filled
	first := len(f.marks) == 0
	f.marks = append(f.marks, mark{at: at, size: uint32(size), tag: f.tag(tag)})
	f.buf = append(f.buf, entry...)
	s.posted++
	switch {
	case len(f.buf)+tagCost*len(f.tags) >= threshold && !s.hurried:
		s.hurried = true
		return putOverThreshold
	case first:
		return putFirst
	}
	return put
}

// tag returns the index of tag. It compares only with the last one: records with alternating
// tags write a tag each, which costs less than a search.
func (f *filling) tag(tag string) uint32 {
	if n := len(f.tags); n > 0 && f.tags[n-1] == tag {
		return uint32(n - 1)
	}
	f.tags = append(f.tags, tag)
	return uint32(len(f.tags) - 1)
}

// borrow reserves credit for one more record of size bytes: a whole piece if possible, or
// just the necessary amount.
func (s *shard) borrow(l *limits, size int64) bool {
	var bytes, records, moreBytes, moreRecords int64
	if s.bytes < size {
		bytes = size - s.bytes
		moreBytes = max(bytes, l.pieceBytes)
	}
	if l.maxRecords > 0 && s.records < 1 {
		records = 1
		moreRecords = max(records, l.pieceRecords)
	}
	if l.reserve(moreBytes, moreRecords) {
		bytes, records = moreBytes, moreRecords
	} else if !l.reserve(bytes, records) {
		return false
	}
	s.bytes += bytes
	s.records += records
	return true
}

// unborrow returns the unused credit.
func (s *shard) unborrow(l *limits) {
	s.mu.Lock()
	bytes, records := s.bytes, max(s.records, 0)
	s.bytes, s.records = 0, 0
	s.mu.Unlock()
	if bytes > 0 || records > 0 {
		l.release(bytes, records)
	}
}

// swap returns the filling and replaces it by spare, which is empty. The caller holds mu.
func (s *shard) swap(spare filling) filling {
	f := s.filled
	s.filled, s.hurried = spare, false
	return f
}

// emptied returns f for reuse. Buffers larger than keep bytes that were mostly unused this
// time, for example after a burst, are released.
func (f filling) emptied(keep int) filling {
	if cap(f.buf) > keep && len(f.buf) < cap(f.buf)/8 {
		f.buf, f.marks = nil, nil
	}
	if cap(f.tags) > 1024 && len(f.tags) < cap(f.tags)/8 {
		f.tags = nil
	}
	clear(f.tags)
	f.buf, f.marks, f.tags = f.buf[:0], f.marks[:0], f.tags[:0]
	return f
}
