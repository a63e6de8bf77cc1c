package hotkeys

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// newKeys returns keys of the service orders.
func newKeys() *Keys {
	k := New()
	k.Configure([]string{"orders"})
	return k
}

// record returns a record of a request for the key called name.
func record(table, name string, d telemetry.Decision) *telemetry.Record {
	return &telemetry.Record{Service: "orders", Table: []byte(table), Key: []byte(name), KeyHash: hashOf(name), Status: 200, Decision: d, BytesOut: 10}
}

func hashOf(name string) uint64 { return xxhash.Sum64String(name) &^ (1 << 63) }

// texts returns the keys of a metric with their counts, as text.
func texts(keys []Key) (all []string) {
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%s %d±%d", k.Text, k.Count, k.Error))
	}
	return all
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMetrics(t *testing.T) {
	k := newKeys()
	sink := k.Tap(telemetry.Discard())
	for range 3 {
		sink.Log(record("users", "a", telemetry.Hit))
	}
	sink.Log(record("users", "a", telemetry.Miss))
	sink.Log(record("users", "b", telemetry.BypassUncacheable))
	sink.Log(record("users", "b", telemetry.Write))
	sink.Log(record("users", "c", telemetry.Local))
	k.Invalidated("orders", "users", hashOf("c"), []byte("c"))
	sink.Log(&telemetry.Record{Service: "orders", Table: []byte("users"), Status: 200, Decision: telemetry.Miss})
	sink.Log(&telemetry.Record{Service: "unknown", Table: []byte("users"), KeyHash: 1, Status: 200, Decision: telemetry.Miss})
	all := k.Figures(Recent)
	if len(all) != 1 {
		t.Fatalf("tables: %v", all)
	}
	f := all[0]
	if f.Service != "orders" || f.Table != "users" || f.Reads != 5 || f.Totals != [metrics]uint64{7, 2, 70, 2} {
		t.Errorf("figures: %+v", f)
	}
	expect(t, texts(f.Top[Requests]), "a 4±0", "b 2±0", "c 1±0")
	expect(t, texts(f.Top[Bytes]), "a 40±0", "b 20±0", "c 10±0")
	expect(t, slices.Sorted(slices.Values(texts(f.Top[Misses]))), "a 1±0", "b 1±0")
	expect(t, slices.Sorted(slices.Values(texts(f.Top[Invalidations]))), "b 1±0", "c 1±0")
}

// A record without a key has its path as the key.
func TestPath(t *testing.T) {
	k := newKeys()
	k.Count(&telemetry.Record{Service: "orders", Path: []byte("/users/1"), KeyHash: 7, Status: 200, Decision: telemetry.Hit})
	expect(t, texts(k.Figures(Recent)[0].Top[Requests]), "/users/1 1±0")
}

// zipf returns a stream of keys of which few are frequent, and their exact counts.
func zipf(seed uint64, n int, s float64) (stream []uint64, exact map[uint64]uint64) {
	exact = map[uint64]uint64{}
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), s, 1, 1<<17)
	for range n {
		v := z.Uint64()
		stream = append(stream, v)
		exact[v]++
	}
	return stream, exact
}

// checkZipf compares estimates with exact counts: each within its error, and the keys with the
// highest counts among them.
func checkZipf(t *testing.T, top []Key, exact map[uint64]uint64, certain int) {
	t.Helper()
	order := slices.SortedFunc(maps.Keys(exact), func(a, b uint64) int { return int(exact[b]) - int(exact[a]) })
	have := map[uint64]bool{}
	for _, key := range top {
		v := binary.BigEndian.Uint64(key.Text)
		have[v] = true
		if n := exact[v]; n+key.Error < key.Count || n > key.Count+key.Error {
			t.Errorf("key %d: got %d±%d, want %d", v, key.Count, key.Error, n)
		}
	}
	for _, v := range order[:certain] {
		if !have[v] {
			t.Errorf("key %d with %d requests is missing", v, exact[v])
		}
	}
	if len(top) != maxKeys {
		t.Errorf("%d keys", len(top))
	}
}

