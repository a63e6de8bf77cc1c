package flight

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/inflight"
)

// Group is the set of flights that fill one store.
type Group struct {
	store     *store.Store
	space     *cache.Space // of the store
	budget    *inflight.Budget
	limits    atomic.Pointer[Limits]
	stats     counters
	abandoned places
	seed      maphash.Seed
	shards    [shardCount]shard
	ctx       context.Context // of all flights
	cancel    context.CancelCauseFunc
	mu        sync.Mutex // guards closed, and keeps running.Add apart from running.Wait
	closed    bool
	running   sync.WaitGroup
}

const shardCount = 64

// shard holds the flights of some keys that can be joined.
type shard struct {
	sync.Mutex
	byKey map[string][]*Flight
}

// NewGroup returns a group for a store that keeps its objects in space. The group must be
// closed before the store.
func NewGroup(s *store.Store, space *cache.Space, l Limits) *Group {
	g := &Group{store: s, space: space, budget: space.Cache().Budget(), seed: maphash.MakeSeed()}
	g.SetLimits(l)
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	for i := range g.shards {
		g.shards[i].byKey = make(map[string][]*Flight)
	}
	return g
}

// Close ends all flights with ErrClosed and waits for them.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel(ErrClosed)
	g.running.Wait()
}

// Join joins a flight with the answer to r, or starts one. The waiter must be left.
//
// A flight is joined only if no write and no purge has touched the URL since it began, so
// that a request that arrives after either gets an answer from after it.
func (g *Group) Join(r *Request) *Waiter {
	sh := g.shardOf(r.Query.Key)
	sh.Lock()
	defer sh.Unlock()
	w := g.joinOrStart(sh, r)
	if r.RetryOf != nil && r.RetryOf.retry == nil {
		r.RetryOf.retry = w.flight
	}
	return w
}

// joinOrStart is Join with the shard locked.
func (g *Group) joinOrStart(sh *shard, r *Request) *Waiter {
	if !r.Alone {
		if w := g.join(sh, r); w != nil {
			return w
		}
		// A flight that ended since the caller's look-up would be repeated without this one.
		if o := g.storedSince(r); o != nil {
			g.stats.joined.Add(1)
			return &Waiter{query: r.Query, object: o}
		}
	}
	// The retry may have failed since join looked at it.
	if r.RetryOf != nil {
		if err := r.RetryOf.retry.failure(); err != nil {
			g.stats.joined.Add(1)
			return &Waiter{query: r.Query, err: err}
		}
	}
	f := g.newFlight(sh, r)
	f.starter.present = true
	f.enter()
	g.start(f, r)
	return &Waiter{flight: f, query: r.Query, starter: true}
}

// TryJoin joins a flight with the answer to r, or returns nil if there is none.
func (g *Group) TryJoin(r *Request) *Waiter {
	sh := g.shardOf(r.Query.Key)
	sh.Lock()
	defer sh.Unlock()
	return g.join(sh, r)
}

// Refresh starts a flight without members, unless there is one that r could join or could
// have joined when it arrived. It reports whether it started one.
func (g *Group) Refresh(r *Request) bool {
	sh := g.shardOf(r.Query.Key)
	sh.Lock()
	defer sh.Unlock()
	for _, f := range sh.byKey[string(r.Query.Key)] {
		if f.answers(r) && !f.onlyRemembers(r) {
			return false
		}
	}
	if g.storedSince(r) != nil {
		return false
	}
	f := g.newFlight(sh, r)
	f.background = true
	g.start(f, r)
	return true
}

// storedSince returns an object for r that was stored after the caller's look-up; nil if
// there is none.
func (g *Group) storedSince(r *Request) (o *store.Object) {
	if r.Since > 0 {
		return nil
	}
	if f := g.store.Find(r.Query); f.Object != nil && f.Object != r.Seen && !f.Object.IsPart() {
		return f.Object
	}
	if r.Covered != nil {
		g.store.Parts(r.Query, func(p *store.Object) bool {
			if p != r.Seen && r.Covered(p) {
				o = p
			}
			return o == nil
		})
	}
	return o
}

// newFlight returns a flight that has not started. It notes the generations of the tags, so
// the origin must be asked later.
func (g *Group) newFlight(sh *shard, r *Request) *Flight {
	f := &Flight{
		group: g, shard: sh, buffer: buffer{retain: true},
		spec: spec{
			key: bytes.Clone(r.Query.Key), part: bytes.Clone(r.Part), guess: g.guess(sh, r.Query),
			fenced: r.Tags != nil, lasting: len(r.Tags) == 0, linger: r.Linger, keepFailure: r.KeepFailure, limits: g.limits.Load(), stored: g.store.Limits(),
		},
	}
	f.ctx, f.cancel = context.WithCancelCause(g.ctx)
	if f.fenced {
		f.began = g.now()
	}
	if r.Fence != nil {
		f.fence = *r.Fence
	} else {
		f.fence = g.store.Fence(f.key, r.Tags...)
	}
	return f
}

