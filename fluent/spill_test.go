//go:build go1.25

package fluent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// numbered returns "tag from" to "tag to" as receiver.got does.
func numbered(tag string, from, to int) string {
	var s []string
	for n := from; n <= to; n++ {
		s = append(s, fmt.Sprint(tag, " ", n))
	}
	return strings.Join(s, ", ")
}

func TestSpillKeepsOrder(t *testing.T) {
	r := &receiver{away: true}
	opts := []Option{WithSpill(t.TempDir(), SpillOptions{}), WithMemory(400 * recordBytes), WithFlushInterval(time.Millisecond)}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		for n := 1; n <= 5000; n += 10 {
			post(t, l, "a", n, n+9)
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
		}
		s := expectSum(t, l)
		expect(t, "refused", s.RefusedFull, uint64(0))
		if s.Spooled < 4000 || s.PendingBytes > 400*recordBytes {
			t.Fatalf("%d records on disk, %d bytes in memory", s.Spooled, s.PendingBytes)
		}
		r.set(false)
		for s.Spooled+s.Pending > 0 {
			time.Sleep(time.Second)
			s = expectSum(t, l)
		}
		expect(t, "arrived", r.got(), numbered("a", 1, 5000))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSpillAtShutdownAndReplay(t *testing.T) {
	dir := t.TempDir()
	f := func(r *receiver, want time.Duration) {
		inBubble(t, r, []Option{WithSpill(dir, SpillOptions{})}, func(t *testing.T, l *Logger) {
			post(t, l, "a", 1, 100)
			start := time.Now()
			err := l.Close()
			var unsent *UnsentError
			if !errors.As(err, &unsent) || unsent.Records != 100 || unsent.Spooled != 100 {
				t.Fatalf("Close: %v", err)
			}
			if took := time.Since(start); took > want {
				t.Fatalf("Close took %s", took)
			}
			s := expectSum(t, l)
			expect(t, "spooled", s.Spooled, 100)
			expect(t, "spilled", s.SpilledRecords, uint64(100))
		})
		r = &receiver{}
		inBubble(t, r, []Option{WithSpill(dir, SpillOptions{}), WithFlushInterval(time.Second)}, func(t *testing.T, l *Logger) {
			post(t, l, "b", 1, 1)
			synctest.Wait()
			expect(t, "before anything new", r.got(), numbered("a", 1, 100))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			expect(t, "then", r.got(), "b 1")
			s := expectSum(t, l)
			expect(t, "replayed", s.Replayed, uint64(100))
			expect(t, "delivered", s.Delivered, uint64(101))
		})
	}
	f(&receiver{away: true}, time.Second) // nothing to wait for
	f(&receiver{stuck: true}, 10*time.Second)
}

func TestSpillOfAStuckServersBatches(t *testing.T) {
	dir := t.TempDir()
	r := &receiver{stuck: true}
	inBubble(t, r, []Option{WithSpill(dir, SpillOptions{}), WithFlushInterval(0)}, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 1)
		synctest.Wait()
		post(t, l, "b", 2, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var unsent *UnsentError
		if err := l.Flush(ctx); !errors.As(err, &unsent) || unsent.Records != 1 {
			t.Fatalf("Flush: %v", err)
		}
		expect(t, "the batches that no sender held are on disk", l.Stats().Spooled, 1)
		if err := l.Close(); !errors.As(err, &unsent) || unsent.Records != 2 || unsent.Spooled != 2 {
			t.Fatalf("Close: %v", err)
		}
	})
}

// TestFlushSyncsToDisk: with the server away Flush returns once all is on disk.
func TestFlushSyncsToDisk(t *testing.T) {
	r := &receiver{away: true}
	inBubble(t, r, []Option{WithSpill(t.TempDir(), SpillOptions{Sync: SyncNever})}, func(t *testing.T, l *Logger) {
		for n := range 3 {
			post(t, l, "a", 10*n, 10*n+9)
			start := time.Now()
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > time.Second {
				t.Fatalf("Flush took %s", took)
			}
			expect(t, "on disk", l.Stats().Spooled, 10*n+10)
		}
		r.set(false)
		time.Sleep(time.Minute)
		expect(t, "arrived", r.got(), numbered("a", 0, 29))
	})
}

