//go:build go1.25

package fluent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// recordingHandler is an error handler that records the events that it receives, unless it refuses
// them or panics.
type recordingHandler struct {
	mu     sync.Mutex
	refuse error
	panics bool
	causes []error
	events []string
}

func (h *recordingHandler) HandleError(cause error, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.causes = append(h.causes, cause)
	if h.panics {
		panic("out of order")
	}
	if h.refuse != nil {
		return h.refuse
	}
	for len(data) > 0 {
		v, rest, err := msgp.ReadIntfBytes(data)
		if err != nil {
			return err
		}
		data = rest
		m := v.([]any)
		if len(m) != 3 {
			return fmt.Errorf("a message of %d values", len(m))
		}
		h.events = append(h.events, fmt.Sprint(m[0], " ", m[2].(map[string]any)["count"]))
	}
	return nil
}

// got returns the received events and clears them.
func (h *recordingHandler) got() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := strings.Join(h.events, ", ")
	h.events = nil
	return s
}

func TestErrorHandler(t *testing.T) {
	r, h := &receiver{away: true}, &recordingHandler{}
	opts := []Option{WithErrorHandler(h, 0), WithFlushInterval(0), WithTagPrefix("app")}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 1)
		synctest.Wait()
		post(t, l, "b", 2, 3)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "handed over", h.got(), "app.a 1, app.b 2, app.b 3")
		for _, cause := range h.causes {
			expect(t, "cause", cause, errAway)
		}
		expect(t, "handled", expectSum(t, l).Handled, uint64(3))
		r.set(false)
		time.Sleep(time.Second)
		post(t, l, "a", 4, 4)
		synctest.Wait()
		time.Sleep(time.Second) // the fake server is down until it took something
		post(t, l, "a", 5, 5)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "up again", strings.HasSuffix(r.got(), "app.a 5"), true)
	})
}

func TestErrorHandlerLimit(t *testing.T) {
	r, h := &receiver{away: true}, &recordingHandler{}
	opts := []Option{WithErrorHandler(h, 3), WithFlushInterval(0)}
	inBubble(t, r, opts, func(t *testing.T, l *Logger) {
		post(t, l, "a", 1, 3)
		time.Sleep(time.Minute)
		expect(t, "at the limit", h.got(), "")
		post(t, l, "a", 4, 4)
		time.Sleep(time.Minute)
		expect(t, "above it", h.got(), "a 1, a 2, a 3, a 4")
		post(t, l, "a", 5, 5)
		time.Sleep(time.Minute)
		expect(t, "below again", h.got(), "")
		start := time.Now()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, "at the end", h.got(), "a 5")
		expect(t, "less than its time", time.Since(start) < time.Second, true)
	})
}

func TestErrorHandlerRefuses(t *testing.T) {
	r, h := &receiver{away: true}, &recordingHandler{refuse: errors.New("no")}
	inBubble(t, r, []Option{WithFlushInterval(0)}, func(t *testing.T, l *Logger) {
		l.SetErrorHandler(h)
		post(t, l, "a", 1, 2)
		time.Sleep(time.Second)
		expect(t, "pending", expectSum(t, l).Pending, 2)
		h.mu.Lock()
		h.panics = true
		h.mu.Unlock()
		events := l.Subscribe()
		time.Sleep(time.Second)
		expect(t, "pending", expectSum(t, l).Pending, 2)
		failed := false
		for range len(events) {
			failed = failed || (<-events).Kind == HandlerFailed
		}
		expect(t, "a panic is reported", failed, true)
		expect(t, "and counted", l.Stats().Panics > 0, true)
		r.set(false)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "arrived", r.got(), "a 1, a 2")
	})
}

// TestErrorHandlerAtTheEnd uses a server that hangs.
func TestErrorHandlerAtTheEnd(t *testing.T) {
	h := &recordingHandler{}
	inBubble(t, &receiver{stuck: true}, nil, func(t *testing.T, l *Logger) {
		l.ErrorHandler = h
		post(t, l, "a", 1, 2)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, "handed over", h.got(), "a 1, a 2")
		expect(t, "cause", errors.Is(h.causes[0], context.DeadlineExceeded), true)
		expectSum(t, l)
	})
}

// TestErrorHandlerHangs: Shutdown ends although the handler does not.
func TestErrorHandlerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := ErrorHandlerFunc(func(error, []byte) error {
			<-release
			return nil
		})
		r := &receiver{away: true}
		l := newFake(t, r.take, WithErrorHandler(hang, 0))
		post(t, l, "a", 1, 2)
		start := time.Now()
		err := l.Close()
		var unsent *UnsentError
		if !errors.As(err, &unsent) || unsent.Records != 2 {
			t.Fatalf("Close: %v", err)
		}
		expect(t, "time", time.Since(start), 11*time.Second)
		expectSum(t, l)
		close(release)
	})
}

