package accel

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
)

func TestRecordBatch(t *testing.T) {
	b := recordBatch{table: "orders", stream: "arn:1", shard: "shard-1", run: 1<<63 + 1, number: 300, indexes: 7}
	for i, change := range []string{"A>B", "?>B", "A>?", "?>?", "->C", "C>-", "A>B=", "C>-="} {
		_, old, new, remains := record(change)
		r := hashRecord(cache.Tag(i)<<60, old, new)
		r.remains = remains
		if i%3 > 0 {
			r.oldItem = nil
		}
		b.records = append(b.records, r)
	}
	text := b.append(nil)
	got, ok := parseRecordBatch(text)
	if !ok || !reflect.DeepEqual(got, b) {
		t.Errorf("got %+v, %v", got, ok)
	}
	start := len((&recordBatch{table: b.table, stream: b.stream, shard: b.shard}).append(nil))
	for n := range text {
		if part, ok := parseRecordBatch(text[:n]); ok && (n <= start || !reflect.DeepEqual(part.records, b.records[:len(part.records)])) {
			t.Errorf("%d bytes are a batch of %d records", n, len(part.records))
		}
	}
	if _, ok := parseRecordBatch(append([]byte{200}, text[1:]...)); ok {
		t.Error("a name is longer than the batch")
	}
	if _, ok := parseRecordBatch(append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), text[1:]...)); ok {
		t.Error("a name is longer than memory")
	}
	// The longest batch is not too long for a question.
	long := recordBatch{table: strings.Repeat("t", 255), stream: strings.Repeat("s", 1024), shard: strings.Repeat("s", 65)}
	item := func(size int) image {
		return image{known: true, item: []byte(`{"p":{"S":"` + strings.Repeat("x", size-len(`{"p":{"S":""}}`)) + `"}}`)}
	}
	for _, items := range []bool{false, true} {
		for _, size := range []int{14, 100, maxRecordItem, maxRecordItem + 1} {
			list := make([]feedRecord, 2000)
			for i := range list {
				list[i].change = change{t: &table{}, old: item(size), new: item(20)}
			}
			long.records = hashRecords(list, items)
			q := peerRequest{kind: keyRecords, body: long.append(nil)}
			if n := len(q.encode()); n > cache.MaxPeerRequest || n < cache.MaxPeerRequest*2/3 {
				t.Errorf("a question with %d records has %d bytes", len(long.records), n)
			}
			if sent := long.records[0].oldItem != nil; sent != (items && size <= maxRecordItem) {
				t.Errorf("an item of %d bytes is sent: %v", size, sent)
			}
		}
	}
}

