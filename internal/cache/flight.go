package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// FillFunc queries the origin, strongly if st.Strong is set. ctx ends with the fill's own
// time limit and not when a waiter gives up: the fill may outlive the request that started
// it, so it must not use memory that belongs to that request.
type FillFunc func(ctx context.Context, st *Stamp) (Filling, error)

// Answer is the result of a fill for a waiter.
type Answer struct {
	Entry     *Entry
	Extra     any  // Filling.Extra
	Stored    bool // a later look-up can find the entry
	Coalesced bool // the caller waited for a fill started by another
}

// ErrFillPanicked is returned to the waiters of a fill that panicked.
var ErrFillPanicked = errors.New("the fill panicked")

var errFillExited = fmt.Errorf("%w: it ended its goroutine", ErrFillPanicked)

// flight is a fill that runs or is queued. The state of a flight follows from the map of its
// shard: a queued flight is the next of a running one. next is guarded by the shard; stamp
// is set when the flight is launched, under the shard's lock; answer and err are set before
// done is closed. A flight of a Group has no fill.
type flight struct {
	key    []byte
	shard  *flightShard
	tags   [MaxTags]Tag
	ntags  int
	fill   FillFunc
	stamp  Stamp
	next   *flight // starts when this flight has ended
	done   chan struct{}
	answer Answer
	err    error
}

// flightShard holds the flights of some keys. No other lock is taken, and no callback
// called, while its lock is held.
type flightShard struct {
	sync.Mutex
	byKey map[string]*flight
}

const flightShards = 64

// flights are the running fills of a space.
type flights [flightShards]flightShard

func (fs *flights) init() {
	for i := range fs {
		fs[i].byKey = make(map[string]*flight)
	}
}

// Fill returns the answer for key from the origin, which is queried once for all concurrent
// callers. A caller whose ctx ends returns early; the fill continues for the others, and its
// answer is stored.
//
// A caller never receives an answer that was read before a write that had ended when Fill
// was called. It joins a running fill only if no write has touched the tags since that fill
// began and this node has a lease. If a write was in flight when the fill began, the caller
// waits for the next fill. If a write has happened since, a new fill replaces the running one.
func (s *Space) Fill(ctx context.Context, key []byte, tags []Tag, fill FillFunc) (Answer, error) {
	f, how := s.join(key, tags, fill, false)
	if how.started {
		go s.runAside(f)
	}
	return s.await(ctx, f, how, fill)
}

// FillHere is Fill for a caller that waits for the end of the fill that it starts. The fill
// runs in the caller's goroutine, with ctx instead of a context of its own: the end of ctx
// ends it for all callers. waiting returns the context for joining the fill of another caller.
func (s *Space) FillHere(ctx context.Context, key []byte, tags []Tag, fill FillFunc, waiting func() (context.Context, context.CancelFunc)) (Answer, error) {
	f, how := s.join(key, tags, fill, false)
	if how.started {
		if s.run(ctx, f); f.err != nil && ctx.Err() != nil {
			return Answer{}, context.Cause(ctx)
		}
		return f.answer, f.err
	}
	ctx, cancel := waiting()
	defer cancel()
	return s.await(ctx, f, how, fill)
}

