package httpcache

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/inflight"
)

// Ask is a request for a flight.
type Ask struct {
	// Query is the request; its Key and Fields must stay as they are until the
	// Ticket has been left.
	Query *store.Query
	// Seen is what a look-up found and the caller does not want as it is. If
	// something else lies there by now, no flight is needed.
	Seen *store.Object
	// Part is the range that is asked for, with its condition, both as they came; nil if
	// it is the whole. A flight for a part is joined by those alone who ask for the same.
	Part []byte
	// Covered says whether a stored part has what is asked for; nil: none has.
	Covered func(*store.Object) bool
	// Tags are what the answer depends on beside its URL: at most three.
	Tags []cache.Tag
	// Since is the earliest time, on the cache's clock, at which a flight with Tags may
	// have begun that is joined. Above 0, what is stored meanwhile is not taken either:
	// nobody knows any more when its flight began.
	Since int64
	// Apart starts a flight of the caller's own, for requests that are marked.
	// Others can join it once its answer turns out to be one to share.
	Apart bool
	// After is a flight that failed, if it is flown once more for those who had joined it:
	// they get what one other brings, even if that fails before all of them have come.
	After *Flight
	// Asked is when the request came, on the cache's clock: what a flight that was not over
	// by then came to is taken. 0: only of one that still runs.
	Asked int64
	// Late is for how long such are to be had, if the flight is a new one.
	Late time.Duration
	// Fill asks the origin, if the flight is a new one.
	Fill FillFunc
}

// flightShard holds the flights of some keys. Its lock is taken before a
// flight's.
type flightShard struct {
	sync.Mutex
	byKey map[string][]*Flight
}

const flightShards = 64

// flights are those that fill a store.
type flights struct {
	store  *store.Store
	space  *cache.Space // of the store
	limits atomic.Pointer[FlightLimits]
	budget *inflight.Budget
	stats  flightCounters
	seed   maphash.Seed
	shards [flightShards]flightShard
	ctx    context.Context
	cancel context.CancelCauseFunc
	mu     sync.Mutex // guards closed, and keeps Add apart from Wait
	closed bool
	wg     sync.WaitGroup
}

// newFlights makes the flights of a store that keeps its objects in space. They have to be
// closed before the store.
func newFlights(s *store.Store, space *cache.Space, l FlightLimits) *flights {
	fs := &flights{store: s, space: space, budget: space.Cache().Budget(), seed: maphash.MakeSeed()}
	fs.SetLimits(l)
	fs.ctx, fs.cancel = context.WithCancelCause(context.Background())
	for i := range fs.shards {
		fs.shards[i].byKey = make(map[string][]*Flight)
	}
	return fs
}

// close ends all flights, as if their origins had failed, and waits for them.
func (fs *flights) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.cancel(ErrClosed)
	fs.wg.Wait()
}

// enter counts a flight, unless there are to be no more.
func (fs *flights) enter() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !fs.closed {
		fs.wg.Add(1)
	}
	return !fs.closed
}

// done takes f out of its shard, unless others may still come for what it brought.
func (fs *flights) done(f *Flight) {
	if f.landed.weight == 0 {
		f.shard.remove(f)
	} else {
		f.relieve()
	}
	f.flights.stats.running.Add(-1)
	fs.wg.Done()
}

func (sh *flightShard) remove(f *Flight) {
	sh.Lock()
	defer sh.Unlock()
	rest := slices.DeleteFunc(sh.byKey[string(f.key)], func(g *Flight) bool { return g == f })
	if len(rest) == 0 {
		delete(sh.byKey, string(f.key))
	} else {
		sh.byKey[string(f.key)] = rest
	}
}

// publish lets f be joined, if it could not be so far.
func (sh *flightShard) publish(f *Flight) {
	sh.Lock()
	defer sh.Unlock()
	if fl := sh.byKey[string(f.key)]; !slices.Contains(fl, f) {
		sh.byKey[string(f.key)] = append(fl, f)
	}
}

// Fly joins the flight that brings what a wants, or starts one. The Ticket must
// be left.
//
// A flight is joined only if no write and no purge has touched the URL since it
// began: whoever asks after either gets an answer from after it.
func (fs *flights) Fly(a *Ask) *Ticket {
	sh := fs.shardOf(a.Query.Key)
	sh.Lock()
	defer sh.Unlock()
	t := fs.fly(sh, a)
	if a.After != nil && a.After.after == nil {
		a.After.after = t.flight
	}
	return t
}

// fly is Fly with the shard locked.
func (fs *flights) fly(sh *flightShard, a *Ask) *Ticket {
	if a.After != nil && a.After.after.share() {
		fs.stats.joined.Add(1)
		return &Ticket{flight: a.After.after, query: a.Query}
	}
	if !a.Apart {
		if t := fs.join(sh, a); t != nil {
			return t
		}
		// Without this look, a flight that ended since the caller's own look-up
		// would be flown once more.
		if o := fs.arrived(a); o != nil {
			fs.stats.joined.Add(1)
			return &Ticket{query: a.Query, object: o}
		}
	}
	f := fs.newFlight(sh, a)
	f.members = 1
	f.pieces.enter()
	fs.launch(f, !a.Apart)
	return &Ticket{flight: f, query: a.Query, starter: true}
}

