package memcached

import (
	"bytes"
	"context"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// lookUpNear answers from the copy in this process, or fetches a new one from memcached. A
// copy is used for near_ttl, measured from before it was fetched, so that every write to
// memcached is visible after near_ttl.
func (c *call) lookUpNear() {
	c.near = c.loc.appendNear(c.near[:0], c.wire)
	now := c.svc.space.Cache().At(c.x.Now())
	if e, found, _ := c.svc.space.Lookup(c.near, now); found == cache.Fresh {
		if o, ok := c.loc.freshCopy(e, now); ok {
			age := max(time.Duration(now-o.born), 0)
			c.x.Record.Age = max(age, 1)
			c.answer(o, FromNear, o.lifetime.since(age))
			return
		}
	}
	c.fillNear()
}

// freshCopy returns a copy and reports whether it can be used now.
func (l *location) freshCopy(e *cache.Entry, now int64) (*object, bool) {
	o := e.Value().(*object)
	return o, time.Duration(now-o.born) < l.NearTTL && e.TTL(now) > 0
}

// appendNear appends the key of a location's copy of the value under the key wire.
func (l *location) appendNear(dst, wire []byte) []byte {
	return append(append(dst, wire...), l.near...)
}

// fillNear fetches the value from memcached once for all requests that want it.
func (c *call) fillNear() {
	f := &fill{svc: c.svc, set: c.set, loc: c.loc, wire: bytes.Clone(c.wire), server: c.set.place(c.hashed)}
	if f.server < 0 {
		c.miss(ServerDown)
		return
	}
	got, a, err := c.filled(f)
	if err != nil {
		c.miss(ServerTimeout)
		return
	}
	if got.object == nil {
		c.miss(got.why)
		return
	}
	if got.why == FromStale && !a.Coalesced {
		c.renew(got.won, got.cas, got.object.lifetime)
	}
	c.answer(got.object, got.why, got.object.lifetime)
}

// filled waits for a fill. The result of another request's fill may already be too old, if
// near_ttl is short: then the value is fetched again, and a copy is dropped.
func (c *call) filled(f *fill) (*filled, cache.Answer, error) {
	now := c.svc.space.Cache().At(c.x.Now())
	for {
		a, err := c.svc.space.Fill(context.Background(), c.near, c.svc.tags.of(c.wire), f.ask)
		if err != nil {
			return nil, a, err
		}
		if got, ok := a.Extra.(*filled); ok {
			if a.Coalesced && time.Duration(now-got.born) >= c.loc.NearTTL {
				continue
			}
			return got, a, nil
		}
		if o, ok := c.loc.freshCopy(a.Entry, now); ok {
			return &filled{object: o, why: FromNear}, a, nil
		}
		c.svc.space.Drop(c.near, a.Entry)
	}
}

// fill fetches a copy from memcached. It refers to nothing of an exchange.
type fill struct {
	svc    *Service
	set    *settings
	loc    *location
	wire   []byte
	server int
}

// filled is the result of a fill.
type filled struct {
	born   int64   // as in object
	object *object // nil: none
	why    Reason
	won    bool
	cas    uint64
}

// ask is a cache.FillFunc.
func (f *fill) ask(context.Context, *cache.Stamp) (cache.Filling, error) {
	g := client.NewCall()
	defer g.Release()
	got := &filled{born: f.svc.space.Cache().Now()}
	got.object, got.why = f.object(g)
	if got.object == nil {
		return cache.Filling{NoStore: true, Extra: got}, nil
	}
	got.object.born, got.won, got.cas = got.born, g.Won(), casOf(g)
	if g.Won() || g.Waiting() || g.Stale() {
		got.why = FromStale
		return cache.Filling{NoStore: true, Extra: got}, nil
	}
	n := f.loc.filling(got.object, time.Duration(f.svc.space.Cache().Now()-got.born))
	n.Extra = got
	return n, nil
}

// object returns the object of the value that g fetches, or the reason why there is none.
func (f *fill) object(g *client.Call) (*object, Reason) {
	if r := f.set.client.Get(g, f.server, f.wire, f.loc.options()); r != client.Hit {
		return nil, resultReasons[r]
	}
	v, unfit := f.set.cfg.Values.Inspect(g.Flags(), g.Value())
	if unfit != value.OK {
		return nil, valueReasons[unfit]
	}
	o := new(object)
	if why := o.forms(&v, g.Value(), f.set.maxValue); why != FromMemcached {
		return nil, why
	}
	ttl, known := g.TTL()
	o.lifetime = f.loc.lifetimeOf(ttl, known)
	f.loc.scan(o)
	return o, FromMemcached
}

// filling returns the cache entry for a copy, some time after it was born. It is kept at
// most as long as the value in memcached.
func (l *location) filling(o *object, spent time.Duration) cache.Filling {
	if !o.scanned {
		l.scan(o)
	}
	ttl := l.NearTTL
	if o.lifetime.known {
		ttl = min(ttl, o.lifetime.left)
	}
	ttl -= spent
	return cache.Filling{Value: o, Weight: o.weight(), TTL: ttl, NoStore: ttl <= 0}
}

// scan scans an object that many requests share. It does not change afterwards.
func (l *location) scan(o *object) {
	if l.JSONP == nil {
		return
	}
	o.json, o.scanned = l.JSONP.Scan(o.plain), true
}

// casOf returns the CAS number of the value that a get has found, 0 if it is unknown.
func casOf(g *client.Call) uint64 {
	n, _ := g.CAS()
	return n
}

// options returns the location's options for a get.
func (l *location) options() client.GetOptions {
	if l.Store == nil {
		return client.GetOptions{}
	}
	return client.GetOptions{Refresh: l.Store.Stale}
}
