package fluent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
)

var errAway = errors.New("server is away")

// receiver is a fake server's memory.
type receiver struct {
	mu     sync.Mutex
	away   bool
	stuck  bool     // hangs: does not answer
	events []string // "tag n", n being the record's count
	sizes  []int    // records of each batch
	times  []time.Time
}

func (r *receiver) take(ctx context.Context, b *batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stuck {
		r.mu.Unlock()
		<-ctx.Done()
		r.mu.Lock()
		return ctx.Err()
	}
	if r.away {
		return errAway
	}
	r.sizes = append(r.sizes, b.records)
	r.times = append(r.times, time.Now())
	for rest := b.entries; len(rest) > 0; {
		v, left, err := msgp.ReadIntfBytes(rest)
		if err != nil {
			return err
		}
		rest = left
		record := v.([]any)[1].(map[string]any)
		r.events = append(r.events, fmt.Sprint(b.tag, " ", record["count"]))
	}
	return nil
}

func (r *receiver) set(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}

// got returns the received records, in order, and clears them.
func (r *receiver) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.events, ", ")
	r.events = nil
	return s
}

func count(n int) map[string]any { return map[string]any{"count": n} }

// post posts the records count(from) to count(to).
func post(t *testing.T, l *Logger, tag string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := l.Post(tag, count(n)); err != nil {
			t.Fatalf("Post of %d: %v", n, err)
		}
	}
}

// expect fails the test unless got equals want.
func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// expectSum checks that the figures account for every accepted record.
func expectSum(t *testing.T, l *Logger) Stats {
	t.Helper()
	s := l.Stats()
	sum := s.Delivered + s.Handled + s.DroppedOldest + s.Unsent + s.Damaged + uint64(s.Pending) + uint64(s.Spooled)
	if s.Posted+s.Replayed != sum {
		t.Fatalf("%d records posted and %d replayed, but the figures add up to %d: %+v", s.Posted, s.Replayed, sum, s)
	}
	return s
}
