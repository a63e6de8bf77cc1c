//go:build go1.25

package fluent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// returnAfter makes r's server return after d.
func returnAfter(r *receiver, d time.Duration) {
	go func() {
		time.Sleep(d) // on the bubble's clock
		r.set(false)
	}()
}

// TestShutdownWaitsForServer: Shutdown waits for a server until its context ends, even with
// a disk or an error handler. Close accepts either instead.
func TestShutdownWaitsForServer(t *testing.T) {
	shutdown := func(l *Logger) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		return l.Shutdown(ctx)
	}
	f := func(end func(*Logger) error, minimum, maximum time.Duration, delivered, handled uint64, spooled int, opts ...Option) {
		t.Helper()
		r := &receiver{away: true}
		inBubble(t, r, opts, func(t *testing.T, l *Logger) {
			returnAfter(r, time.Minute)
			post(t, l, "a", 1, 10)
			start := time.Now()
			err := end(l)
			if took := time.Since(start); took < minimum || took > maximum {
				t.Fatalf("took %s, want %s to %s: %v", took, minimum, maximum, err)
			}
			expect(t, "error", err != nil, spooled > 0)
			s := expectSum(t, l)
			expect(t, "delivered", s.Delivered, delivered)
			expect(t, "handled", s.Handled, handled)
			expect(t, "spooled", s.Spooled, spooled)
			time.Sleep(time.Minute)
		})
	}
	spill := func() Option { return WithSpill(t.TempDir(), SpillOptions{}) }
	f(shutdown, time.Minute, time.Minute+time.Second, 10, 0, 0, spill())
	f(shutdown, time.Minute, time.Minute+time.Second, 10, 0, 0, WithErrorHandler(&recordingHandler{}, 10))
	f(shutdown, time.Minute, time.Minute+time.Second, 10, 0, 0, spill(), WithErrorHandler(&recordingHandler{}, 10))
	f(shutdown, 0, time.Second, 0, 10, 0, WithErrorHandler(&recordingHandler{}, 9))
	f((*Logger).Close, 0, time.Second, 0, 0, 10, spill())
	f((*Logger).Close, 0, time.Second, 0, 10, 0, WithErrorHandler(&recordingHandler{}, 10))
	f((*Logger).Close, 0, time.Second, 0, 10, 0, spill(), WithErrorHandler(&recordingHandler{}, 10))
}

// TestShutdownHandsOverAtItsDeadline: if no server returns in time, the error handler receives the
// records.
func TestShutdownHandsOverAtItsDeadline(t *testing.T) {
	h := &recordingHandler{}
	inBubble(t, &receiver{away: true}, []Option{WithErrorHandler(h, 10)}, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := l.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		expect(t, "time", time.Since(start), time.Minute)
		expect(t, "handed over", h.got(), "a 1, a 2, a 3")
	})
}

// TestCloseEndsWaitOfShutdown calls Close while Shutdown waits for a server.
func TestCloseEndsWaitOfShutdown(t *testing.T) {
	f := func(opt Option, unsent bool) {
		t.Helper()
		inBubble(t, &receiver{away: true}, []Option{opt}, func(t *testing.T, l *Logger) {
			post(t, l, "a", 1, 3)
			first := make(chan error, 1)
			go func() { first <- l.Shutdown(context.Background()) }()
			time.Sleep(time.Hour)
			start := time.Now()
			err := l.Close()
			if took := time.Since(start); took > time.Second {
				t.Fatalf("Close took %s", took)
			}
			expect(t, "error", err != nil, unsent)
			expect(t, "Shutdown's", <-first, err)
			expectSum(t, l)
		})
	}
	f(WithSpill(t.TempDir(), SpillOptions{}), true)
	f(WithErrorHandler(&recordingHandler{}, 10), false)
}

// TestShutdownSkipsDamagedBatches: Shutdown does not wait for batches on disk that prove to be
// damaged.
func TestShutdownSkipsDamagedBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := newIdle(t, WithSpill(dir, SpillOptions{}))
		if _, err := l.disk.write(nil, &batch{tag: "tag", records: 3, entries: []byte("entries")}); err != nil {
			t.Fatal(err)
		}
		damage(t, dir, "entries")
		drained := false
		go func() {
			nothing := make(chan struct{})
			close(nothing)
			l.drain(t.Context(), nothing)
			drained = true
		}()
		synctest.Wait()
		expect(t, "over before the disk was read", drained, false)
		if b := l.queue.takeStranded(); b != nil {
			t.Fatalf("a batch %+v", b)
		}
		synctest.Wait()
		expect(t, "over", drained, true)
		expect(t, "damaged", l.Stats().Damaged, uint64(3))
	})
}

// TestCloseOfLostDirectory: the contents of the disk are reported as lost; the error of the
// directory itself is not reported with them.
func TestCloseOfLostDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	r := &receiver{}
	inBubble(t, r, []Option{WithSpill(dir, SpillOptions{})}, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 3)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		err := l.Close()
		if err == nil || errors.As(err, new(*UnsentError)) {
			t.Fatalf("Close: %v", err)
		}
		expect(t, "arrived", r.got(), "a 1, a 2, a 3")
		expectSum(t, l)
	})
}

// damage changes the byte at which text begins in the only segment of dir.
func damage(t *testing.T, dir, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[strings.Index(string(raw), text)] ^= 1
	if err := os.WriteFile(files[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