// TestErrorHandlerReturnsLate uses a handler that returns long after Shutdown has given up its
// batch: the batch is counted once, and nothing waits for it.
func TestErrorHandlerReturnsLate(t *testing.T) {
	f := func(result error) {
		late := ErrorHandlerFunc(func(error, []byte) error {
			time.Sleep(time.Hour)
			return result
		})
		inBubble(t, &receiver{away: true}, []Option{WithErrorHandler(late, 0)}, func(t *testing.T, l *Logger) {
			post(t, l, "a", 1, 2)
			if err := l.Close(); err == nil {
				t.Fatal("Close reported no unsent records")
			}
			time.Sleep(2 * time.Hour)
			expect(t, "unsent", expectSum(t, l).Unsent, uint64(2))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := l.Flush(ctx); err != nil {
				t.Fatalf("Flush: %v", err)
			}
		})
	}
	f(nil)
	f(errAway)
}

// TestErrorHandlerCloses closes the Logger from its own handler.
func TestErrorHandlerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *Logger
		closed := make(chan error, 1)
		closer := ErrorHandlerFunc(func(error, []byte) error {
			closed <- l.Close()
			return nil
		})
		r := &receiver{away: true}
		l = newFake(t, r.take, WithErrorHandler(closer, 0))
		post(t, l, "a", 1, 2)
		start := time.Now()
		var unsent *UnsentError
		if err := <-closed; !errors.As(err, &unsent) || unsent.Records != 2 {
			t.Fatalf("Close: %v", err)
		}
		if took := time.Since(start); took > 12*time.Second {
			t.Fatalf("Close took %s", took)
		}
		synctest.Wait()
		expectSum(t, l)
	})
}

// TestErrorHandlerIsSlowAtTheEnd checks that Close waits up to a second for each batch, not for
// all.
func TestErrorHandlerIsSlowAtTheEnd(t *testing.T) {
	f := func(each time.Duration, handled uint64, took time.Duration) {
		t.Helper()
		slow := ErrorHandlerFunc(func(error, []byte) error {
			time.Sleep(each)
			return nil
		})
		inBubble(t, &receiver{stuck: true}, []Option{WithErrorHandler(slow, 0)}, func(t *testing.T, l *Logger) {
			for tag := range 10 {
				post(t, l, fmt.Sprint(tag), 1, 1)
			}
			start := time.Now()
			err := l.Close()
			expect(t, "time", time.Since(start), l.options.closeTimeout+took)
			expect(t, "error", err != nil, handled < 10)
			time.Sleep(each) // the handler's last call ends
			expect(t, "handled", expectSum(t, l).Handled, handled)
		})
	}
	f(400*time.Millisecond, 10, 4*time.Second)
	f(900*time.Millisecond, 6, 5400*time.Millisecond)
	f(2*time.Second, 0, time.Second)
}

func TestFallbackHandler(t *testing.T) {
	first, second := &receiver{away: true}, &receiver{}
	synctest.Test(t, func(t *testing.T) {
		other := newFake(t, second.take, WithTagPrefix("other"), WithRecords(3))
		l := newFake(t, first.take, WithErrorHandler(NewFallbackHandler(other), 0), WithFlushInterval(0))
		post(t, l, "a", 1, 3)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := other.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "arrived at the other", second.got(), "a 1, a 2, a 3")
		expectSum(t, other)

		post(t, l, "b", 1, 1)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		post(t, l, "c", 1, 1)
		time.Sleep(time.Second)
		expect(t, "pending when the other is closed", expectSum(t, l).Pending, 1)
		first.set(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, "arrived", first.got(), "c 1")
	})
}

// TestFallbackHandlerTakesCredit: the shards of the other Logger have all of its memory as credit,
// and the handler still passes records to it.
func TestFallbackHandlerTakesCredit(t *testing.T) {
	first, second := &receiver{away: true}, &receiver{}
	synctest.Test(t, func(t *testing.T) {
		other := newFake(t, second.take, WithMemory(1000), WithRecords(100))
		defer other.Close()
		for i := range other.collector.shards {
			s := &other.collector.shards[i]
			s.bytes = other.limits.maxBytes / int64(len(other.collector.shards))
			other.limits.bytes.Add(s.bytes)
		}
		l := newFake(t, first.take, WithErrorHandler(NewFallbackHandler(other), 0))
		defer l.Close()
		post(t, l, "a", 1, 40)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expectSum(t, l)
		expectSum(t, other)
	})
}

func TestFallbackHandlerRefusesInvalidData(t *testing.T) {
	inBubble(t, &receiver{}, nil, func(t *testing.T, l *Logger) {
		f := func(data string) {
			t.Helper()
			if err := NewFallbackHandler(l).HandleError(errAway, []byte(data)); err == nil {
				t.Fatalf("%x is accepted", data)
			}
		}
		f("\x92\xa1a\x01")
		f("\x93\xa1a\x01")
		f("\x93\x01\x01\x80")
		f("\xc1")
		if err := NewFallbackHandler(l).HandleError(errAway, nil); err != nil {
			t.Fatalf("empty data: %v", err)
		}
	})
}
