package memcached

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// filling fetches the value of a key from a fallback, for one request or renewal. It refers
// to nothing of an exchange. While the flight runs, its goroutine owns it.
type filling struct {
	svc     *Service
	set     *settings
	loc     *location
	engine  *httpcache.Service
	wire    []byte
	arrived int64    // when the request arrived, on the cache's clock
	server  int      // index of the server with the key; -1: none is up
	renewal *renewal // nil: no value is stored that could be sent
	peer    bool     // it is for another member

	stamp cache.Stamp // for the copy in this process, from before the fallback is called
	found bool        // the answer is memcached's
}

// fill returns the filling of the call's key.
func (c *call) fill(engine *httpcache.Service) *filling {
	return &filling{
		svc: c.svc, set: c.set, loc: c.loc, engine: engine, wire: bytes.Clone(c.wire), server: c.set.place(c.hashed),
		arrived: c.svc.space.Cache().At(c.x.Now()),
	}
}

// describe completes the description of the flight: a request that has found nothing in
// memcached may join one that has ended since the request arrived, also if the fallback
// failed.
func (f *filling) describe(r *flight.Request) {
	r.Arrived, r.Linger, r.KeepFailure = f.arrived, f.set.linger(), isFallbackFault
}

// isFallbackFault reports whether an error is a failure of the fallback.
func isFallbackFault(err error) bool {
	_, ok := errors.AsType[*origin.Fault](err)
	return ok
}

// join joins a flight to the fallback, or starts one.
func (f *filling) join(r *flight.Request) *flight.Waiter {
	f.describe(r)
	return f.engine.Flights().Join(r)
}

// refresh starts a flight in the background for the plan p, and reports whether it did.
func (f *filling) refresh(x *edge.Exchange, p *httpcache.Plan) (begun bool) {
	f.engine.Prepare(x, p, func(r *flight.Request) {
		f.describe(r)
		begun = f.engine.Flights().Refresh(r)
	})
	return begun
}

// ask calls the fallback for all requests that want the same. For another member it looks in
// memcached again: see lookAgain.
func (f *filling) ask(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	if f.peer {
		if in := f.lookAgain(); in != nil {
			f.found = true
			return in, nil
		}
	}
	if f.loc.NearTTL > 0 {
		f.stamp = f.svc.space.Cache().Note(f.svc.tags.of(f.wire)...)
	}
	q.Header = f.loc.keyed.sharedFields(q.Header)
	in, fault := f.engine.Ask(ctx, q, &balance.Choice{Key: f.wire})
	if fault != nil || in.Status == http.StatusNotModified || in.Status == http.StatusPartialContent {
		f.renewal.end(false) // answer is not called for an answer to conditions that were not sent
	}
	return in, fault
}

// linger returns how long after a flight a request may join it that has queried memcached
// before the flight's end.
func (s *settings) linger() time.Duration {
	cfg := &s.cfg.Client
	return cmp.Or(cfg.ConnectTimeout, 100*time.Millisecond) + cmp.Or(cfg.Timeout, 500*time.Millisecond) + late
}

// late is the scheduling delay allowed to a goroutine that has memcached's answer.
const late = time.Second
