//go:build go1.25

package fluent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/race"
)

// recordBytes is the size of an event with count(n) for n below 128.
const recordBytes = 1 + 10 + 1 + 6 + 1

// fill posts until Post refuses, and returns how many records were accepted.
func fill(t *testing.T, l *Logger, tag string) int {
	t.Helper()
	for n := 0; ; n++ {
		err := l.Post(tag, count(n%128))
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		return n
	}
}

func TestDropNewest(t *testing.T) {
	r := &receiver{away: true}
	opts := []Option{WithMemory(100 * recordBytes), WithFlushInterval(time.Hour)}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		expect(t, "accepted", fill(t, l, "a"), 100)
		synctest.Wait()
		expect(t, "more", fill(t, l, "a"), 0)
		s := expectSum(t, l)
		expect(t, "refused", s.RefusedFull, uint64(2))
		expect(t, "bytes", s.PendingBytes, int64(100*recordBytes))
		r.set(false)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "arrived", len(strings.Split(r.got(), ", ")), 100)
		expect(t, "after the return", fill(t, l, "a") > 0, true)
	})
}

func TestRecordsLimit(t *testing.T) {
	r := &receiver{away: true}
	inBubble(t, r, []Option{WithRecords(50)}, func(t *testing.T, l *Logger) {
		expect(t, "accepted", fill(t, l, "a"), 50)
		r.set(false)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "arrived", len(strings.Split(r.got(), ", ")), 50)
		post(t, l, "a", 1, 1)
	})
}

func TestDropOldest(t *testing.T) {
	r := &receiver{away: true}
	opts := []Option{WithMemory(80 * recordBytes), WithOverflow(DropOldest), WithFlushInterval(time.Hour)}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		events := l.Subscribe()
		post(t, l, "a", 1, 127)
		synctest.Wait() // records held by the collector are not counted
		s := expectSum(t, l)
		expect(t, "refused", s.RefusedFull, uint64(0))
		if n := int(s.DroppedOldest); n < 47 || n > 47+10 {
			t.Fatalf("%d records dropped, want 47 and up to a batch more", n)
		}
		dropped := 0
		for range len(events) {
			if e := <-events; e.Kind == Dropped && errors.Is(e.Err, ErrFull) {
				dropped += e.Records
			}
		}
		expect(t, "reported", dropped, int(s.DroppedOldest))
		r.set(false)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want []string
		for n := dropped + 1; n <= 127; n++ {
			want = append(want, fmt.Sprint("a ", n))
		}
		expect(t, "arrived", r.got(), strings.Join(want, ", "))
	})
}

// TestDropOldestWhileSending has all records in batches that a sender holds.
func TestDropOldestWhileSending(t *testing.T) {
	opts := []Option{WithMemory(80 * recordBytes), WithRecords(1), WithOverflow(DropOldest), WithFlushInterval(0)}
	inBubble(t, &receiver{stuck: true}, opts, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 1)
		synctest.Wait()
		if err := l.Post("a", count(2)); !errors.Is(err, ErrFull) {
			t.Fatalf("Post: %v", err)
		}
		expect(t, "dropped", expectSum(t, l).DroppedOldest, uint64(0))
	})
}

func TestFlushReportsDropped(t *testing.T) {
	r := &receiver{away: true}
	opts := []Option{WithRecords(2), WithOverflow(DropOldest), WithFlushInterval(time.Hour)} // Flush makes one batch of both
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 2)
		flushed := make(chan error, 1)
		go func() { flushed <- l.Flush(t.Context()) }()
		synctest.Wait()
		post(t, l, "b", 3, 3)
		var unsent *UnsentError
		if err := <-flushed; !errors.As(err, &unsent) || unsent.Records != 2 || !errors.Is(err, ErrFull) {
			t.Fatalf("Flush: %v", err)
		}
	})
}

func TestBlock(t *testing.T) {
	r := &receiver{away: true}
	opts := []Option{WithRecords(10), WithOverflow(Block), WithFlushInterval(0)}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 10)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := l.PostContext(ctx, "a", start, count(11))
		if !errors.Is(err, ErrFull) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("PostContext: %v", err)
		}
		expect(t, "time", time.Since(start), 3*time.Second)

		// All that wait are accepted once there is room, and arrive.
		const callers = 25
		results := make(chan error, callers)
		for range callers {
			go func() { results <- l.Post("b", count(1)) }()
		}
		synctest.Wait()
		expect(t, "returned while full", len(results), 0)
		r.set(false)
		for range callers {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "delivered", expectSum(t, l).Delivered, uint64(10+callers))
	})
}

func TestBlockEndsWithClose(t *testing.T) {
	opts := []Option{WithRecords(1), WithOverflow(Block)}
	inBubble(t, &receiver{stuck: true}, opts, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 1)
		result := make(chan error, 1)
		go func() { result <- l.Post("a", count(2)) }()
		synctest.Wait()
		go l.Close()
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Fatalf("Post: %v", err)
		}
	})
}

