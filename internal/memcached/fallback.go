package memcached

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// fallbacks are the engines of the fallbacks, in the order of Config.Fallbacks. An engine keeps
// its index through reloads, even if its origins change. Changes hold Service.changing.
type fallbacks struct {
	space   *cache.Space // of the engines, which store nothing in it
	engines []*httpcache.Service
	configs []httpcache.Config // the present configurations

	mu      sync.Mutex // leaf, except for the engines' locks and the registry's
	names   []string   // of the engines, including engines about to be made
	retired map[*httpcache.Service]*time.Timer
}

// open prepares the fallbacks of a configuration. On an error nothing has changed.
func (b *fallbacks) open(s *Service, cfg *Config) (list []*httpcache.Service, err error) {
	if b.space == nil {
		if b.space, err = s.space.Cache().NewSpace(0); err != nil {
			return nil, fmt.Errorf("service %s: %w", s.name, err)
		}
	}
	var now []httpcache.Config
	for i := range cfg.Fallbacks {
		h := engineConfig(cfg, i)
		h.PlanPeer = s.planPeer(i)
		now = append(now, h)
	}
	before := b.rename(now)
	same := min(len(now), len(b.engines))
	stage := s.registry.Stage()
	list = slices.Clone(b.engines[:same])
	if list, err = b.add(list, now[same:], s, stage); err == nil {
		err = b.reconfigure(now[:same])
	}
	if err != nil {
		for _, e := range list[same:] {
			e.Close()
		}
		stage.Rollback()
		b.rename(before)
		return nil, err
	}
	stage.Commit()
	b.retire(s.name, s.registry, b.engines[same:])
	b.engines, b.configs = list, now
	return list, nil
}

// rename records the names whose series are to be kept, and returns the configurations
// before.
func (b *fallbacks) rename(now []httpcache.Config) (before []httpcache.Config) {
	var names []string
	for i := range now {
		names = append(names, now[i].Name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = names
	return b.configs
}

// add appends new engines. With an error it returns the engines made so far.
func (b *fallbacks) add(list []*httpcache.Service, more []httpcache.Config, s *Service, r *telemetry.Registry) ([]*httpcache.Service, error) {
	for i := range more {
		e, err := httpcache.New(more[i], b.space, r, s.log)
		if err != nil {
			return list, fmt.Errorf("fallback %d: %w", len(list), err)
		}
		list = append(list, e)
	}
	return list, nil
}

// reconfigure changes the engines that are kept, or none.
func (b *fallbacks) reconfigure(now []httpcache.Config) error {
	for i := range now {
		err := b.engines[i].Reconfigure(now[i])
		if err == nil {
			continue
		}
		for j := range i {
			_ = b.engines[j].Reconfigure(b.configs[j]) // it was in force before
		}
		return fmt.Errorf("fallback %d: %w", i, err)
	}
	return nil
}

// engineConfig returns the configuration of a fallback's engine. The first one has the
// service's own name.
func engineConfig(cfg *Config, i int) httpcache.Config {
	h := cfg.Fallbacks[i]
	if h.Name = cfg.Name; i > 0 {
		h.Name = fmt.Sprintf("%s/%d", cfg.Name, i+1)
	}
	h.Policy, h.JSONP, h.Disk, h.Codings, h.Purgers = *byKey, nil, nil, nil, nil
	return h
}

// byKey are the policy choices of engines that store nothing.
var byKey = func() *policy.Options {
	o := policy.Defaults()
	o.Heuristic, o.StaleIfDisconnected, o.IgnoreRequestDirectives = 0, 0, true
	return &o
}()

// retire closes engines when no request uses them any more. The first engine shares the
// service's name, and thereby its series.
func (b *fallbacks) retire(name string, r *telemetry.Registry, list []*httpcache.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range list {
		if b.retired == nil {
			b.retired = map[*httpcache.Service]*time.Timer{}
		}
		b.retired[e] = time.AfterFunc(retireAfter, func() {
			e.Close()
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.retired, e)
			if e.Name() != name && !slices.Contains(b.names, e.Name()) {
				r.Unregister("service", e.Name())
			}
		})
	}
}

// close closes the fallbacks, and waits for answers that are being stored.
func (b *fallbacks) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e, t := range b.retired {
		if t.Stop() {
			e.Close()
		}
	}
	for _, e := range b.engines {
		e.Close()
	}
	if b.space != nil {
		b.space.Close()
	}
}

// fallback returns a fallback's engine, nil for None.
func (s *settings) fallback(i int) *httpcache.Service {
	if i == None {
		return nil
	}
	return s.fallbacks[i]
}

