//go:build !kasokubroken

package cache

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An entry is fresh, then stale, then expired.
func TestEntryExpires(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		f := Filling{Payload: []byte("1"), Kind: 3, Aux: 0xfeed, TTL: 10 * time.Second, Stale: 5 * time.Second}
		e, stored := s.Store(c.Note(tags("item x")...), []byte("x"), &f)
		if !stored || e.Kind() != 3 || e.Aux() != 0xfeed || string(e.Payload()) != "1" {
			t.Fatalf("stored %v, kind %d, aux %#x, payload %s", stored, e.Kind(), e.Aux(), e.Payload())
		}
		at := func(d time.Duration, found Found) {
			t.Helper()
			pass(d)
			wantFound(t, s, "x", found, "1")
		}
		at(0, Fresh)
		if got := e.TTL(c.Now()); got != 10*time.Second {
			t.Fatalf("fresh for %v", got)
		}
		at(10*time.Second-1, Fresh)
		at(1, Stale)
		if got := e.TTL(c.At(time.Now().Add(time.Second))); got != -time.Second {
			t.Fatalf("a second after the end of its freshness it is fresh for %v", got)
		}
		at(5*time.Second-1, Stale)
		at(1, Expired)
		at(time.Hour, Expired)
	})
}

// An entry is Invalidated after a write even if it is also stale or expired.
func TestInvalidatedTakesPrecedenceOverStaleAndExpired(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		f := Filling{TTL: time.Second, Stale: time.Second}
		s.Store(c.Note(tags("item x")...), []byte("x"), &f)
		pass(time.Second)
		wantFound(t, s, "x", Stale, "")
		c.Apply(Change{Tags: tags("item x")})
		wantFound(t, s, "x", Invalidated, "")
		pass(time.Second)
		wantFound(t, s, "x", Invalidated, "")
	})
}

func TestFillingsThatAreNotStored(t *testing.T) {
	f := func(name string, st func(c *Cache) Stamp, filling Filling, want bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				e, stored := s.Store(st(c), []byte("x"), &filling)
				if stored != want || string(e.Payload()) != string(filling.Payload) {
					t.Fatalf("stored %v with payload %s", stored, e.Payload())
				}
				if !want {
					wantFound(t, s, "x", Absent, "")
				}
			})
		})
	}
	note := func(c *Cache) Stamp { return c.Note(tags("item x")...) }
	f("an answer", note, value("1"), true)
	f("an empty answer", note, value(""), true)
	f("an answer without tags", func(c *Cache) Stamp { return c.Note() }, value("1"), true)
	f("what must not be", note, Filling{Payload: []byte("1"), TTL: time.Second, NoStore: true}, false)
	f("what is never fresh", note, Filling{Payload: []byte("1")}, false)
	f("what is never fresh, but may be stale", note, Filling{TTL: -1, Stale: time.Minute}, false)
	f("without a note", func(*Cache) Stamp { return Stamp{} }, value("1"), false)
}

// Spans without end must not overflow into the past.
func TestUnlimitedDurations(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		const endless = math.MaxInt64
		for i, f := range []Filling{
			{TTL: endless},
			{TTL: endless, Stale: endless},
			{TTL: endless, Stale: endless, Refresh: endless - 1},
			{TTL: time.Minute, Stale: endless},
			{TTL: time.Minute, Stale: -time.Hour},
		} {
			key := fmt.Sprint(i)
			s.Store(c.Note(), []byte(key), &f)
			wantFound(t, s, key, Fresh, "")
		}
		pass(30 * time.Second)
		wantFound(t, s, "4", Fresh, "")
		pass(time.Hour)
		wantFound(t, s, "0", Fresh, "")
		wantFound(t, s, "2", Fresh, "")
		wantFound(t, s, "3", Stale, "")
		wantFound(t, s, "4", Expired, "")
	})
}