// TestCreditOfOtherShards: a shard gets memory that is unused credit of another one.
func TestCreditOfOtherShards(t *testing.T) {
	l := newIdle(t, WithMemory(1<<20))
	post(t, l, "a", 1, 1)
	rest := l.limits.maxBytes - l.limits.bytes.Load()
	if !l.limits.reserve(rest, 0) {
		t.Fatal("the rest of the memory can't be reserved")
	}
	for i := range l.collector.shards {
		s := &l.collector.shards[i]
		if s.filled.buf == nil {
			if err := l.overflow(t.Context(), s, "a", make([]byte, recordBytes)); err != nil {
				t.Fatalf("with %d bytes of unused credit in another shard: %v", l.limits.pieceBytes, err)
			}
		}
	}
}

func TestLimitsPieces(t *testing.T) {
	f := func(maxBytes, maxRecords int64, shards int, pieceBytes, pieceRecords int64) {
		t.Helper()
		l := newLimits(maxBytes, maxRecords, shards)
		expect(t, "bytes", l.pieceBytes, pieceBytes)
		expect(t, "records", l.pieceRecords, pieceRecords)
	}
	f(64<<20, 0, 2, 64<<10, 0)
	f(1<<20, 1000, 2, 32<<10, 31)
	f(100, 3, 4, 1, 0)
	f(1<<40, 1<<40, 64, 64<<10, 4096)
}

func TestPostAllocatesNothing(t *testing.T) {
	l := newFake(t, func(context.Context, *batch) error { return nil }, WithFlushInterval(time.Hour), WithBatchBytes(8<<20))
	defer l.Close()
	type point struct {
		X, Y int
		Name string
	}
	f := func(name string, record any) {
		t.Helper()
		for range 20000 { // fills the shards' buffers and the pool
			if err := l.Post("a", record); err != nil {
				t.Fatal(err)
			}
		}
		l.Flush(t.Context())
		n := testing.AllocsPerRun(1000, func() {
			if err := l.Post("a", record); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 && !race.Enabled {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	runtime.GC()
	f("map", map[string]any{"count": 1234, "name": "x", "ratio": 0.5})
	f("struct", &point{1, 2, "x"})
	f("record", new(Record).Str("name", "x").Int("n", 1234))
}

// TestUnusedCreditIsBounded posts records that use up one kind of credit much faster
// than the other, each delivered before the next.
func TestUnusedCreditIsBounded(t *testing.T) {
	f := func(records int64, size int) {
		t.Helper()
		r := &receiver{}
		opts := []Option{WithMemory(1 << 20), WithRecords(records), WithFlushInterval(0)}
		inBubble(t, r, opts, func(t *testing.T, l *Logger) {
			for n := range 100 {
				if err := l.Post("a", map[string]any{"count": n, "x": make([]byte, size)}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if l.limits.half() {
					t.Fatalf("record %d: %d bytes and %d records are reserved for nothing", n, l.limits.bytes.Load(), l.limits.records.Load())
				}
			}
		})
	}
	f(20, 0)
	f(20_000, 40<<10)
}

// TestLargerThanMemory: a record that can never fit does not wait and does not cause others to
// be dropped.
func TestLargerThanMemory(t *testing.T) {
	for policy := range Spill {
		opts := []Option{WithMemory(1000), WithOverflow(policy), WithFlushInterval(time.Hour)}
		inBubble(t, &receiver{away: true}, opts, func(t *testing.T, l *Logger) {
			post(t, l, "a", 1, 3)
			if err := l.Post("a", map[string]any{"x": make([]byte, 1000)}); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("policy %d: %v", policy, err)
			}
			expect(t, "pending", expectSum(t, l).Pending, 3)
		})
	}
	inBubble(t, &receiver{}, []Option{WithMemory(1000)}, func(t *testing.T, l *Logger) {
		if err := l.Post("a", map[string]any{"x": make([]byte, 1000-17)}); err != nil {
			t.Fatalf("a record of all memory: %v", err)
		}
	})
}

// TestManyTags: each record has its own tag and thus a batch, which uses many times the bytes
// of the record.
func TestManyTags(t *testing.T) {
	r := &receiver{away: true}
	inBubble(t, r, []Option{WithMemory(1 << 20), WithFlushInterval(time.Hour)}, func(t *testing.T, l *Logger) {
		accepted := 0
		for n := range 20_000 {
			if l.Post(fmt.Sprint("tag", n), count(n)) == nil {
				accepted++
			}
			if n%100 == 0 {
				l.collector.collect(false)
			}
		}
		if accepted < 900 || accepted > 5000 { // the bound includes unused credit
			t.Fatalf("%d batches in 1 MiB, want 900 to 5000", accepted)
		}
		r.set(false)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "delivered", expectSum(t, l).Delivered, uint64(accepted))
		l.unborrow()
		expect(t, "still reserved", l.limits.bytes.Load(), int64(0))
	})
}