// await returns the answer of a flight that join has returned.
func (s *Space) await(ctx context.Context, f *flight, how joinResult, fill FillFunc) (Answer, error) {
	if f == nil {
		return Answer{Entry: how.entry, Stored: true, Coalesced: true}, nil
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	if errors.Is(f.err, errGroupFailed) {
		return s.Fill(ctx, f.key, f.tags[:f.ntags], fill)
	}
	answer := f.answer
	answer.Coalesced = how.joined
	return answer, f.err
}

// Refresh fills key in the background unless a fill of it is running.
func (s *Space) Refresh(key []byte, tags []Tag, fill FillFunc) {
	if f, how := s.join(key, tags, fill, true); how.started {
		s.cache.stats.refreshes.Add(1)
		go s.runAside(f)
	}
}

// joinResult is the result of join beside the flight.
type joinResult struct {
	joined  bool   // another caller started the flight
	started bool   // the caller has, and calls run
	entry   *Entry // the answer, if a flight ended between look-up and join
}

// join returns the flight to wait for and starts it if necessary. It looks the key up again
// under the shard's lock. Without that:
//
//	A: lookup(k) miss     B: lookup(k) miss
//	A: flight starts, stores k, ends
//	B: flight starts  -> second origin read of a fresh key
func (s *Space) join(key []byte, tags []Tag, fill FillFunc, refresh bool) (*flight, joinResult) {
	shard := &s.flights[s.hash(key)%flightShards]
	shard.Lock()
	defer shard.Unlock()
	f, now := shard.byKey[string(key)], s.cache.Now()
	if f == nil && !refresh {
		if e, found := s.find(key, now); found == Fresh {
			s.cache.stats.coalesced.Add(1)
			return nil, joinResult{entry: e}
		}
	}
	switch {
	case f != nil && refresh:
		return f, joinResult{joined: true}
	case f == nil || s.replaceable(f, now):
		f = newFlight(shard, key, tags, fill)
		s.start(f)
		return f, joinResult{started: true}
	case f.stamp.Settled:
		s.cache.stats.coalesced.Add(1)
		return f, joinResult{joined: true}
	}
	s.cache.stats.queued.Add(1)
	if f.next != nil {
		return f.next, joinResult{joined: true}
	}
	f.next = newFlight(shard, key, tags, fill)
	return f.next, joinResult{}
}

// replaceable reports whether a running fill must not be joined because a write has happened
// since it began, so that another one replaces it.
func (s *Space) replaceable(f *flight, now int64) bool {
	return f.stamp.Settled && !(s.cache.Serves(now) && s.cache.Current(&f.stamp))
}

func newFlight(shard *flightShard, key []byte, tags []Tag, fill FillFunc) *flight {
	f := &flight{shard: shard, key: bytes.Clone(key), fill: fill, ntags: len(tags), done: make(chan struct{})}
	copy(f.tags[:len(tags)], tags) // panics here, in the caller, if there are too many
	return f
}

// start starts f, which run then fills. The caller holds the lock of its shard, so that f is
// joined only after its generations are recorded.
func (s *Space) start(f *flight) {
	f.stamp = s.cache.Note(f.tags[:f.ntags]...)
	f.shard.byKey[string(f.key)] = f
	s.cache.stats.fills.Add(1)
}

// runAside is run in a goroutine of its own, with the time limit of fills.
func (s *Space) runAside(f *flight) {
	ctx, cancel := context.WithTimeout(context.Background(), s.cache.fillTimeout)
	defer cancel()
	s.run(ctx, f)
}

// run fills f.
func (s *Space) run(ctx context.Context, f *flight) {
	defer s.finish(f)
	f.err = errFillExited // remains only if fill ends its goroutine
	f.answer, f.err = s.ask(ctx, f)
}

// finish removes f from the map, launches the flight queued behind it and releases the
// waiters.
func (s *Space) finish(f *flight) {
	f.shard.Lock()
	if f.shard.byKey[string(f.key)] == f {
		delete(f.shard.byKey, string(f.key))
	}
	if f.next != nil {
		s.start(f.next)
		go s.runAside(f.next)
	}
	f.shard.Unlock()
	close(f.done)
}

func (s *Space) ask(ctx context.Context, f *flight) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.cache.stats.fillPanics.Add(1)
			err = fmt.Errorf("%w: %v\n%s", ErrFillPanicked, p, debug.Stack())
		}
	}()
	filling, err := f.fill(ctx, &f.stamp)
	if err != nil {
		return Answer{Extra: filling.Extra}, err
	}
	e, stored := s.Store(f.stamp, f.key, &filling)
	return Answer{Entry: e, Extra: filling.Extra, Stored: stored}, nil
}