// guess returns the probable variant of a flight for q, by the fields that other flights of
// the key or the stored response vary by.
func (g *Group) guess(sh *shard, q *store.Query) guess {
	names := g.store.Vary(q.Key)
	for _, f := range sh.byKey[string(q.Key)] {
		if vary := f.vary(); len(vary) > 0 {
			names = vary
		}
	}
	return guess{names: names, values: bytes.Clone(q.VaryValues(names))}
}

// start runs f, whose shard is locked. A flight that is alone is published with its head.
func (g *Group) start(f *Flight, r *Request) {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.running.Add(1)
	}
	g.mu.Unlock()
	if closed {
		f.end(ErrClosed)
		return
	}
	if !r.Alone {
		f.shard.byKey[string(f.key)] = append(f.shard.byKey[string(f.key)], f)
	}
	g.stats.flights.Add(1)
	g.stats.running.Add(1)
	go f.run(r.Fill)
}

// exit counts a flight out whose goroutine ends.
func (g *Group) exit(f *Flight, joinable bool) {
	if joinable {
		f.evictReplaced()
	} else {
		f.shard.remove(f)
	}
	g.stats.running.Add(-1)
	g.running.Done()
}

// join returns a waiter of a flight with the answer to r; nil if there is none.
func (g *Group) join(sh *shard, r *Request) *Waiter {
	for _, f := range sh.byKey[string(r.Query.Key)] {
		if f == r.RetryOf || !f.answers(r) {
			continue
		}
		if ok, remembered := f.join(r); ok {
			g.stats.joined.Add(1)
			return &Waiter{flight: f, query: r.Query, remembered: remembered}
		}
	}
	return nil
}

// answers reports whether f has the answer to r, as far as is known, and began late enough.
// A flight that began during a write of the caller's tags is not shared.
func (f *Flight) answers(r *Request) bool {
	switch {
	case !f.group.space.Cache().Serves(f.group.now()): // other members may have written unseen
		return false
	case f.part != nil && string(f.part) != string(r.Part):
		return false
	case f.fenced && (!f.fence.Stamp.Settled || f.began < r.Since):
		return false
	}
	f.mu.Lock()
	a, tooLate := f.result.answer, f.tooLate(r)
	f.mu.Unlock()
	switch {
	case tooLate:
		return false
	case a == nil:
		return f.guess.fits(r.Query) && !f.group.store.Overtaken(&f.fence, f.key, nil)
	}
	return a.Head.Answers(r.Query) && !f.group.store.Overtaken(&f.fence, f.key, a.Head)
}

// join counts a member in, if the flight is not over for r and all its bytes can be read.
func (f *Flight) join(r *Request) (ok, remembered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tooLate(r) || f.state == streaming && !f.buffer.retain {
		return false, false
	}
	f.enter()
	return true, f.remembers(r)
}

// vary returns the names of the fields that f's answer varies by; nil before the head is
// known.
func (f *Flight) vary() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.result.answer == nil {
		return nil
	}
	return f.result.answer.Head.Response.Vary
}

// onlyRemembers reports whether f had ended when r arrived.
func (f *Flight) onlyRemembers(r *Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remembers(r)
}

// failure returns the error of a flight that failed without a head; nil if it has not.
func (f *Flight) failure() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.result.answer != nil {
		return nil
	}
	return f.result.err
}

func (g *Group) shardOf(key []byte) *shard {
	return &g.shards[maphash.Bytes(g.seed, key)%shardCount]
}

func (g *Group) now() int64 { return g.space.Cache().Now() }

// remove makes f impossible to join.
func (sh *shard) remove(f *Flight) {
	sh.Lock()
	defer sh.Unlock()
	rest := slices.DeleteFunc(sh.byKey[string(f.key)], func(g *Flight) bool { return g == f })
	if len(rest) == 0 {
		delete(sh.byKey, string(f.key))
	} else {
		sh.byKey[string(f.key)] = rest
	}
}

// publish makes it possible to join f, if it was not.
func (sh *shard) publish(f *Flight) {
	sh.Lock()
	defer sh.Unlock()
	if fs := sh.byKey[string(f.key)]; !slices.Contains(fs, f) {
		sh.byKey[string(f.key)] = append(fs, f)
	}
}

// hold counts n bytes more that flights hold, or less.
func (g *Group) hold(n int64) {
	g.budget.Add(n)
	g.holdCounted(n)
}

// holdCounted is hold for bytes that the budget has counted.
func (g *Group) holdCounted(n int64) {
	g.stats.held.Add(n)
	g.store.InFlight().Reserve(n)
}

// Acquire counts n bytes of a body that the caller collects outside of a flight. It returns
// false if flights hold too much: more than Limits.MaxHeld or, if the caller is slow, half.
func (g *Group) Acquire(n int64, slow bool) bool {
	limit, held := g.limits.Load().MaxHeld, g.stats.held.Load()
	if slow && held > limit/2 || held+n > limit || !g.budget.Buffer(n) {
		return false
	}
	g.holdCounted(n)
	return true
}

// Release uncounts n bytes that Acquire has counted.
func (g *Group) Release(n int64) { g.hold(-n) }
