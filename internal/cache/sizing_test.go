package cache

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// A request is a read of a key, or a write that invalidates it.
type request struct {
	key   uint64
	size  int // of the entry
	write bool
}

// play plays accesses to a cache that fills its misses, and returns the hit ratio of the reads.
func play(c *Cache, s *Space, n int, passing time.Duration, next func() request) float64 {
	reads, hits := 0, 0
	payload := make([]byte, 64<<10)
	for i := range n {
		if i%1000 == 0 {
			pass(passing)
		}
		a := next()
		key := binary.BigEndian.AppendUint64(nil, a.key)
		tag := TagOf(key)
		if a.write {
			c.Apply(Change{Tags: []Tag{tag}})
			continue
		}
		reads++
		if _, found, _ := s.Lookup(key, c.Now()); found == Fresh {
			hits++
			continue
		}
		s.Store(c.Note(tag), key, &Filling{Payload: payload[:a.size], TTL: ttl})
	}
	return float64(hits) / float64(reads)
}

const ttl = time.Hour

// zipf returns accesses of n keys, of which the k-th has a share of k^-skew.
func zipf(seed uint64, n uint64, skew float64) func() uint64 {
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), skew, 1, n-1)
	return z.Uint64
}

// mixed returns the size of a key's entry: most are small, some large.
func mixed(key uint64) int {
	return 100 + int(key*0x9e3779b97f4a7c15>>40)%900 + int(key%50/49)*8000
}

// The estimates for half of the memory and for twice as much are those that caches of these sizes
// have, whose memory is too small for all keys.
func TestSizesMatchOtherSizes(t *testing.T) {
	const n = 60_000
	t.Run("skewed", func(t *testing.T) {
		wantSizes(t, 0, func() func() request {
			z := zipf(1, n, 1.01)
			return func() request { k := z(); return request{key: k, size: mixed(k)} }
		})
	})
	t.Run("uniform", func(t *testing.T) {
		wantSizes(t, 0, func() func() request {
			r := rand.New(rand.NewPCG(2, 1))
			return func() request { return request{key: r.Uint64N(n / 2), size: 300} }
		})
	})
	t.Run("scans between", func(t *testing.T) {
		wantSizes(t, 0, func() func() request {
			z, r, scan := zipf(3, n, 1.05), rand.New(rand.NewPCG(3, 2)), uint64(0)
			return func() request {
				if r.IntN(3) > 0 {
					return request{key: z(), size: 300}
				}
				scan++
				return request{key: 1<<40 + scan, size: 500}
			}
		})
	})
	t.Run("written", func(t *testing.T) {
		wantSizes(t, 0, func() func() request {
			z, r := zipf(4, n, 1.05), rand.New(rand.NewPCG(4, 2))
			return func() request { k := z(); return request{key: k, size: mixed(k), write: r.IntN(5) == 0} }
		})
	})
	t.Run("expiring", func(t *testing.T) {
		wantSizes(t, ttl/40, func() func() request {
			z := zipf(5, n, 1.05)
			return func() request { return request{key: z(), size: 300} }
		})
	})
}

// wantSizes compares the estimates of a cache with caches of the estimated sizes, while time passes
// after each thousand requests. Half of the keys are sampled, since the caches are small.
func wantSizes(t *testing.T, passing time.Duration, load func() func() request) {
	const memory, requests, shift = 5 << 20, 120_000, 1
	var estimated Sizes
	var measured [len(factors)]float64
	for i, factor := range factors {
		synctest.Test(t, func(t *testing.T) {
			c, s := open(t, Config{Memory: int64(factor * memory), Generations: 1 << 19})
			s.store.sizing.shift = shift
			s.store.sizing.below.Store(math.MaxUint64 >> shift)
			if measured[i] = play(c, s, requests, passing, load()); i == actual {
				estimated = s.Sizes()
			}
		})
	}
	for i, factor := range factors {
		at := estimated.At[i]
		t.Logf("%g of the memory: measured %.3f, estimated %.3f", factor, measured[i], at.HitRatio)
		if math.Abs(at.HitRatio-measured[i]) > 0.03 || at.Capacity != uint64(factor*memory) {
			t.Errorf("with %g of the memory the hit ratio is %.3f; the estimate for %d bytes is %.3f", factor, measured[i], at.Capacity, at.HitRatio)
		}
	}
}

// The sample is bounded, whatever the number of keys, and fewer keys give the same estimate.
func TestSampleIsBounded(t *testing.T) {
	c, s := open(t, Config{Memory: 64 << 20, Generations: 1 << 20})
	r := rand.New(rand.NewPCG(7, 1))
	const keys = 200_000
	measured := play(c, s, keys*3/2, 0, func() request { return request{key: r.Uint64N(keys), size: 100} })
	z := &s.store.sizing
	z.mu.Lock()
	shift := z.shift
	z.mu.Unlock()
	got := s.Sizes()
	if got.Keys > maxSample+adjustEvery || got.Keys < maxSample/2 || shift <= firstShift {
		t.Errorf("%d keys are in the sample, of one in %d", got.Keys, 1<<shift)
	}
	if math.Abs(got.At[actual].HitRatio-measured) > 0.01 || math.Abs(got.At[actual+1].HitRatio-measured) > 0.03 {
		t.Errorf("the hit ratio is %.3f; the estimates are %+v", measured, got)
	}
}

// Estimates count requests only, and forget what was dropped.
func TestWhatSizesCount(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		z := &s.store.sizing
		z.below.Store(math.MaxUint64) // every key
		z.lookups.Store(countStep)
		key, f := []byte("x"), value("1")
		want := func(when string, taken uint64, keys int) {
			t.Helper()
			if got := s.Sizes(); got.Sampled != taken || got.Keys != keys {
				t.Fatalf("%s: %d look-ups of %d keys are in the sample; want %d of %d", when, got.Sampled, got.Keys, taken, keys)
			}
		}
		s.Store(c.Note(), key, &f)
		s.Peek(key, c.Now())
		want("no request", 0, 0)
		s.Lookup(key, c.Now())
		want("a hit", 1, 1)
		s.Access([]byte("y"), false)
		want("a miss", 2, 1)
		s.Access(key, true)
		want("a hit after Peek", 3, 1)
		e, _ := s.Peek(key, c.Now())
		s.Drop(key, e)
		want("dropped", 3, 0)
		z.mu.Lock()
		s.Lookup(key, c.Now()) // does not wait
		z.mu.Unlock()
		want("while the sample is in use", 3, 0)
		if n := z.left.Load(); n != 1 {
			t.Errorf("%d accesses are counted as left out of the sample, want 1", n)
		}
	})
}

// The present counts more than the past.
func TestSizesForget(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		z := &s.store.sizing
		z.below.Store(math.MaxUint64)
		key, f := []byte("x"), value("1")
		f.TTL = 10 * time.Hour
		s.Lookup(key, c.Now())
		s.Store(c.Note(), key, &f)
		z.lookups.Store(2 * enoughToHalve)
		z.hits.Store(enoughToHalve)
		pass(time.Duration(halfLife))
		for range 2 * adjustEvery {
			s.Lookup(key, c.Now())
		}
		if n := z.lookups.Load(); n < enoughToHalve || n > enoughToHalve+2*countStep*adjustEvery {
			t.Errorf("%d look-ups are left of %d", n, 2*enoughToHalve)
		}
		if n := s.Sizes().Sampled; n > 2*adjustEvery {
			t.Errorf("%d look-ups are left in the sample", n)
		}
	})
}
