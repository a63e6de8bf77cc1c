package accel

import (
	"context"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/cache"
)

const (
	// maxBatchBytes is the maximum size of the records of a recordBatch, so that it is shorter than
	// cache.MaxPeerRequest.
	maxBatchBytes = 1500 * recordBytes
	// recordBytes is the maximum size of a record without an item.
	recordBytes = 41
	// maxRecordItem is the maximum size of an old image in a recordBatch.
	maxRecordItem = 16 << 10
	// itemsWanted is how long old images are sent after a node wanted them.
	itemsWanted = time.Minute
)

// maxBatchShards is the maximum number of shards whose batches are numbered.
const maxBatchShards = 4096

// recordBatch is a question to all other nodes: which of these records of a shard, which follow one
// another, are of their writes?
type recordBatch struct {
	table, stream, shard string
	run, number          uint64 // of batchNumbers
	indexes              uint64 // see table.indexSum
	records              []recordHashes
}

// The flags of a record.
const (
	flagOld = 1 << iota
	flagNew
	flagRemains
	flagItem
)

// append appends the encoding of b: each name after its length, the numbers, and for each record its
// flags, its item, the hashes of the images that are known, and the old image after its length if it
// is sent.
func (b *recordBatch) append(dst []byte) []byte {
	for _, name := range []string{b.table, b.stream, b.shard} {
		dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	}
	for _, n := range []uint64{b.run, b.number, b.indexes} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	for i := range b.records {
		r := &b.records[i]
		at := len(dst)
		dst = binary.BigEndian.AppendUint64(append(dst, 0), uint64(r.item))
		if r.oldKnown {
			dst[at] |= flagOld
			dst = r.old.append(dst)
		}
		if r.newKnown {
			dst[at] |= flagNew
			dst = r.new.append(dst)
		}
		if r.remains {
			dst[at] |= flagRemains
		}
		if r.oldItem != nil {
			dst[at] |= flagItem
			dst = append(binary.AppendUvarint(dst, uint64(len(r.oldItem))), r.oldItem...)
		}
	}
	return dst
}

func (h itemHash) append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, h.low), h.high)
}

// parseRecordBatch is the inverse of recordBatch.append. The old images refer to body.
func parseRecordBatch(body []byte) (b recordBatch, ok bool) {
	in := input{rest: body}
	b.table, b.stream, b.shard = in.name(), in.name(), in.name()
	b.run, b.number, b.indexes = in.number(), in.number(), in.number()
	for len(in.rest) > 0 && !in.short {
		flags := in.cut(1)[0]
		r := recordHashes{item: cache.Tag(in.number()), oldKnown: flags&flagOld != 0, newKnown: flags&flagNew != 0, remains: flags&flagRemains != 0}
		if r.oldKnown {
			r.old = itemHash{in.number(), in.number()}
		}
		if r.newKnown {
			r.new = itemHash{in.number(), in.number()}
		}
		if flags&flagItem != 0 {
			r.oldItem = in.text()
		}
		b.records = append(b.records, r)
	}
	return b, !in.short && len(b.records) > 0
}

// input is the rest of an encoding.
type input struct {
	rest  []byte
	short bool // something was missing
}

// zeros is read in place of missing bytes.
var zeros [8]byte

// cut returns the next n bytes, 8 at most.
func (in *input) cut(n int) []byte {
	if len(in.rest) < n {
		in.rest, in.short = nil, true
		return zeros[:n]
	}
	b := in.rest[:n]
	in.rest = in.rest[n:]
	return b
}

func (in *input) number() uint64 { return binary.BigEndian.Uint64(in.cut(8)) }

func (in *input) name() string { return string(in.text()) }

// text returns bytes that follow their number.
func (in *input) text() []byte {
	n, size := binary.Uvarint(in.rest)
	if size <= 0 || n > uint64(len(in.rest)-size) {
		in.rest, in.short = nil, true
		return nil
	}
	b := in.rest[size : size+int(n)]
	in.rest = in.rest[size+int(n):]
	return b
}

// verdicts is the answer to a recordBatch: two bits for each record. The lower one is set if the
// record is own, the upper one if it is exact too, as by ownWrites.take. One more byte is 1 if the
// node wants old images in the next batches.
type verdicts []byte

func newVerdicts(records int) verdicts { return make(verdicts, (records+3)/4+1) }

// wantItems sets whether the node wants old images.
func (v verdicts) wantItems(want bool) {
	if want {
		v[len(v)-1] = 1
	}
}

// wantsItems is the inverse of wantItems.
func (v verdicts) wantsItems() bool { return len(v) > 0 && v[len(v)-1] == 1 }

