package fluent

import "sync"

// shard takes in the records of, mostly, one processor. A call holds mu while
// it appends what it has encoded before, so never while foreign code runs.
type shard struct {
	mu     sync.Mutex
	closed bool // Shutdown has begun; nothing is taken in after its last collection
	filled filling
	last   int64 // at of the last record ever taken in

	// Credit: what may still be taken in before limits must be asked.
	bytes, records int64

	posted  uint64 // records ever taken in
	hurried bool   // the collector was told that this shard has much

	_ [64]byte // keeps the next shard's lock out of this one's cache line
}

// filling is what a shard has taken in since the last collection. The
// collector swaps it for an empty one.
type filling struct {
	buf   []byte // records, one after the other
	marks []mark // one for each
	tags  []string
}

// mark describes a record in a filling.
type mark struct {
	at   int64 // by the Logger's clock; never falls within a shard
	size uint32
	tag  uint32 // index in tags
}

// tagCost is what a change of the tag adds to a shard's bytes, for having them
// collected: each may become a batch.
const tagCost = 64

// outcome is what became of an attempt to put a record into a shard.
type outcome int

const (
	put      outcome = iota
	putFirst         // the shard was empty: the collector must be woken
	putMuch          // the shard has passed its threshold: the collector must hurry
	noRoom
	isClosed
)

// put appends an encoded record. Within a shard at never falls, and a record
// has a higher one than what its goroutine posted before, in whatever shard:
// the collector restores the order by that. When another record came between
// reading the clock and taking the lock, it is read again:
//
//	A reads 10             B reads 30, appends to shard 1
//	A appends to shard 1   as 10 it would break the order of the shard; as 30
//	A posts at 20          it would come after this one, in shard 2
func (s *shard) put(l *limits, tag string, entry []byte, at int64, much int, c *clock) outcome {
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
	case len(f.buf)+tagCost*len(f.tags) >= much && !s.hurried:
		s.hurried = true
		return putMuch
	case first:
		return putFirst
	}
	return put
}

// tag returns the index of tag. Only the last one is looked at: records that
// take turns between tags write a tag each, which costs less than a search.
func (f *filling) tag(tag string) uint32 {
	if n := len(f.tags); n > 0 && f.tags[n-1] == tag {
		return uint32(n - 1)
	}
	f.tags = append(f.tags, tag)
	return uint32(len(f.tags) - 1)
}

// borrow gets credit for one more record of size bytes: a whole piece of what
// is short, or when that is not to be had just what is needed.
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

// unborrow gives back the credit that is left.
func (s *shard) unborrow(l *limits) {
	s.mu.Lock()
	bytes, records := s.bytes, max(s.records, 0)
	s.bytes, s.records = 0, 0
	s.mu.Unlock()
	if bytes > 0 || records > 0 {
		l.release(bytes, records)
	}
}

// swap takes out what was filled and leaves spare, which is empty. The caller
// holds mu.
func (s *shard) swap(spare filling) filling {
	f := s.filled
	s.filled, s.hurried = spare, false
	return f
}

// emptied returns f for another use. Buffers larger than keep bytes that were
// hardly used this time, as a rush leaves them, go back to the runtime.
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
