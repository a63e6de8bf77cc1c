//go:build go1.25

package fluent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs f in a synctest bubble with a Logger that sends to r. The bubble fails the test
// if a goroutine remains.
func inBubble(t *testing.T, r *receiver, opts []Option, f func(t *testing.T, l *Logger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newFake(t, r.take, opts...)
		defer l.Close()
		f(t, l)
	})
}

func TestLinger(t *testing.T) {
	r := &receiver{}
	inBubble(t, r, []Option{WithFlushInterval(time.Second), WithTagPrefix("app")}, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 2)
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		expect(t, "within the interval", r.got(), "")
		post(t, l, "a", 3, 3)
		post(t, l, "b", 4, 4)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		expect(t, "after it", r.got(), "app.a 1, app.a 2, app.a 3, app.b 4")
		post(t, l, "a", 5, 5)
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		expect(t, "the next record", r.got(), "")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		expect(t, "the next record after the interval", r.got(), "app.a 5")
		expectSum(t, l)
	})
}

func TestFullBatchesDoNotLinger(t *testing.T) {
	r := &receiver{}
	inBubble(t, r, []Option{WithFlushInterval(time.Hour), WithBatchBytes(1024)}, func(t *testing.T, l *Logger) {
		start := time.Now()
		post(t, l, "a", 1, 1000)
		synctest.Wait()
		expect(t, "time", time.Since(start), time.Duration(0))
		if n := len(r.sizes); n == 0 {
			t.Fatal("nothing was sent")
		}
		for _, n := range r.sizes {
			if n > 1024/19 {
				t.Fatalf("a batch of %d records is larger than 1024 bytes", n)
			}
		}
	})
}

func TestFlushAndOrder(t *testing.T) {
	r := &receiver{}
	inBubble(t, r, []Option{WithFlushInterval(time.Hour)}, func(t *testing.T, l *Logger) {
		start := time.Now()
		post(t, l, "a", 1, 3)
		h := l.Tag("b")
		if err := h.Post(count(4)); err != nil {
			t.Fatal(err)
		}
		if err := h.PostWithTime(time.Unix(1700000000, 5), count(5)); err != nil {
			t.Fatal(err)
		}
		post(t, l, "a", 6, 6)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "after Flush", r.got(), "a 1, a 2, a 3, a 6, b 4, b 5")
		expect(t, "time", time.Since(start), time.Duration(0))
		if err := l.Flush(t.Context()); err != nil {
			t.Fatalf("Flush of nothing: %v", err)
		}
	})
}

func TestFlushEndsWithItsContext(t *testing.T) {
	r := &receiver{away: true}
	inBubble(t, r, nil, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := l.Flush(ctx)
		var unsent *UnsentError
		if !errors.As(err, &unsent) || *unsent != (UnsentError{Records: 3, Err: context.DeadlineExceeded}) {
			t.Fatalf("Flush: %v", err)
		}
		r.set(false)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "after its return", r.got(), "a 1, a 2, a 3")
	})
}

func TestRefused(t *testing.T) {
	r := &receiver{}
	inBubble(t, r, []Option{WithMaxRecord(100)}, func(t *testing.T, l *Logger) {
		f := func(err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
		}
		f(l.Post("", count(1)), ErrTag)
		f(l.Tag("").Post(count(1)), ErrTag)
		f(l.Post("a", nil), ErrNotRecord)
		f(l.Post("a", "text"), ErrNotRecord)
		f(l.Post("a", map[string]any{"x": strings.Repeat("x", 100)}), ErrTooLarge)
		f(l.PostWithTime("a", time.Unix(-1, 0), count(1)), ErrTime)
		f(l.PostWithTime("a", time.Unix(1<<32, 0), count(1)), ErrTime)
		if err := l.Post("a", panics{}); err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Fatalf("error after a panic: %v", err)
		}
		f(l.PostWithTime("a", time.Time{}, count(1)), nil)
		f(l.PostWithTime("a", time.Unix(1<<32-1, 999999999), count(2)), nil)
		f(l.Flush(t.Context()), nil)
		expect(t, "arrived", r.got(), "a 1, a 2")
		s := expectSum(t, l)
		expect(t, "refused", s.RefusedInvalid, uint64(8))
	})
}

type panics struct{}

func (panics) MarshalMsg([]byte) ([]byte, error) { panic("out of order") }

