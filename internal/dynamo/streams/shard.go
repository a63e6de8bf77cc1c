package streams

import (
	"container/heap"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// shard is a shard that is followed. Its first part belongs to the goroutine that reads it.
type shard struct {
	id       string
	iterator string        // "" if a new one is needed
	obtained time.Duration // when the call began that returned the iterator
	page     *page         // received and not yet applied
	resumed  bool          // it is in Config.From, and has had no iterator
	gap      bool          // records may have been missed, and no fence has completed since
	holding  bool          // it holds back Through
	behind   int           // empty answers that do not move its time
	leaf     bool          // it was closed when it was found, and had no children

	// The rest is guarded by shardSet.mu.
	sequence string        // of the last record applied
	oldest   bool          // while sequence is empty: it is read from its oldest record
	next     string        // while sequence is empty, and oldest false: the iterator, or ""
	read     bool          // through is valid
	through  time.Duration // all records of before are applied
	index    int           // in shardSet.order if read
	err      error         // of the last call, or nil
}

// shardSet has the shards that are followed and computes the time through which all of them
// are read.
type shardSet struct {
	mu     sync.Mutex
	shards map[string]*shard
	order  byThrough // shards that have a time
	holds  int       // reasons to return no time
	// through is the result: a time since the follower's epoch, or none.
	through atomic.Int64
}

const none = math.MinInt64

// reset removes all shards.
func (s *shardSet) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards, s.order = map[string]*shard{}, nil
	s.publish()
}

// publish computes through. A reader takes no lock.
func (s *shardSet) publish() {
	through := int64(none)
	if s.holds == 0 && len(s.order) > 0 && len(s.order) == len(s.shards) {
		through = int64(s.order[0].through)
	}
	if s.through.Load() != through {
		s.through.Store(through)
	}
}

// hold withdraws the time until release is called as often.
func (s *shardSet) hold() { s.addHold(1) }

func (s *shardSet) release() { s.addHold(-1) }

func (s *shardSet) addHold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds += n
	s.publish()
}

// replace removes a shard that was read to its end, or none, and adds others, which have
// its time.
func (s *shardSet) replace(old *shard, list []*shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old != nil {
		delete(s.shards, old.id)
		if old.read {
			heap.Remove(&s.order, old.index)
		}
	}
	for _, sh := range list {
		s.shards[sh.id] = sh
		if old != nil && old.read {
			sh.read, sh.through = true, old.through
			heap.Push(&s.order, sh)
		}
	}
	s.publish()
}

// has reports whether a shard is followed.
func (s *shardSet) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shards[id] != nil
}

func (s *shardSet) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.shards)
}

// advance moves a shard's time. It never moves back.
func (s *shardSet) advance(sh *shard, through time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !sh.read:
		sh.read, sh.through = true, through
		heap.Push(&s.order, sh)
	case through > sh.through:
		sh.through = through
		heap.Fix(&s.order, sh.index)
	}
	s.publish()
}

// time returns a shard's time, and false if it has none.
func (s *shardSet) time(sh *shard) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sh.through, sh.read
}

// place returns the sequence number of the last record applied, and whether the shard is read
// from its oldest record if there is none.
func (s *shardSet) place(sh *shard) (sequence string, oldest bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sh.sequence, sh.oldest
}

func (s *shardSet) setPlace(sh *shard, sequence string, oldest bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.sequence, sh.oldest, sh.next = sequence, oldest, ""
}

// begin is called when a fence has completed that began after the call for the shard's iterator. A
// checkpoint may have the iterator from then on.
func (s *shardSet) begin(sh *shard) {
	s.setNext(sh, sh.iterator)
	s.advance(sh, sh.obtained)
}

// setNext records the iterator of a shard.
func (s *shardSet) setNext(sh *shard, iterator string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.next = iterator
}

func (s *shardSet) setError(sh *shard, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.err = err
}

// byThrough is a heap of shards, with the earliest time first.
type byThrough []*shard

func (h byThrough) Len() int           { return len(h) }
func (h byThrough) Less(i, j int) bool { return h[i].through < h[j].through }
func (h byThrough) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *byThrough) Push(x any) {
	sh := x.(*shard)
	sh.index = len(*h)
	*h = append(*h, sh)
}

func (h *byThrough) Pop() any {
	last := len(*h) - 1
	sh := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return sh
}