// TestFlushSyncsReturnedBatches: a sender returns its batch after Flush has begun, and Flush waits
// until it is on disk.
func TestFlushSyncsReturnedBatches(t *testing.T) {
	slow := func(ctx context.Context, _ *batch) error {
		pause(ctx, time.Minute)
		return errAway
	}
	synctest.Test(t, func(t *testing.T) {
		l := newFake(t, slow, WithSpill(t.TempDir(), SpillOptions{}), WithFlushInterval(0))
		defer l.Close()
		post(t, l, "a", 1, 1)
		synctest.Wait()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := l.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		expect(t, "time", time.Since(start), time.Minute)
		expect(t, "on disk", expectSum(t, l).Spooled, 1)
	})
}

// TestFlushWhileDown: when no server is up, Flush writes batches to disk at once.
func TestFlushWhileDown(t *testing.T) {
	r := &receiver{away: true}
	inBubble(t, r, []Option{WithSpill(t.TempDir(), SpillOptions{})}, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 1)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		post(t, l, "b", 2, 2)
		pause(t.Context(), time.Millisecond)
		start := time.Now()
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "time", time.Since(start), time.Duration(0))
	})
}

func TestSpillIsFull(t *testing.T) {
	r := &receiver{away: true}
	opts := []Option{WithSpill(t.TempDir(), SpillOptions{MaxBytes: 8 << 10}), WithMemory(4 << 10), WithFlushInterval(time.Millisecond)}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		events := l.Subscribe()
		accepted := 0
		for range 100 {
			accepted += fill(t, l, "a")
			time.Sleep(10 * time.Millisecond)
		}
		if accepted < (8<<10)/recordBytes/2 {
			t.Fatalf("only %d records accepted", accepted)
		}
		s := expectSum(t, l)
		expect(t, "refused", s.RefusedFull, uint64(100))
		failed := false
		for range len(events) {
			failed = failed || (<-events).Kind == SpillFailed
		}
		expect(t, "reported", failed, true)
		r.set(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, "delivered", expectSum(t, l).Delivered, uint64(accepted))
	})
}

// TestSpillOfTooLargeABatch posts a record that exceeds the whole directory: it remains in
// memory and does not block others.
func TestSpillOfTooLargeABatch(t *testing.T) {
	r := &receiver{away: true}
	opts := []Option{WithSpill(t.TempDir(), SpillOptions{MaxBytes: 8 << 10}), WithMemory(32 << 10), WithFlushInterval(time.Millisecond)}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		if err := l.Post("a", map[string]any{"count": 0, "x": make([]byte, 9<<10)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		post(t, l, "a", 1, 400)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Flush(ctx); err == nil {
			t.Fatal("Flush returned, but one record is in memory only")
		}
		s := expectSum(t, l)
		if s.Spooled < 200 || s.Pending == 0 {
			t.Fatalf("%d on disk, %d in memory", s.Spooled, s.Pending)
		}
		r.set(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, "delivered", expectSum(t, l).Delivered, uint64(401))
	})
}

func TestSpillDamaged(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, &receiver{away: true}, []Option{WithSpill(dir, SpillOptions{})}, func(t *testing.T, l *Logger) {
		for n := 1; n <= 3; n++ {
			post(t, l, fmt.Sprint("tag", n), n, n)
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
	damage(t, dir, "tag2")
	r := &receiver{}
	inBubble(t, r, []Option{WithSpill(dir, SpillOptions{})}, func(t *testing.T, l *Logger) {
		synctest.Wait()
		expect(t, "the others", r.got(), "tag1 1, tag3 3")
		post(t, l, "a", 4, 4)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, "and on", r.got(), "a 4")
		expectSum(t, l)
	})
}

func TestSpillDirectory(t *testing.T) {
	dir := t.TempDir()
	l, err := New(nil, WithSpill(dir, SpillOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := New(nil, WithSpill(dir, SpillOptions{})); err == nil {
		t.Fatal("two Loggers use one directory")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(nil, WithSpill(file, SpillOptions{})); err == nil {
		t.Fatal("a file is used as directory")
	}
}

func TestBatchOnDisk(t *testing.T) {
	b := &batch{tag: "a.b", id: newChunkID(), records: 300, entries: []byte("entries")}
	p := b.appendTo(nil)
	got, err := parseBatch(p)
	if err != nil || got.tag != b.tag || got.id != b.id || got.records != b.records || string(got.entries) != "entries" {
		t.Fatalf("%+v, %v", got, err)
	}
	for n := range len(p) - len("entries") {
		if b, err := parseBatch(p[:n]); err == nil {
			t.Fatalf("%d bytes give %+v", n, b)
		}
	}
	p[0]++
	if _, err := parseBatch(p); err == nil {
		t.Fatal("a newer form is read")
	}
}
