package cache

import (
	"context"
	"errors"
)

// Group is a fill of several keys with one request to the origin. The fill of each key is a
// flight like those of Space.Fill: for each key the origin is asked once for all concurrent
// callers, whether they want one key or several. It is used by one goroutine, in this order:
// NewGroup, Join for each key, one request to the origin for the keys that the group fills
// itself, Store for each answer, End, and Wait for each key that another fill has.
type Group struct {
	space *Space
	own   []*flight
}

// GroupFill is the fill of one key. Its zero value is none.
type GroupFill struct {
	flight *flight
	entry  *Entry // a flight ended between look-up and Join
	own    bool   // the group fills the key itself
}

// errGroupFailed is the error of the flights of a group that brought no answer: perhaps
// because of another key. Space.Fill then asks for its key alone.
var errGroupFailed = errors.New("the fill of several keys has failed")

// NewGroup returns a group without keys. End must be called in any case.
func (s *Space) NewGroup() *Group { return &Group{space: s} }

// Context returns the context for the request to the origin. Others may wait for the answer,
// so it does not end when a caller disconnects.
func (g *Group) Context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), g.space.cache.fillTimeout)
}

// Join joins the running fill of a key, or begins one if there is none that may be joined.
// It returns false if a write of one of the tags is in flight or in quarantine, or this node
// has no lease: an answer could not be stored now.
func (g *Group) Join(key []byte, tags []Tag) (j GroupFill, ok bool) {
	s := g.space
	shard := &s.flights[s.hash(key)%flightShards]
	shard.Lock()
	defer shard.Unlock()
	f, now := shard.byKey[string(key)], s.cache.Now()
	if f == nil {
		if e, found := s.find(key, now); found == Fresh {
			s.cache.stats.coalesced.Add(1)
			return GroupFill{entry: e}, true
		}
	}
	if f != nil && !s.replaceable(f, now) {
		if !f.stamp.Settled {
			return j, false
		}
		s.cache.stats.coalesced.Add(1)
		return GroupFill{flight: f}, true
	}
	f = newFlight(shard, key, tags, nil)
	if f.stamp = s.cache.Note(tags...); !f.stamp.Settled {
		return j, false
	}
	f.err = errGroupFailed // until Store
	shard.byKey[string(f.key)] = f
	g.own = append(g.own, f)
	return GroupFill{flight: f, own: true}, true
}

// Own reports whether the group must request the answer of the origin and pass it to Store.
func (j GroupFill) Own() bool { return j.own }

// Strong reports whether the request of an own fill must be strongly consistent.
func (j GroupFill) Strong() bool { return j.flight.stamp.Strong }

// Store stores the answer of an own fill, if no tag has moved since Join. It returns the entry
// in any case.
func (g *Group) Store(j GroupFill, f *Filling) (e *Entry, stored bool) {
	e, stored = g.space.Store(j.flight.stamp, j.flight.key, f)
	j.flight.answer, j.flight.err = Answer{Entry: e, Extra: f.Extra, Stored: stored}, nil
	return e, stored
}

// End ends the own fills and releases their waiters. The ones without an answer have failed.
// It may be called twice.
func (g *Group) End() {
	if len(g.own) > 0 {
		g.space.cache.stats.fills.Add(1)
	}
	for _, f := range g.own {
		g.space.finish(f)
	}
	g.own = nil
}

// Wait waits for a fill of another caller, or for an own one that has ended, and returns its
// entry. ok is false if that was not stored, or ctx has ended. Own fills must have ended, since
// others may wait for them.
func (g *Group) Wait(ctx context.Context, j GroupFill) (e *Entry, ok bool) {
	switch {
	case j.entry != nil:
		return j.entry, true
	case j.flight == nil:
		return nil, false
	}
	select {
	case <-j.flight.done:
		a := &j.flight.answer
		return a.Entry, a.Stored && j.flight.err == nil
	case <-ctx.Done():
		return nil, false
	}
}
