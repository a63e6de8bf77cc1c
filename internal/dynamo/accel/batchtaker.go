package accel

import "sync"

// batchTaker lets another node, which reads the table's stream, recognize the records of writes
// through this one. It passes the records that the reader sends to ownWrites.
//
// Batches may be lost, repeated or delayed, the reader may change, and two nodes may read the stream
// at the same time for a while. So the batches of each shard have consecutive numbers, and a reader
// begins a new run, with a random number, when it starts and when it may have missed records. If a
// batch does not follow the last one of the same run and shard, ownWrites.reset is called before
// its records are taken.
//
// # Why a foreign record is never mistaken
//
// The proof of ownWrites requires one thing of the order of records: when a record of an item is
// taken, each write of the item that is not forgotten was executed after the record before it.
// Within a batch this follows from that proof, because its records are consecutive. For the first
// record of an item in a batch there are two cases:
//
//   - The batch follows the last one of its run and shard. Then the record before is in that batch
//     or in an earlier one of the shard or of its parents. After the last batch was taken, all
//     remaining writes had been executed after that record. This is still so. In between, writes
//     have begun, which were executed later, and writes were forgotten: batches of other shards and
//     runs, and records that this node reads itself, do nothing else.
//   - The batch does not follow. Then all writes are forgotten first, including those in flight, and
//     the remaining ones begin after the batch was received. The reader had read all earlier records
//     of the shard and of its parents by then, or they are among those that it missed before it
//     began the run. So the remaining writes are executed after all records that are not delivered.
//
// The first batch of a shard is of the second case, also if it has number 1: the last batches of the
// shard's parents may be lost, and no later batch of theirs would show that.
//
// If only the answer is lost or late, the records were taken, and the reader invalidates for them. If
// the batch is lost, the next one that arrives of the shard does not follow; until then this node
// takes no record of the shard and so recognizes none. A batch that arrives twice does not follow
// itself. A reader that could not invalidate sends the same records again as the next batch. The
// remaining writes were then executed after all of them, and a write that recognizes one of them has
// moved its tags later than the record.
//
// A write that has ended has moved its tags on all nodes, whichever node it was sent to. The tags of
// indexes are the same for the writer and the reader if both have the same description of the
// indexes. If it differs, the batch is declined. If it changes, all writes are forgotten, because some
// of them may have moved the tags of the former indexes only.
type batchTaker struct {
	own *ownWrites

	mu      sync.Mutex // acquired before those of own
	run     uint64
	indexes uint64            // table.indexSum of the writes
	taken   map[string]uint64 // the number of the last batch by shard
}

// take takes the records of a batch and returns which of them are own. indexes is the sum of the
// table's indexes on this node. ok is false if the reader has other indexes.
func (t *batchTaker) take(b *recordBatch, indexes uint64) (v verdicts, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, seen := t.taken[b.shard]
	if t.taken == nil || b.run != t.run || indexes != t.indexes || !seen && len(t.taken) >= maxBatchShards {
		t.run, t.indexes, t.taken = b.run, indexes, make(map[string]uint64)
		seen = false
	}
	if b.indexes != indexes {
		t.taken = nil
		return nil, false
	}
	if !seen || b.number != last+1 {
		t.own.reset()
	}
	delete(t.taken, b.shard) // in case of a panic
	v = newVerdicts(len(b.records))
	for i := range b.records {
		own, exact := t.own.takeHashes(b.records[i])
		v.set(i, own, exact)
	}
	t.taken[b.shard] = b.number
	return v, true
}