func TestRefreshIsDueOnceForHotKeysOnly(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		f := Filling{TTL: time.Minute, Refresh: 10 * time.Second, Stale: time.Minute}
		hits := func(key string, n int) (due int) {
			for range n {
				if _, _, refresh := s.Lookup([]byte(key), c.Now()); refresh {
					due++
				}
			}
			return due
		}
		want := func(when string, got, want int) {
			t.Helper()
			if got != want {
				t.Fatalf("%s: refresh due %d times; want %d", when, got, want)
			}
		}
		for _, key := range []string{"hot", "cold"} {
			s.Store(c.Note(tags(key)...), []byte(key), &f)
		}
		never := value("1")
		s.Store(c.Note(), []byte("never"), &never)
		want("long before the end", hits("hot", 1000), 0)
		pass(50*time.Second - 1)
		want("just before", hits("hot", 1000), 0)
		pass(1)
		want("below the count", hits("hot", hotHits-1), 0)
		want("cold key", hits("cold", hotHits-1), 0)
		want("at the count", hits("hot", 1), 1)
		want("once is enough", hits("hot", 1000), 0)
		want("no refresh asked for", hits("never", 1000), 0)
		pass(10 * time.Second)
		want("stale", hits("cold", 1000), 0)
	})
}

func TestRefreshIsDueOnceInParallel(t *testing.T) {
	const keys = 20_000
	c, s := open(t, Config{})
	f := Filling{TTL: time.Hour, Refresh: time.Hour - 1}
	for i := range keys {
		s.Store(c.Note(), binary.BigEndian.AppendUint32(nil, uint32(i)), &f)
	}
	var wg sync.WaitGroup
	due := make([]atomic.Int32, keys)
	for range 4 {
		wg.Go(func() {
			for i := range keys {
				for range hotHits {
					if _, _, refresh := s.Lookup(binary.BigEndian.AppendUint32(nil, uint32(i)), c.Now()); refresh {
						due[i].Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range due {
		if n := due[i].Load(); n != 1 {
			t.Fatalf("refresh of key %d due %d times", i, n)
		}
	}
}

// The look-up of Fill does not count as a hit: since Fill can't start a refresh, its look-up
// must not be the one that returns that a refresh is due.
func TestLookupOfFillStartsNoRefresh(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		f := Filling{TTL: time.Minute, Refresh: time.Minute - 1}
		s.Store(c.Note(tags("item x")...), []byte("x"), &f)
		pass(time.Second)
		for range 2 * hotHits {
			if a, err := s.Fill(background, []byte("x"), tags("item x"), nil); err != nil || !a.Stored {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		due := 0
		for range 2 * hotHits {
			if _, _, refresh := s.Lookup([]byte("x"), c.Now()); refresh {
				due++
			}
		}
		if due != 1 {
			t.Fatalf("refresh due %d times, want once", due)
		}
	})
}

func TestSpacesAreSeparate(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		other, capped := space(t, c, 0), space(t, c, 1<<20)
		keep(t, s, "x", "1", "item x")
		wantFound(t, other, "x", Absent, "")
		wantFound(t, capped, "x", Absent, "")
		keep(t, other, "x", "2", "item x")
		keep(t, capped, "x", "3", "item x")
		wantFound(t, s, "x", Fresh, "1")
		wantFound(t, other, "x", Fresh, "2")
		wantFound(t, capped, "x", Fresh, "3")
		c.Apply(Change{Tags: tags("item x")}) // tags are shared by all spaces
		wantFound(t, s, "x", Invalidated, "")
		wantFound(t, capped, "x", Invalidated, "")
		if s.Cache() != c {
			t.Fatal("the space names another cache")
		}
	})
}

// Look-ups compare keys and spaces, so that equal hashes of two keys or spaces do no harm.
func TestHashCollision(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		other := space(t, c, 0)
		keep(t, s, "x", "1", "item x")
		e, _, _ := s.Lookup([]byte("x"), c.Now())
		s.store.otter.Set(s.hash([]byte("y")), e)
		wantFound(t, s, "y", Absent, "")
		s.store.otter.Set(other.hash([]byte("x")), e)
		wantFound(t, other, "x", Absent, "")
	})
}

// An entry's neighbours can't be reached or changed by appending to its payload.
func TestPayloadIsClipped(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "key", "payload", "item x")
		e, _, _ := s.Lookup([]byte("key"), c.Now())
		if p := e.Payload(); cap(p) != len(p) {
			t.Fatalf("a payload of %d bytes has a capacity of %d", len(p), cap(p))
		}
	})
}

