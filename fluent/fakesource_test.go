package fluent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// fakeSource is a source of batches for tests of senders. It fails the test if a batch is returned
// twice, or by a sender that did not take it.
type fakeSource struct {
	t testing.TB

	mu        sync.Mutex
	changed   *sync.Cond
	batches   []*batch // waiting, oldest first
	taken     map[*batch]bool
	delivered []string // ids, in the order of done
	causes    []error  // the arguments of back
	events    []Event
	ready     chan struct{}
}

func newFakeSource(t testing.TB) *fakeSource {
	s := &fakeSource{t: t, taken: map[*batch]bool{}, ready: make(chan struct{}, 1)}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// put adds n batches of two records each. Their ids and values are numbered in order.
func (s *fakeSource) put(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		order := uint64(len(s.batches) + len(s.taken) + len(s.delivered))
		b := &batch{tag: "t", id: fmt.Sprintf("batch %04d", order), order: order, records: 2}
		for i := range 2 {
			b.entries = msgpack.AppendArrayLen(b.entries, 2)
			b.entries = msgpack.AppendEventTime(b.entries, time.Unix(1700000000, int64(i)))
			b.entries = msgpack.AppendMapLen(b.entries, 1)
			b.entries = msgpack.AppendString(b.entries, "n")
			b.entries = msgpack.AppendInt(b.entries, int64(2*order)+int64(i))
		}
		s.batches = append(s.batches, b)
	}
	s.notify()
}

// notify wakes the goroutines that wait for a batch or for a change.
func (s *fakeSource) notify() {
	s.changed.Broadcast()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *fakeSource) next(ctx context.Context) (*batch, error) {
	for ctx.Err() == nil {
		s.mu.Lock()
		if len(s.batches) > 0 {
			b := s.batches[0]
			s.batches = s.batches[1:]
			s.taken[b] = true
			if len(s.batches) > 0 {
				s.notify()
			}
			s.mu.Unlock()
			return b, nil
		}
		s.mu.Unlock()
		select {
		case <-s.ready:
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

func (s *fakeSource) done(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(b)
	s.delivered = append(s.delivered, b.id)
	clear(b.entries) // makes later use of the entries fail
	s.changed.Broadcast()
}

func (s *fakeSource) back(bs []*batch, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bs {
		s.release(b)
	}
	s.batches = append(slices.Clone(bs), s.batches...)
	slices.SortFunc(s.batches, func(a, b *batch) int { return int(a.order) - int(b.order) })
	s.causes = append(s.causes, cause)
	s.notify()
}

func (s *fakeSource) release(b *batch) {
	if !s.taken[b] {
		s.t.Errorf("%s was returned by a sender that had not taken it", b.id)
	}
	delete(s.taken, b)
}

func (s *fakeSource) report(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	s.changed.Broadcast()
}

// kinds returns the kinds of one server's events, in order.
func (s *fakeSource) kinds(server string) (kinds []EventKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Server == server {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// failures returns the errors of the Fail events.
func (s *fakeSource) failures() (errs []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == Fail {
			errs = append(errs, e.Err)
		}
	}
	return errs
}

// await waits until n batches are done.
func (s *fakeSource) await(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.delivered) < n {
		s.changed.Wait()
	}
}

// awaitEvent waits for an event of a kind.
func (s *fakeSource) awaitEvent(kind EventKind) Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for _, e := range s.events {
			if e.Kind == kind {
				return e
			}
		}
		s.changed.Wait()
	}
}

// counts returns the numbers of waiting, taken and done batches.
func (s *fakeSource) counts() (waiting, taken, done int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.batches), len(s.taken), len(s.delivered)
}

// deliver starts a delivery from s. stop ends it and checks that no sender keeps a batch; the end
// of the test calls it too.
func (s *fakeSource) deliver(servers []string, opts ...Option) (d *delivery, stop func()) {
	s.t.Helper()
	o := defaultOptions()
	o.hostname = "client.test"
	for _, option := range opts {
		option(&o)
	}
	if err := o.check(); err != nil {
		s.t.Fatal(err)
	}
	d, err := newDelivery(servers, &o, s.report)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.start(ctx, s)
	stop = sync.OnceFunc(func() {
		cancel()
		d.wait()
		if _, taken, _ := s.counts(); taken > 0 {
			s.t.Errorf("%d batches were neither done nor returned", taken)
		}
	})
	s.t.Cleanup(stop)
	return d, stop
}