// Misses are all counted: the errors are certain, also if many goroutines count.
func TestZipfMisses(t *testing.T) {
	stream, exact := zipf(1, 200_000, 1.1)
	k := newKeys()
	var all sync.WaitGroup
	for part := range slices.Chunk(stream, len(stream)/4) {
		all.Go(func() {
			for _, v := range part {
				key := binary.BigEndian.AppendUint64(nil, v)
				k.Count(&telemetry.Record{Service: "orders", Table: []byte("users"), Key: key, KeyHash: xxhash.Sum64(key), Status: 200, Decision: telemetry.Miss, BytesOut: 7})
			}
		})
	}
	all.Wait()
	f := k.Figures(Recent)[0]
	if f.Totals != [metrics]uint64{200_000, 200_000, 1_400_000, 0} || f.Reads != 200_000 {
		t.Errorf("totals %v, reads %d", f.Totals, f.Reads)
	}
	checkZipf(t, f.Top[Misses], exact, 45)
	checkZipf(t, f.Top[Requests], exact, 45)
	for v := range exact {
		exact[v] *= 7
	}
	checkZipf(t, f.Top[Bytes], exact, 45)
}

// Hits are counted by samples once there were many. The seed of the weights can't be set, so that the
// streams are long enough for twice the stated error.
func TestZipfHits(t *testing.T) {
	stream, exact := zipf(2, 1_000_000, 1.1)
	k := newKeys()
	for _, v := range stream {
		key := binary.BigEndian.AppendUint64(nil, v)
		k.Count(&telemetry.Record{Service: "orders", Table: []byte("users"), Key: key, KeyHash: xxhash.Sum64(key), Status: 200, Decision: telemetry.Hit})
	}
	f := k.Figures(Recent)[0]
	if n := f.Totals[Requests]; n < 900_000 || n > 1_100_000 {
		t.Errorf("%d requests", n)
	}
	for i := range f.Top[Requests] {
		f.Top[Requests][i].Error *= 3
	}
	checkZipf(t, f.Top[Requests], exact, 20)
	if top := f.Top[Requests][0]; top.Error == 0 || top.Error/3 > top.Count/20 {
		t.Errorf("the first key: %d±%d", top.Count, top.Error/3)
	}
}

// Counts of windows are merged, and the oldest ones are no longer recent.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeys()
		count := func(n int, name string) {
			for range n {
				k.Count(record("users", name, telemetry.Miss))
			}
		}
		top := func(s Span) []string { return texts(k.Figures(s)[0].Top[Misses]) }
		start := time.Now()
		count(3, "a")
		time.Sleep(window)
		count(2, "b")
		count(2, "a")
		expect(t, top(Recent), "a 5±0", "b 2±0")
		time.Sleep(window)
		count(1, "c")
		expect(t, top(Forever), "a 5±0", "b 2±0", "c 1±0")
		if f := k.Figures(Recent)[0]; !f.Since.Equal(start.Add(window)) || f.Totals[Misses] != 5 {
			t.Errorf("since %s, %d misses", f.Since.Sub(start), f.Totals[Misses])
		}
		time.Sleep(3 * window)
		expect(t, top(Recent))
		if f := k.Figures(Forever)[0]; !f.Since.Equal(start) || f.Totals[Misses] != 8 {
			t.Errorf("since %s, %d misses", f.Since.Sub(start), f.Totals[Misses])
		}
	})
}

// Windows with many keys are merged within the error of their counts.
func TestMergedError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, sum := newKeys(), map[uint64]uint64{}
		for seed := range uint64(4) {
			stream, exact := zipf(seed, 50_000, 1.2)
			for v, n := range exact {
				sum[v] += n
			}
			for _, v := range stream {
				key := binary.BigEndian.AppendUint64(nil, v)
				k.Count(&telemetry.Record{Service: "orders", Table: []byte("users"), Key: key, KeyHash: xxhash.Sum64(key), Status: 200, Decision: telemetry.Miss})
			}
			time.Sleep(window)
		}
		checkZipf(t, k.Figures(Forever)[0].Top[Misses], sum, 40)
	})
}

