package memcached

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// filling fetches the value of a key from a fallback. It is the Filler of one plan and
// refers to nothing of an exchange. While the flight runs, its goroutine owns it.
type filling struct {
	svc     *Service
	set     *settings
	loc     *location
	engine  *httpcache.Service
	wire    []byte
	arrived int64    // when the request arrived, on the cache's clock
	server  int      // index of the server with the key; -1: none is up
	renewal *renewal // nil: no value is stored that could be sent

	stamp cache.Stamp // for the copy in this process, from before the fallback is called
}

// fill returns the filling of the call's key.
func (c *call) fill(engine *httpcache.Service) *filling {
	return &filling{
		svc: c.svc, set: c.set, loc: c.loc, engine: engine, wire: bytes.Clone(c.wire), server: c.set.place(c.hashed),
		arrived: c.svc.space.Cache().At(c.x.Now()),
	}
}

// Fill implements httpcache.Filler.
func (f *filling) Fill() *httpcache.Fill {
	return &httpcache.Fill{Ask: f.ask, Answer: f.answer, Arrived: f.arrived, Linger: f.set.linger()}
}

// ask calls the fallback for all requests that want the same.
func (f *filling) ask(ctx context.Context, q *origin.Outbound) (*origin.Inbound, bool, *origin.Fault) {
	if f.loc.NearTTL > 0 {
		f.stamp = f.svc.space.Cache().Note(f.svc.tags.of(f.wire)...)
	}
	q.Header = f.loc.keyed.sharedFields(q.Header)
	in, fault := f.engine.Ask(ctx, q, &balance.Choice{Key: f.wire})
	if fault != nil || in.Status == http.StatusNotModified || in.Status == http.StatusPartialContent {
		f.renewal.end(false) // answer is not called for an answer to conditions that were not sent
	}
	return in, true, fault
}

// linger returns how long after a flight a request may join it that has queried memcached
// before the flight's end.
func (s *settings) linger() time.Duration {
	cfg := &s.cfg.Client
	return cmp.Or(cfg.ConnectTimeout, 100*time.Millisecond) + cmp.Or(cfg.Timeout, 500*time.Millisecond) + late
}

// late is the scheduling delay allowed to a goroutine that has memcached's answer.
const late = time.Second