// Join joins the flight that brings what is asked for, nil if there is none.
func (fs *flights) Join(a *Ask) *Ticket {
	sh := fs.shardOf(a.Query.Key)
	sh.Lock()
	defer sh.Unlock()
	return fs.join(sh, a)
}

// Refresh starts a flight that nobody waits for, unless one that a could join is
// under way, or was when a was asked. It tells whether it did.
func (fs *flights) Refresh(a *Ask) bool {
	sh := fs.shardOf(a.Query.Key)
	sh.Lock()
	defer sh.Unlock()
	for _, f := range sh.byKey[string(a.Query.Key)] {
		if fs.joinable(f, a) && !f.isRemembered(a) {
			return false
		}
	}
	if fs.arrived(a) != nil {
		return false
	}
	f := fs.newFlight(sh, a)
	f.background = true
	fs.launch(f, true)
	return true
}

// arrived is what is stored for a that it has not seen, nil if there is nothing.
func (fs *flights) arrived(a *Ask) (o *store.Object) {
	if a.Since > 0 {
		return nil
	}
	if f := fs.store.Find(a.Query); f.Object != nil && f.Object != a.Seen && !f.Object.IsPart() {
		return f.Object
	}
	if a.Covered != nil {
		fs.store.Parts(a.Query, func(p *store.Object) bool {
			if p != a.Seen && a.Covered(p) {
				o = p
			}
			return o == nil
		})
	}
	return o
}

func (fs *flights) shardOf(key []byte) *flightShard {
	return &fs.shards[maphash.Bytes(fs.seed, key)%flightShards]
}

// newFlight notes the fences, so it must come before the origin is asked.
func (fs *flights) newFlight(sh *flightShard, a *Ask) *Flight {
	f := &Flight{
		store: fs.store, flights: fs, shard: sh, key: bytes.Clone(a.Query.Key), fill: a.Fill, limits: fs.limits.Load(),
		part: bytes.Clone(a.Part), pieces: pieces{kept: true}, lateFor: a.Late,
	}
	f.ctx, f.cancel = context.WithCancelCause(fs.ctx)
	f.guess = fs.guess(sh, a.Query)
	f.lasting = len(a.Tags) == 0
	if f.fenced = a.Tags != nil; f.fenced {
		f.began = fs.space.Cache().Now()
	}
	f.fence = fs.store.Fence(f.key, a.Tags...)
	return f
}

// launch starts f, whose shard is locked. Those that are not open can be joined
// when their answer is known.
func (fs *flights) launch(f *Flight, open bool) {
	if !fs.enter() {
		f.fail(ErrClosed)
		return
	}
	if open {
		f.shard.byKey[string(f.key)] = append(f.shard.byKey[string(f.key)], f)
	}
	fs.stats.flights.Add(1)
	fs.stats.running.Add(1)
	go f.run()
}

// guess is what a flight for q will probably vary by: what it is for other
// flights of the key, or for what is stored.
func (fs *flights) guess(sh *flightShard, q *store.Query) guess {
	names := fs.store.Vary(q.Key)
	for _, f := range sh.byKey[string(q.Key)] {
		if known := f.vary(); len(known) > 0 {
			names = known
		}
	}
	return guess{names: names, values: bytes.Clone(q.Presented(names))}
}

// vary is what f's answer varies by, if that is known.
func (f *Flight) vary() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answer == nil {
		return nil
	}
	return f.answer.Head.Response.Vary
}

// join returns a ticket of a flight that a can join, nil if there is none.
func (fs *flights) join(sh *flightShard, a *Ask) *Ticket {
	for _, f := range sh.byKey[string(a.Query.Key)] {
		if f == a.After || !fs.joinable(f, a) {
			continue
		}
		if boarded, remembered := f.board(a); boarded {
			fs.stats.joined.Add(1)
			return &Ticket{flight: f, query: a.Query, remembered: remembered}
		}
	}
	return nil
}

// joinable tells whether f brings what is asked for, and began late enough. One that
// began beside a write of the caller's tags is for nobody else.
func (fs *flights) joinable(f *Flight, ask *Ask) bool {
	q := ask.Query
	switch {
	case f.part != nil && string(f.part) != string(ask.Part):
		return false
	case f.fenced && (!f.fence.Stamp.Settled || f.began < ask.Since):
		return false
	}
	f.mu.Lock()
	a, past := f.answer, f.past(ask)
	f.mu.Unlock()
	if past {
		return false
	}
	if a == nil {
		return f.guess.fits(q) && !fs.store.Overtaken(&f.fence, f.key, nil)
	}
	return a.Head.Answers(q) && !fs.store.Overtaken(&f.fence, f.key, a.Head)
}

// share counts a member in to share f's failure, if it failed before its head was known.
func (f *Flight) share() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != failed || f.answer != nil {
		return false
	}
	f.members++
	f.pieces.enter()
	return true
}

// over tells whether f has come to something. What it has stored is in the store.
// mu is held.
func (f *Flight) over() bool { return f.state >= whole }

// board counts a member in, if f has all its bytes.
func (f *Flight) board(a *Ask) (boarded, remembered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.past(a), !f.over() && (!f.pieces.kept || f.ctx.Err() != nil):
		return false, false
	}
	f.members++
	f.reclaim()
	f.pieces.enter()
	return true, f.remembered(a)
}
