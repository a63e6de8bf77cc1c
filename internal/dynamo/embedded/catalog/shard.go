package catalog

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"
)

// Shard is a part of a stream: the records of some partitions, from its creation until it is closed.
// Each partition of a stream that is not closed has exactly one open shard.
type Shard struct {
	ID          string
	Parent      string `json:",omitempty"` // ID of the shard that this one follows
	First, Last uint32 // the hashes of its partitions
	Created     time.Time
	Start       uint64     // less than the number of each record
	Closed      *time.Time `json:",omitempty"` // nil while it is open
	End         uint64     `json:",omitempty"` // of a closed shard: at least Start and the number of each record
}

// Has reports whether the shard has the record with a number, of a partition with a hash.
func (s *Shard) Has(number uint64, hash uint32) bool {
	return number > s.Start && (s.Closed == nil || number <= s.End) && s.First <= hash && hash <= s.Last
}

// Whole reports whether the shard has the records of all partitions.
func (s *Shard) Whole() bool { return s.First == 0 && s.Last == math.MaxUint32 }

// newShard returns an open shard. from, beside the time of its creation, makes its ID unique.
func newShard(parent string, first, last uint32, created time.Time, start uint64, from ...any) Shard {
	h := fnv.New32a()
	fmt.Fprint(h, from...)
	return Shard{
		ID: fmt.Sprintf("shardId-%020d-%08x", created.UnixMilli(), h.Sum32()), Parent: parent,
		First: first, Last: last, Created: created, Start: start,
	}
}

// open gives a new stream shards with as many partitions each.
func (s *Stream) open(shards int, begin time.Time) {
	n := uint64(max(1, shards))
	for i := range n {
		first, last := i<<32/n, (i+1)<<32/n-1
		more := ""
		if i > 0 {
			more = fmt.Sprint(i)
		}
		s.Shards = append(s.Shards, newShard("", uint32(first), uint32(last), begin, s.Start, s.Table, s.Label, more))
	}
}

// Upgrade gives a stream that an earlier version has written its only shard.
func (s *Stream) Upgrade() {
	if len(s.Shards) > 0 {
		return
	}
	shard := Shard{ID: s.OnlyShard, Last: math.MaxUint32, Created: s.Created, Start: s.Start, Closed: s.Closed, End: s.End}
	s.Shards, s.OnlyShard = []Shard{shard}, ""
}

// Shard returns the shard with the given ID, or nil.
func (s *Stream) Shard(id string) *Shard {
	for i := range s.Shards {
		if s.Shards[i].ID == id {
			return &s.Shards[i]
		}
	}
	return nil
}

// Close returns the stream after all its shards are closed. last is the greatest number of its
// records.
func (s *Stream) Close(now time.Time, last uint64) *Stream {
	next := *s
	next.Closed, next.End = &now, last
	next.Shards = slices.Clone(s.Shards)
	for i := range next.Shards {
		if shard := &next.Shards[i]; shard.Closed == nil {
			shard.Closed, shard.End = &now, last
		}
	}
	return &next
}

// OpenShards returns the number of open shards.
func (s *Stream) OpenShards() (n int) {
	for i := range s.Shards {
		if s.Shards[i].Closed == nil {
			n++
		}
	}
	return n
}

// Follow returns the stream after each open shard that was created before a time is closed, and
// followed by another one, or by two with half of its partitions each as long as there are fewer than
// limit open shards. last is the greatest number of the stream's records so far. It returns nil if
// nothing changes.
func (s *Stream) Follow(before, now time.Time, last uint64, limit int) *Stream {
	if s.Closed != nil {
		return nil
	}
	next, open := *s, s.OpenShards()
	next.Shards = slices.Clone(s.Shards)
	for i := range s.Shards {
		if next.Shards[i].Closed != nil || !next.Shards[i].Created.Before(before) {
			continue
		}
		next.Shards[i].Closed, next.Shards[i].End = &now, last
		old := next.Shards[i]
		child := func(first, to uint32) {
			next.Shards = append(next.Shards, newShard(old.ID, first, to, now, last, s.Table, s.Label, old.ID, first))
		}
		if open < limit && old.First < old.Last {
			middle := old.First + (old.Last-old.First)/2
			child(old.First, middle)
			child(middle+1, old.Last)
			open++
			continue
		}
		child(old.First, old.Last)
	}
	if len(next.Shards) == len(s.Shards) {
		return nil
	}
	return &next
}

// Forget returns the stream without the shards that were closed before a time, or nil if there are
// none.
func (s *Stream) Forget(before time.Time) *Stream {
	gone := func(shard Shard) bool { return shard.Closed != nil && shard.Closed.Before(before) }
	if s.Closed != nil || !slices.ContainsFunc(s.Shards, gone) {
		return nil
	}
	next := *s
	next.Shards = slices.DeleteFunc(slices.Clone(s.Shards), gone)
	return &next
}

// ShardPage returns the shards in the order of their IDs, behind the one with the ID after, at most
// limit, and whether there are more.
func ShardPage(shards []Shard, after string, limit int) (page []Shard, more bool) {
	for i := range shards {
		if shards[i].ID > after {
			page = append(page, shards[i])
		}
	}
	slices.SortFunc(page, func(a, b Shard) int { return strings.Compare(a.ID, b.ID) })
	n := min(limit, len(page))
	return page[:n], n < len(page)
}

// Children returns the shards that follow the one with the given ID.
func (s *Stream) Children(id string) (shards []Shard) {
	for i := range s.Shards {
		if s.Shards[i].Parent == id {
			shards = append(shards, s.Shards[i])
		}
	}
	return shards
}