func TestVerdicts(t *testing.T) {
	list := make([]feedRecord, 6)
	list[5].own = true // by another node
	v := newVerdicts(len(list))
	v.set(0, true, true)
	v.set(3, true, false)
	v.set(4, true, true)
	v.mark(list)
	verdicts{2, 0, 0}.mark(list)  // exact, but not own
	verdicts{255, 255}.mark(list) // too short
	verdicts{255, 255, 255, 255}.mark(list)
	if v.wantsItems() || verdicts(nil).wantsItems() {
		t.Error("items are wanted")
	}
	if v.wantItems(true); !v.wantsItems() {
		t.Error("items are not wanted")
	}
	var got []string
	for _, r := range list {
		got = append(got, answer(r.own, r.exact))
	}
	if got, want := strings.Join(got, " "), "exact foreign foreign own exact own"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// recordOf returns a batch with one record, as of runOwn.
func recordOf(run uint64, shard string, number uint64, change string) *recordBatch {
	_, old, new, _ := record(change)
	return &recordBatch{shard: shard, run: run, number: number, records: []recordHashes{hashRecord(7, old, new)}}
}

func TestBatchTaker(t *testing.T) {
	own := newOwnWrites()
	taker := batchTaker{own: own}
	take := func(b *recordBatch, indexes uint64, want string) {
		t.Helper()
		w := own.begin(7, 0)
		w.end(imageNamed("A"), imageNamed("B"))
		got := "declined"
		if v, ok := taker.take(b, indexes); ok {
			list := make([]feedRecord, 1)
			v.mark(list)
			got = answer(list[0].own, list[0].exact)
		}
		if got != want {
			t.Errorf("run %d, shard %s, number %d: got %s, want %s", b.run, b.shard, b.number, got, want)
		}
		own.reset()
	}
	take(recordOf(1, "x", 1, "A>B"), 0, "foreign") // the first one of a shard
	take(recordOf(1, "x", 2, "A>B"), 0, "exact")
	take(recordOf(1, "x", 3, "?>B"), 0, "own")
	take(recordOf(1, "x", 5, "A>B"), 0, "foreign") // a gap
	take(recordOf(1, "x", 6, "A>B"), 0, "exact")
	take(recordOf(1, "x", 6, "A>B"), 0, "foreign") // repeated
	take(recordOf(1, "x", 5, "A>B"), 0, "foreign") // delayed
	take(recordOf(1, "x", 6, "A>B"), 0, "exact")
	take(recordOf(1, "y", 1, "A>B"), 0, "foreign") // the first one of a shard
	take(recordOf(1, "y", 2, "A>B"), 0, "exact")
	take(recordOf(1, "x", 7, "A>B"), 0, "exact")
	take(recordOf(2, "x", 8, "A>B"), 0, "foreign") // another run
	take(recordOf(2, "y", 3, "A>B"), 0, "foreign")
	take(recordOf(1, "x", 8, "A>B"), 0, "foreign")
	take(recordOf(2, "x", 9, "A>B"), 0, "foreign")
	take(recordOf(2, "x", 10, "A>B"), 0, "exact")
	take(recordOf(2, "x", 11, "A>B"), 5, "declined") // the reader has other indexes
	other := recordOf(2, "x", 12, "A>B")
	other.indexes = 5
	take(other, 5, "foreign")
	other.number++
	take(other, 5, "exact")
	other.number++
	take(other, 0, "declined")
	other.number++
	take(other, 5, "foreign")
	other.indexes = 6
	other.number++
	take(other, 6, "foreign") // both have other indexes than before
	other.number++
	take(other, 6, "exact")
	// The number of shards is bounded.
	for i := range maxBatchShards - 1 {
		taker.taken[fmt.Sprint(i)] = 1
	}
	other.number++
	take(other, 6, "exact")
	other.shard = "one more"
	take(other, 6, "foreign")
	if n := len(taker.taken); n != 1 {
		t.Errorf("%d shards are numbered", n)
	}
}

func TestBatchNumbers(t *testing.T) {
	var n batchNumbers
	next := func(shard string, want uint64) uint64 {
		t.Helper()
		run, number := n.next(shard)
		if number != want {
			t.Errorf("got number %d, want %d", number, want)
		}
		return run
	}
	run := next("x", 1)
	if next("x", 2) != run || next("y", 1) != run || next("x", 3) != run {
		t.Error("the run changes")
	}
	n.restart()
	other := next("x", 1)
	if other == run || next("x", 2) != other {
		t.Error("the run is the same")
	}
	for i := range maxBatchShards - 1 {
		next(fmt.Sprint(i), 1)
	}
	if next("x", 3) != other {
		t.Error("the run changes")
	}
	if next("y", 1) == other || len(n.last) != 1 {
		t.Error("the number of shards is not bounded")
	}
}

// The sum of a table's indexes is the same exactly if a write moves the same tags.
func TestIndexSum(t *testing.T) {
	a := &index{name: "a", global: true, hash: []attribute{{"g", 'S'}}, all: true}
	b := &index{name: "b", global: true, hash: []attribute{{"g", 'S'}}, rng: []attribute{{"h", 'N'}}, projected: map[string]bool{"g": true, "h": true, "p": true}}
	sum := func(list ...*index) uint64 { return (&table{indexes: list}).indexSum() }
	if sum(a, b) != sum(b, a) || sum(a, &index{name: "local"}) != sum(a) || sum() != 0 {
		t.Error("the same indexes have different sums")
	}
	seen := map[uint64]bool{sum(): true, sum(a): true, sum(b): true}
	for i, change := range []func(*index){
		func(ix *index) { ix.name = "c" },
		func(ix *index) { ix.all = true },
		func(ix *index) { ix.hash = []attribute{{"g", 'N'}} },
		func(ix *index) { ix.hash, ix.rng = append(ix.hash, ix.rng...), nil },
		func(ix *index) { ix.rng = nil },
		func(ix *index) { ix.projected = map[string]bool{"g": true, "h": true} },
	} {
		c := *b
		change(&c)
		if seen[sum(&c)] {
			t.Errorf("change %d has the sum of another one", i)
		}
		seen[sum(&c)] = true
	}
}