// An entry copies the filling's bytes, whose buffer may be reused.
func TestEntryOwnsItsBytes(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		key, f := []byte("x"), value("1")
		s.Store(c.Note(), key, &f)
		key[0], f.Payload[0] = 'y', '2'
		wantFound(t, s, "x", Fresh, "1")
	})
}

func TestCaps(t *testing.T) {
	const mb = 1 << 20
	c, s := open(t, Config{Memory: 10 * mb})
	capacity := func(want uint64) {
		t.Helper()
		if got := c.Stats().Capacity; got != want {
			t.Fatalf("the shared store holds %d bytes; want %d", got, want)
		}
	}
	refused := func(cap int64) {
		t.Helper()
		if _, err := c.NewSpace(cap); err == nil {
			t.Fatalf("a cap of %d bytes was accepted", cap)
		}
	}
	capacity(10 * mb)
	refused(-1)
	refused(10 * mb)
	four := space(t, c, 4*mb)
	capacity(6 * mb)
	refused(6 * mb)
	if u := four.Usage(); u.Capacity != 4*mb || u.Shared {
		t.Fatalf("the capped space's store: %+v", u)
	}
	if u := s.Usage(); u.Capacity != 6*mb || !u.Shared {
		t.Fatalf("the shared store: %+v", u)
	}
	// Ten times the cap: the cap holds, and the entries of the other space remain.
	keep(t, s, "x", "1", "item x")
	big := Filling{Payload: make([]byte, 64<<10), TTL: time.Hour}
	var evicted atomic.Uint64
	four.OnEviction(func(e *Entry) { evicted.Add(1) })
	s.OnEviction(func(e *Entry) { t.Errorf("%s of the other space was evicted", e.Key()) })
	for i := range 640 {
		four.Store(c.Note(), fmt.Append(nil, i), &big)
	}
	if u := four.Usage(); u.Bytes > u.Capacity || u.Bytes < u.Capacity/2 || u.Evictions == 0 || u.EvictedBytes < u.Evictions<<16 || evicted.Load() == 0 {
		t.Fatalf("the capped space's store: %+v; %d evictions were notified", u, evicted.Load())
	}
	wantFound(t, s, "x", Fresh, "1")
	four.Close()
	four.Close() // returns its memory once
	capacity(10 * mb)
	s.Close() // has none of its own
	capacity(10 * mb)
}

// Services are added and removed concurrently when a configuration is reloaded.
func TestCapsInParallel(t *testing.T) {
	c, _ := open(t, Config{Memory: 64 << 20})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				s, err := c.NewSpace(1 << 20)
				if err != nil {
					t.Error(err)
					return
				}
				s.Close()
			}
		})
	}
	wg.Wait()
	if got := c.Stats().Capacity; got != 64<<20 {
		t.Fatalf("got %d bytes of capacity, want %d", got, 64<<20)
	}
}

// An entry larger than the whole store is evicted at once, without harm.
func TestEntryLargerThanTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		small := space(t, c, 64<<10)
		keep(t, small, "x", "1", "item x")
		huge := Filling{Payload: make([]byte, 128<<10), TTL: time.Hour}
		small.Store(c.Note(), []byte("huge"), &huge)
		synctest.Wait()
		wantFound(t, small, "huge", Absent, "")
		wantFound(t, small, "x", Fresh, "1")
		if u := small.Usage(); u.Bytes > u.Capacity {
			t.Fatalf("the store holds %d bytes of %d", u.Bytes, u.Capacity)
		}
	})
}

// Calls of a closed cache find nothing and don't fail.
func TestClosedCacheIsHarmless(t *testing.T) {
	c, s := open(t, Config{})
	keep(t, s, "x", "1", "item x")
	c.Close()
	wantFound(t, s, "x", Absent, "")
	f := value("2")
	s.Store(c.Note(), []byte("x"), &f)
	commit(begin(c, tags("item x"), nil), put(s, "x", "3", "item x"))
	c.Close()
}
