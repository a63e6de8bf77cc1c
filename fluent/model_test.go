package fluent

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// machine is a Logger without goroutines, and the batches that were taken from its queue.
type machine struct {
	l       *Logger
	sent    []*batch // taken, not done or returned
	posted  int
	refused int
}

// TestQueueModel draws actions of callers, the collector, senders and the error handler, one
// step at a time: every accepted record is in exactly one place, and memory never exceeds
// its limit.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, runModel)
}

func runModel(rt *rapid.T) {
	o := defaultOptions()
	o.memory = rapid.Int64Range(50, 3000).Draw(rt, "memory")
	o.records = rapid.Int64Range(0, 60).Draw(rt, "records")
	o.batchBytes = rapid.IntRange(20, 400).Draw(rt, "batchBytes")
	o.overflow = rapid.SampledFrom([]Overflow{DropNewest, DropOldest}).Draw(rt, "overflow")
	if err := o.resolve(); err != nil {
		rt.Fatal(err)
	}
	l, err := prepare(o, func(*options, func(Event)) (deliverer, error) { return idle{}, nil })
	if err != nil {
		rt.Fatal(err)
	}
	m := &machine{l: l}
	rt.Repeat(map[string]func(*rapid.T){
		"post":    m.post,
		"collect": func(*rapid.T) { l.collector.collect(false) },
		"take":    m.take,
		"done":    func(rt *rapid.T) { m.release(rt, l.queue.done) },
		"handled": func(rt *rapid.T) { m.release(rt, l.queue.handled) },
		"back":    m.back,
		"drop":    func(*rapid.T) { l.queue.dropOldest() },
		"":        m.check,
	})
	l.queue.back(m.sent, nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Shutdown(ended); err != nil && !errors.As(err, new(*UnsentError)) {
		rt.Fatal(err)
	}
	if s := l.Stats(); s.Pending != 0 || s.Posted != s.Delivered+s.Handled+s.DroppedOldest+s.Unsent {
		rt.Fatalf("after Shutdown: %+v", s)
	}
}

func (m *machine) post(rt *rapid.T) {
	tag := fmt.Sprint("tag", rapid.IntRange(0, 2).Draw(rt, "tag"))
	for range rapid.IntRange(1, 20).Draw(rt, "times") {
		err := m.l.Post(tag, count(m.posted))
		switch {
		case err == nil:
			m.posted++
		case errors.Is(err, ErrFull):
			m.refused++
		default:
			rt.Fatal(err)
		}
	}
}

func (m *machine) take(rt *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.l.queue.mu.Lock()
	b := m.l.queue.take()
	m.l.queue.mu.Unlock()
	if b == nil {
		return
	}
	if b.records == 0 || b.id == "" || ctx.Err() != nil {
		rt.Fatalf("a batch %+v", b)
	}
	m.sent = append(m.sent, b)
}

func (m *machine) release(rt *rapid.T, to func(*batch)) {
	if len(m.sent) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.sent)-1).Draw(rt, "which")
	b := m.sent[i]
	m.sent = append(m.sent[:i], m.sent[i+1:]...)
	to(b)
}

func (m *machine) back(rt *rapid.T) {
	n := rapid.IntRange(0, len(m.sent)).Draw(rt, "how many")
	m.l.queue.back(m.sent[:n], errAway)
	m.sent = m.sent[n:]
}

func (m *machine) check(rt *rapid.T) {
	s, l := m.l.Stats(), m.l.limits
	sum := s.Delivered + s.Handled + s.DroppedOldest + s.Unsent + uint64(s.Pending)
	if s.Posted != uint64(m.posted) || sum != s.Posted || s.RefusedFull != uint64(m.refused) {
		rt.Fatalf("%d posted, %d refused: %+v", m.posted, m.refused, s)
	}
	if s.PendingBytes > l.maxBytes || l.maxRecords > 0 && int64(s.Pending) > l.maxRecords {
		rt.Fatalf("%d bytes of %d, %d records of %d", s.PendingBytes, l.maxBytes, s.Pending, l.maxRecords)
	}
	bytes, records := s.PendingBytes, int64(s.Pending)
	for i := range m.l.collector.shards {
		bytes += m.l.collector.shards[i].bytes
		records += m.l.collector.shards[i].records
	}
	if l.bytes.Load() != bytes || l.maxRecords > 0 && l.records.Load() != records {
		rt.Fatalf("%d bytes and %d records are reserved for %d and %d", l.bytes.Load(), l.records.Load(), bytes, records)
	}
}

// newIdle returns a Logger without goroutines.
func newIdle(t *testing.T, opts ...Option) *Logger {
	t.Helper()
	o := defaultOptions()
	for _, option := range opts {
		option(&o)
	}
	if err := o.resolve(); err != nil {
		t.Fatal(err)
	}
	l, err := prepare(o, func(*options, func(Event)) (deliverer, error) { return idle{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := l.Shutdown(ended); err != nil && !errors.As(err, new(*UnsentError)) {
			t.Error(err)
		}
	})
	return l
}

// idle delivers nothing.
type idle struct{}

func (idle) start(context.Context, source) {}
func (idle) wait()                         {}
func (idle) down() bool                    { return false }
func (idle) states() []ServerStats         { return nil }