// miss answers a GET or HEAD that memcached has no value for. Of the call, loc and callback
// are set, and wire is the key as sent, empty if there is none.
func (c *call) miss(why Reason) {
	engine := c.set.fallback(c.loc.Fallback)
	switch {
	case engine == nil:
		c.missing(why)
	case c.x.BodyLength() != 0:
		c.forward(engine, why, &httpcache.PassThrough{Why: policy.BodyPassed})
	case len(c.wire) == 0:
		c.forward(engine, why, &httpcache.PassThrough{Why: policy.NoValue, Detail: why.String()})
	case c.isPersonal():
		c.forward(engine, why, &httpcache.PassThrough{Why: policy.CredentialsPassed})
	case c.forbidsStoring():
		c.forward(engine, why, &httpcache.PassThrough{Why: policy.NoValue, Detail: "no-store"})
	default:
		c.share(engine, why)
	}
}

// isPersonal reports whether the answer of a fallback is for the client alone.
func (c *call) isPersonal() bool { return !c.loc.Public && !c.loc.keyed.covers(c.x.Request.Fields) }

// forbidsStoring reports whether the request has no-store.
func (c *call) forbidsStoring() bool {
	var q policy.Request
	policy.ParseRequest(&q, c.x.Request.Method, c.x.Request.Fields, byKey)
	return q.Directives.Has(policy.NoStore)
}

// missing answers a miss without a fallback.
func (c *call) missing(why Reason) {
	status, words := http.StatusNotFound, "memcached has no such value, and there is no fallback"
	switch why {
	case ServerDown, ServerTimeout, ServerGarbled, ServerRefused:
		status, words = http.StatusServiceUnavailable, "memcached is unavailable, and there is no fallback"
	}
	wrapped := c.wrapsRefusal(status)
	if c.callback.Decided() {
		c.svc.metrics.wrapped(c.callback.Reason())
	}
	c.text = c.callback.AppendStatus(append(c.text[:0], "kasoku; fwd=miss; detail="+why.String()...))
	c.x.Reply.FieldBytes("Cache-Status", c.text)
	if wrapped {
		c.wrapRefusal(status)
		c.answered(why)
		return
	}
	c.refuse(status, why, words)
}

// pass answers a request that is not for memcached. loc is nil if why is NoLocation.
func (c *call) pass(why Reason) {
	fallback, reason := c.set.cfg.Fallback, policy.NoLocation
	if c.loc != nil {
		fallback, reason = c.loc.Fallback, policy.NotReading
	}
	if engine := c.set.fallback(fallback); engine != nil {
		c.forward(engine, why, &httpcache.PassThrough{Why: reason, Upgrade: c.loc == nil})
		return
	}
	if why == NoLocation {
		c.refuse(http.StatusNotFound, why, "there is no location for this path, and no fallback")
		return
	}
	c.x.Reply.Field("Allow", "GET, HEAD")
	c.refuse(http.StatusMethodNotAllowed, why, "memcached answers only GET and HEAD, and there is no fallback")
}

// forward passes the request unchanged to a fallback, for an answer of its own.
func (c *call) forward(engine *httpcache.Service, why Reason, p *httpcache.PassThrough) {
	if c.loc != nil {
		p.JSONP = c.loc.JSONP
	}
	defer c.recordFallback(why)()
	engine.Pass(c.x, p)
}

// share calls a fallback once for all requests that want the same.
func (c *call) share(engine *httpcache.Service, why Reason) {
	r := &c.x.Request
	r.Fields = slices.DeleteFunc(r.Fields, func(f http1.Field) bool { return f.Is("Range") || f.Is("If-Range") })
	p := c.plan(c.fill(engine))
	if why != Missing {
		p.Detail = why.String()
	}
	defer c.recordFallback(why)()
	engine.Read(c.x, p)
}

// plan returns the plan by which an engine answers with the result of f.
func (c *call) plan(f *filling) *httpcache.Plan {
	name := c.loc.appendNear(nil, c.wire)
	return &httpcache.Plan{
		Key: name, Options: byKey, Why: policy.NoValue, JSONP: c.loc.JSONP, Peers: &httpcache.Peering{Key: name},
		Shared: &httpcache.Shared{Ask: f.ask, Answer: f.answer, Join: f.join},
	}
}

// recordFallback prepares the record for an engine's answer. The function that it returns
// completes it.
func (c *call) recordFallback(why Reason) func() {
	r := &c.x.Record
	hash, key := r.KeyHash, r.Key
	return func() {
		r.Service, r.KeyHash, r.Key, r.Reason = c.svc.name, hash, key, why.Info().Name
		c.svc.metrics.forwarded(why, r.Decision)
	}
}