func TestClose(t *testing.T) {
	r := &receiver{}
	inBubble(t, r, []Option{WithFlushInterval(time.Hour)}, func(t *testing.T, l *Logger) {
		events := l.Subscribe()
		post(t, l, "a", 1, 2)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, "after Close", r.got(), "a 1, a 2")
		if err := l.Post("a", count(3)); !errors.Is(err, ErrClosed) {
			t.Fatalf("Post after Close: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatalf("second Close: %v", err)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatalf("Flush after Close: %v", err)
		}
		if _, open := <-events; open {
			t.Fatal("an event, where the channel should be closed")
		}
		if _, open := <-l.Subscribe(); open {
			t.Fatal("a subscription after Close is open")
		}
		s := expectSum(t, l)
		expect(t, "refused", s.RefusedClosed, uint64(1))
	})
}

func TestShutdownDeadline(t *testing.T) {
	f := func(r *receiver) {
		t.Helper()
		inBubble(t, r, nil, func(t *testing.T, l *Logger) {
			events := l.Subscribe()
			post(t, l, "a", 1, 3)
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			err := l.Shutdown(ctx)
			var unsent *UnsentError
			if !errors.As(err, &unsent) || unsent.Records != 3 || unsent.Spooled != 0 || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Shutdown: %v", err)
			}
			expect(t, "an absent server is named", errors.Is(err, errAway), r.away)
			expect(t, "time", time.Since(start), 5*time.Second)
			if again := l.Close(); again != err {
				t.Fatalf("second call: got %v, want %v", again, err)
			}
			e := <-events
			expect(t, "event", fmt.Sprint(e.Kind, e.Records), "dropped 3")
			s := expectSum(t, l)
			expect(t, "unsent", s.Unsent, uint64(3))
			expect(t, "pending", s.Pending, 0)
		})
	}
	f(&receiver{away: true})
	f(&receiver{stuck: true})
}

// TestFlushEndsWithShutdown: Shutdown drops the records that a Flush is waiting for.
func TestFlushEndsWithShutdown(t *testing.T) {
	f := func(r *receiver, want string, opts ...Option) {
		t.Helper()
		inBubble(t, r, opts, func(t *testing.T, l *Logger) {
			post(t, l, "a", 1, 2)
			flushed := make(chan error, 1)
			go func() { flushed <- l.Flush(context.Background()) }()
			synctest.Wait()
			l.Close()
			synctest.Wait()
			expect(t, "Flush under way", fmt.Sprint(<-flushed), want)
			expect(t, "Flush afterwards", l.Flush(context.Background()), error(nil))
		})
	}
	f(&receiver{stuck: true}, "fluent: 2 records not delivered: fluent: logger is closed")
	f(&receiver{away: true}, "fluent: 2 records not delivered: fluent: logger is closed")
	f(&receiver{stuck: true}, "<nil>", WithSpill(t.TempDir(), SpillOptions{}))
	f(&receiver{away: true}, "<nil>", WithSpill(t.TempDir(), SpillOptions{}))
}

func TestSecondShutdownEndsTheFirst(t *testing.T) {
	inBubble(t, &receiver{away: true}, nil, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 1)
		start := time.Now()
		first := make(chan error)
		go func() { first <- l.Shutdown(context.Background()) }()
		synctest.Wait()
		err := l.Close()
		expect(t, "time", time.Since(start), 10*time.Second)
		if other := <-first; other != err || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("first %v, second %v", other, err)
		}
	})
}

// TestPostRacesWithClose posts from many goroutines while the Logger closes:
// each record was either accepted, and then arrives, or refused.
func TestPostRacesWithClose(t *testing.T) {
	for range 20 {
		r := &receiver{}
		l := newFake(t, r.take, WithFlushInterval(time.Millisecond))
		var accepted [4]int
		var posting sync.WaitGroup
		for i := range accepted {
			posting.Go(func() {
				for {
					if err := l.Post("a", count(i)); err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Error(err)
						}
						return
					}
					accepted[i]++
				}
			})
		}
		for l.Stats().Posted < 100 {
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		posting.Wait()
		expect(t, "arrived", len(r.events), accepted[0]+accepted[1]+accepted[2]+accepted[3])
		expectSum(t, l)
	}
}

// TestOrderAcrossProcessors posts from one goroutine while others keep the
// scheduler moving it between processors.
func TestOrderAcrossProcessors(t *testing.T) {
	r := &receiver{}
	l := newFake(t, r.take, WithFlushInterval(time.Millisecond), WithBatchBytes(4096), WithMemory(1<<20), WithOverflow(Block))
	var noise sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		noise.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := l.Post("noise", count(0)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	const n = 20000
	post(t, l, "a", 1, n)
	close(stop)
	noise.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mine := slices.DeleteFunc(r.events, func(e string) bool { return strings.HasPrefix(e, "noise") })
	expect(t, "arrived", len(mine), n)
	for i, e := range mine {
		if want := fmt.Sprint("a ", i+1); e != want {
			t.Fatalf("event %d is  %q", i+1, e)
		}
	}
}
