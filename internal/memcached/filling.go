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

// filling is how a fallback is asked for what a key is to have. It is the Filler of one
// plan and refers to nothing of an exchange's. When the flight runs, its goroutine has it.
type filling struct {
	svc     *Service
	set     *settings
	loc     *location
	engine  *httpcache.Service
	wire    []byte
	server  int      // that has the key; -1: none that is up
	renewal *renewal // nil: nothing that can be served is stored

	stamp cache.Stamp // of the copy in this process, from before the fallback is asked
}

// fill makes the filling of the call's key.
func (c *call) fill(engine *httpcache.Service) *filling {
	return &filling{
		svc: c.svc, set: c.set, loc: c.loc, engine: engine, wire: bytes.Clone(c.wire), server: c.set.place(c.hashed),
	}
}

// Fill implements httpcache.Filler.
func (f *filling) Fill() *httpcache.Fill {
	return &httpcache.Fill{Ask: f.ask, Admit: f.admit, Late: f.set.late()}
}

// ask asks in the name of all who want the same.
func (f *filling) ask(ctx context.Context, q *origin.Outbound) (*origin.Inbound, bool, *origin.Fault) {
	if f.loc.NearTTL > 0 {
		f.stamp = f.svc.space.Cache().Note(f.svc.tags.of(f.wire)...)
	}
	q.Header = f.loc.keyed.sharedFields(q.Header)
	in, fault := f.engine.Ask(ctx, q, &balance.Choice{Key: f.wire})
	if fault != nil || in.Status == http.StatusNotModified || in.Status == http.StatusPartialContent {
		f.renewal.end(false) // nothing is admitted of what was not asked for
	}
	return in, true, fault
}

// late is for how long after a flight somebody may come to it who has asked memcached
// before its end.
func (s *settings) late() time.Duration {
	cfg := &s.cfg.Client
	return cmp.Or(cfg.ConnectTimeout, 100*time.Millisecond) + cmp.Or(cfg.Timeout, 500*time.Millisecond) + late
}

// late is how late a goroutine may be that has its answer from memcached.
const late = time.Second
