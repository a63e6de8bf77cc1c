//go:build !kasokubroken

package cache

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// wantAllocs fails if f allocates more than n times a call.
func wantAllocs(t *testing.T, what string, n float64, f func()) {
	t.Helper()
	if race.Enabled {
		return
	}
	if got := testing.AllocsPerRun(1000, f); got > n {
		t.Errorf("%s: got %v allocations, want at most %v", what, got, n)
	}
}

func TestAllocationBudgets(t *testing.T) {
	c, s := open(t, Config{})
	keep(t, s, "hit", "payload", "item x", "table")
	keep(t, s, "invalidated", "payload", "item y", "table")
	c.Apply(Change{Tags: tags("item y")})
	now := c.Now()
	lookup := func(key string, want Found) func() {
		k := []byte(key)
		return func() {
			if _, found, _ := s.Lookup(k, now); found != want {
				t.Fatalf("look-up of %s: got state %d", key, found)
			}
		}
	}
	wantAllocs(t, "hit", 0, lookup("hit", Fresh))
	wantAllocs(t, "miss", 0, lookup("miss", Absent))
	wantAllocs(t, "invalidated", 0, lookup("invalidated", Invalidated))

	x := tags("item x", "table")
	var st Stamp
	wantAllocs(t, "note", 0, func() { st = c.Note(x...) })
	f := value("payload")
	// The entry and its bytes. A replacement reuses the node. Of a sampled key the simulated caches
	// share one object more.
	for sampled, budget := range map[bool]float64{false: 2, true: 3} {
		key := sampledKey(s, sampled)
		s.Lookup(key, now)
		wantAllocs(t, fmt.Sprint("store, sampled: ", sampled), budget, func() { s.Store(st, key, &f) })
	}
	// The Write and its marks.
	wantAllocs(t, "write", 2, func() { commit(begin(c, x, nil), Change{}) })
}

// sampledKey returns a key that is sampled for the estimates of Sizes, or one that is not.
func sampledKey(s *Space, sampled bool) []byte {
	for i := 0; ; i++ {
		key := fmt.Append(nil, "key ", i)
		if s.store.sizing.sampled(s.hash(key)) == sampled {
			return key
		}
	}
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The overhead of an entry is the growth of the heap beyond its key and payload, including
// the allocator's rounding of about 5 %.
func TestMemoryPerEntry(t *testing.T) {
	if race.Enabled {
		return // the detector's own memory would be in the figures
	}
	const (
		entries = 200_000
		budget  = 250
	)
	c, s := open(t, Config{Memory: 4 << 30})
	x := tags("item x", "table")
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []int{100, 200, 400, 600}
	payload := make([]byte, 4096)
	before := heap()
	var dataBytes int64
	for i := range entries {
		key := binary.BigEndian.AppendUint64(payload[:0:0], uint64(i))
		size := sizes[r.IntN(len(sizes))]
		size += r.IntN(size)
		e, stored := s.Store(c.Note(x...), key, &Filling{Payload: payload[:min(size, len(payload))], TTL: time.Hour})
		if !stored {
			t.Fatal("not stored")
		}
		dataBytes += int64(len(e.data))
	}
	weight := int64(s.Usage().Bytes)
	grown := heap() - before
	each := func(bytes int64) float64 { return float64(bytes) / entries }
	t.Logf("an entry: %.0f bytes of key and payload, %.1f of overhead; its weight counts %.0f of %.0f",
		each(dataBytes), each(grown-dataBytes), each(weight), each(grown))
	if n := s.Usage().Entries; n != entries {
		t.Fatalf("got %d stored entries, want %d", n, entries)
	}
	if got := each(grown - dataBytes); got > budget {
		t.Errorf("overhead of an entry: got %.1f bytes, want at most %d", got, budget)
	}
	if off := float64(weight-grown) / float64(grown); off < -0.02 || off > 0.05 {
		t.Errorf("the weight of all entries is off by %.1f %% of the memory that they take", 100*off)
	}
	runtime.KeepAlive(c)
}