// Clients can't create more than a number of tables, and none with names that are refused.
func TestTables(t *testing.T) {
	k := newKeys()
	for i := range 2 * maxTables {
		r := record(fmt.Sprint("made-up-", i), "a", telemetry.Miss)
		r.Status = 400
		k.Count(r)
		k.Count(record(fmt.Sprintf("t%03d", i), "a", telemetry.Miss))
	}
	all := k.Figures(Recent)
	if len(all) != maxTables+1 || all[0].Table != Other || all[0].Totals[Misses] != 3*maxTables || all[1].Table != "t000" {
		t.Errorf("%d tables; the first is %s with %d misses", len(all), all[0].Table, all[0].Totals[Misses])
	}
	k.Configure([]string{"users"})
	if all := k.Figures(Recent); len(all) != 0 {
		t.Errorf("%d tables of a service that was removed", len(all))
	}
}

// A list has a bounded number of keys, whose texts are cut off.
func TestListBounds(t *testing.T) {
	l, long := &list{}, make([]byte, 3000)
	for i := range uint64(10 * counts) {
		l.add(i*7919, long, 1, 1)
	}
	if len(l.entries) != counts || cap(l.entries) > 2*counts || len(l.heap) != counts {
		t.Errorf("%d entries of %d, %d in the heap", len(l.entries), cap(l.entries), len(l.heap))
	}
	used := 0
	for p := range l.index {
		if l.index[p] != 0 {
			used++
		}
	}
	for i := range l.entries {
		e := &l.entries[i]
		if j, ok := l.find(e.hash); !ok || j != i || int(l.heap[e.place]) != i || cap(e.text) > 2*maxText {
			t.Errorf("entry %d: found %v, %d, text of %d", i, ok, j, cap(e.text))
		}
		if p := int(e.place); p > 0 && l.entries[l.heap[(p-1)/2]].count > e.count {
			t.Errorf("entry %d is at the wrong place of the heap", i)
		}
	}
	if used != counts || l.total != 10*counts {
		t.Errorf("%d places are used, total %d", used, l.total)
	}
}

// A service without keys does not have to check for them.
func TestNil(t *testing.T) {
	var k *Keys
	k.Count(record("users", "a", telemetry.Miss))
	k.Invalidated("orders", "users", 1, nil)
	k.Throttled(&Throttle{})
}

// Counting does not allocate, also when keys replace one another.
func TestCountAllocates(t *testing.T) {
	if race.Enabled {
		return // the detector makes atomic operations of maps allocate
	}
	k := newKeys()
	var records []*telemetry.Record
	for i := range 10 * shards * counts {
		r := record("users", fmt.Sprintf("key-%06d", i), telemetry.Miss)
		records = append(records, r)
		k.Count(r)
	}
	i := 0
	if n := testing.AllocsPerRun(20_000, func() { k.Count(records[i%len(records)]); i++ }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func benchmark(b *testing.B, d telemetry.Decision, exact int64) {
	k := newKeys()
	sink := k.Tap(telemetry.Discard())
	stream, _ := zipf(3, 1<<10, 1.1)
	records := make([]*telemetry.Record, len(stream))
	for i, v := range stream {
		records[i] = record("users", fmt.Sprintf(`id-%09d`, v), d)
	}
	k.exact.Store(exact)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(len(records)); pb.Next(); i++ {
			sink.Log(records[i%len(records)])
		}
	})
}

func BenchmarkHit(b *testing.B)      { benchmark(b, telemetry.Hit, 0) }
func BenchmarkExactHit(b *testing.B) { benchmark(b, telemetry.Hit, 1<<60) }
func BenchmarkMiss(b *testing.B)     { benchmark(b, telemetry.Miss, 0) }