func (v verdicts) set(i int, own, exact bool) {
	if own {
		v[i/4] |= 1 << (i % 4 * 2)
	}
	if own && exact {
		v[i/4] |= 2 << (i % 4 * 2)
	}
}

// mark adds the verdicts to those of other nodes.
func (v verdicts) mark(list []feedRecord) {
	if len(v) != len(newVerdicts(len(list))) {
		return
	}
	for i := range list {
		bits := v[i/4] >> (i % 4 * 2) & 3
		list[i].own = list[i].own || bits&1 != 0
		list[i].exact = list[i].exact || bits == 3
	}
}

// batchNumbers numbers the batches of each shard that this node reads, from 1 in each run. A run is
// a time during which no records of a shard are missed.
type batchNumbers struct {
	mu   sync.Mutex // leaf
	run  uint64     // random; 0 before the first one
	last map[string]uint64
}

// restart begins another run. It is called after records may have been missed, before the next
// batch is numbered.
func (n *batchNumbers) restart() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begin()
}

// begin begins a run. mu must be held.
func (n *batchNumbers) begin() { n.run, n.last = rand.Uint64(), make(map[string]uint64) }

// next returns the run and the number of the next batch of a shard.
func (n *batchNumbers) next(shard string) (run, number uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil || n.last[shard] == 0 && len(n.last) >= maxBatchShards {
		n.begin()
	}
	n.last[shard]++
	return n.run, n.last[shard]
}

// askMembers asks all other nodes which records of a shard are of their writes. Each needs to see
// all records, also those of this node's writes.
func (f *feed) askMembers(ctx context.Context, t *table, shard string, list []feedRecord) {
	now := f.svc.cache.Now()
	for len(list) > 0 {
		b := recordBatch{table: f.table, stream: f.stream, shard: shard, indexes: t.indexSum()}
		b.run, b.number = f.batches.next(shard)
		b.records = hashRecords(list, now < f.itemsUntil.Load())
		part := list[:len(b.records)]
		list = list[len(part):]
		q := peerRequest{origin: f.origin, kind: keyRecords, body: b.append(nil)}
		for _, a := range f.svc.cache.AskAll(ctx, f.svc.name, q.encode()) {
			if a.Kind != kindRecords {
				continue
			}
			v := verdicts(a.Payload)
			v.mark(part)
			if v.wantsItems() {
				f.itemsUntil.Store(now + int64(itemsWanted))
			}
		}
	}
}

// hashRecords returns the hashes of the first records, as many as a batch may have, with their old
// images if these are wanted and not too long.
func hashRecords(list []feedRecord, items bool) (hashes []recordHashes) {
	for i, size := 0, 0; i < len(list); i++ {
		r := hashRecord(list[i].item, list[i].old, list[i].new)
		r.remains = list[i].remains()
		size += recordBytes
		if !items || len(r.oldItem) > maxRecordItem {
			r.oldItem = nil
		}
		if r.oldItem != nil {
			size += binary.MaxVarintLen16 + len(r.oldItem)
		}
		if size > maxBatchBytes {
			break
		}
		hashes = append(hashes, r)
	}
	return hashes
}

// answerRecords answers a recordBatch of another node.
func (s *Service) answerRecords(body []byte) (a cache.Shared, ok bool) {
	b, ok := parseRecordBatch(body)
	if !ok {
		return a, false
	}
	t := s.peek([]byte(b.table)) // it is no use of the table
	if t == nil || t.feed == nil || t.feed.stream != b.stream {
		return a, false
	}
	v, ok := t.feed.foreign.take(&b, t.indexSum())
	if ok {
		v.wantItems(t.feed.own.hasUpdates(s.cache.Now()))
	}
	return cache.Shared{Payload: v, Kind: kindRecords, Hit: true, TTL: time.Second}, ok
}

// indexSum returns a hash of everything that determines which tags of global indexes a write moves.
// It does not depend on the order of the indexes.
func (t *table) indexSum() (sum uint64) {
	t.eachGlobalIndex(func(ix *index) {
		b := append([]byte(ix.name), 0)
		for _, list := range [][]attribute{ix.hash, ix.rng} {
			for _, a := range list {
				b = append(append(b, a.name...), 0, a.typ)
			}
			b = append(b, 0, 0)
		}
		if ix.all {
			b = append(b, 1)
		}
		for _, name := range slices.Sorted(maps.Keys(ix.projected)) {
			b = append(append(b, name...), 0)
		}
		sum += xxhash.Sum64(b)
	})
	return sum
}
