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

// maxBatchRecords is the maximum number of records of a recordBatch, so that it is shorter than
// cache.MaxPeerRequest.
const maxBatchRecords = 1500

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
)

// append appends the encoding of b: each name after its length, the numbers, and for each record its
// flags, its item and the hashes of the images that are known.
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
	}
	return dst
}

func (h itemHash) append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, h.low), h.high)
}

// parseRecordBatch is the inverse of recordBatch.append.
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

func (in *input) name() string {
	n, size := binary.Uvarint(in.rest)
	if size <= 0 || n > uint64(len(in.rest)-size) {
		in.rest, in.short = nil, true
		return ""
	}
	name := string(in.rest[size : size+int(n)])
	in.rest = in.rest[size+int(n):]
	return name
}

// verdicts is the answer to a recordBatch: two bits for each record. The lower one is set if the
// record is own, the upper one if it is exact too, as by ownWrites.take.
type verdicts []byte

func newVerdicts(records int) verdicts { return make(verdicts, (records+3)/4) }

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
	for part := range slices.Chunk(list, maxBatchRecords) {
		b := recordBatch{table: f.table, stream: f.stream, shard: shard, indexes: t.indexSum()}
		b.run, b.number = f.batches.next(shard)
		b.records = make([]recordHashes, len(part))
		for i := range part {
			b.records[i] = hashRecord(part[i].item, part[i].old, part[i].new)
			b.records[i].remains = part[i].remains()
		}
		q := peerRequest{origin: f.origin, kind: keyRecords, body: b.append(nil)}
		for _, a := range f.svc.cache.AskAll(ctx, f.svc.name, q.encode()) {
			if a.Kind == kindRecords {
				verdicts(a.Payload).mark(part)
			}
		}
	}
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
