package memcached

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/client"
)

// renewals are the values that this process is renewing, or has failed to renew.
type renewals struct {
	mu       sync.Mutex           // leaf
	until    map[string]time.Time // by key: no renewal is started before this time
	waits    map[string]waitState // by key: of values that another client has to renew
	timers   map[*renewal]*time.Timer
	maxPause time.Duration // replaces the constant in tests; 0: it does not
	closed   bool
}

// waitState is how long this process has been waiting for another client to renew the value
// with a CAS number.
type waitState struct {
	cas   uint64
	since time.Time
}

const (
	// maxRenewals is the maximum number of values that are remembered.
	maxRenewals = 10_000
	// maxRenewalTime is the time after which a renewal that has not ended is ignored.
	maxRenewalTime = 2 * time.Minute
	// minPause and maxPause bound the pause after a failed renewal, which is a quarter of
	// the time in which the value is sent stale.
	minPause, maxPause = time.Second, 5 * time.Second
	// maxRenewWait bounds how long a value is sent stale while another client has to renew
	// it, before this process does: that client may have died. It is half of the stale time,
	// but not more.
	maxRenewWait = 15 * time.Second
)

// renewal is one attempt of this process to renew a value. The goroutine of the flight ends
// it. Nil is none.
type renewal struct {
	all     *renewals
	metrics *metrics
	set     *settings
	loc     *location
	wire    []byte
	server  int
	cas     uint64    // of the present value; 0: unknown
	expires time.Time // when the present value expires; zero: unknown
	ended   atomic.Bool
}

// renew renews a value that is past its ttl in the background if this process has to: its
// get was the first to see that (won), or the client that was has not renewed it. l is the
// value's lifetime.
func (c *call) renew(won bool, cas uint64, l lifetime) {
	engine := c.set.fallback(c.loc.Fallback)
	if engine == nil || c.loc.Store == nil || !won && !c.overdue(cas, l) {
		return
	}
	f := c.fill(engine)
	r := &renewal{all: &c.svc.renewals, metrics: c.svc.metrics, set: f.set, loc: f.loc, wire: f.wire, server: f.server, cas: cas}
	now := time.Now()
	if l.known {
		r.expires = now.Add(l.left + c.loc.Store.Stale)
	}
	if !r.all.begin(r, now) {
		return
	}
	f.renewal = r
	hash, key := c.x.Record.KeyHash, c.x.Record.Key
	if !f.refresh(c.x, c.plan(f)) {
		r.end(false)
	}
	c.x.Record.Service, c.x.Record.KeyHash, c.x.Record.Key = c.svc.name, hash, key
}

// overdue reports whether another client should have renewed a value by now. A value that
// was not read for a while may be long past its ttl when a client wins its renewal.
func (c *call) overdue(cas uint64, l lifetime) bool {
	limit := min(c.loc.Store.Stale/2, maxRenewWait)
	return l.known && -l.left > limit && c.svc.renewals.waitedFor(c.wire, cas, time.Now()) > limit
}

// waitedFor returns how long this process has been waiting for another client to renew a
// value.
func (r *renewals) waitedFor(wire []byte, cas uint64, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.waits[string(wire)]; ok && w.cas == cas {
		return now.Sub(w.since)
	}
	if r.waits == nil || len(r.waits) >= maxRenewals {
		r.waits = map[string]waitState{}
	}
	r.waits[string(wire)] = waitState{cas, now}
	return 0
}

// begin records that a value is being renewed. It returns false if it already is, or during
// the pause after a failure.
func (r *renewals) begin(n *renewal, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || now.Before(r.until[string(n.wire)]) || !r.room(now) {
		return false
	}
	if r.until == nil {
		r.until, r.timers = map[string]time.Time{}, map[*renewal]*time.Timer{}
	}
	r.until[string(n.wire)] = now.Add(maxRenewalTime)
	delete(r.waits, string(n.wire))
	return true
}

// room reports whether there is room for one more. mu is held.
func (r *renewals) room(now time.Time) bool {
	if len(r.until) < maxRenewals {
		return true
	}
	for k, t := range r.until {
		if !now.Before(t) {
			delete(r.until, k)
		}
	}
	return len(r.until) < maxRenewals
}

// end ends the renewal. After a failure the value is marked as stale again, after a pause,
// so that the next reader of all processes tries once more.
func (n *renewal) end(ok bool) {
	if n == nil || n.ended.Swap(true) {
		return
	}
	if ok {
		n.metrics.renewed.Inc()
	} else {
		n.metrics.unrenewed.Inc()
	}
	r := n.all
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok {
		delete(r.until, string(n.wire))
		return
	}
	if r.closed {
		return
	}
	pause := min(max(n.loc.Store.Stale/4, minPause), cmp.Or(r.maxPause, maxPause))
	r.until[string(n.wire)] = time.Now().Add(pause)
	r.timers[n] = time.AfterFunc(pause, n.mark)
}

// mark lets the next reader win the renewal again.
func (n *renewal) mark() {
	r := n.all
	r.mu.Lock()
	delete(r.until, string(n.wire))
	delete(r.timers, n)
	r.mu.Unlock()
	left := time.Until(n.expires)
	if n.cas == 0 || n.expires.IsZero() || left < time.Second {
		return
	}
	x := client.NewCall()
	defer x.Release()
	n.set.client.MarkStale(x, n.server, n.wire, left, n.cas) // if it fails, the value expires
}

// close stops further attempts.
func (r *renewals) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, t := range r.timers {
		t.Stop()
	}
}
