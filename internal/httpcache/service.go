package httpcache

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Config configures a service of type http.
type Config struct {
	// Name is the service's name in the configuration.
	Name string
	// Group configures the origins. The service sets its Name and Metrics; it logs a move
	// before it calls Moved.
	Group balance.Config
	// Drained are the members, by URL, that get no new requests.
	Drained map[string]bool
	// Policy holds the choices that the standards leave to a cache.
	Policy policy.Options
	// Forwarding configures the fields that describe the client to origins.
	Forwarding Forwarding
	// OriginHost sends each origin its own name in Host, in place of the client's.
	OriginHost bool
	// UncacheableTTL is the time for which requests do not wait for each other after an
	// answer that cannot be shared.
	UncacheableTTL time.Duration
	// MaxObject is the length in bytes of the longest body that is kept in memory. 0 means
	// the default of store.Limits.
	MaxObject int64
	// Disk stores bodies longer than DiskFrom, which survive the process, in a part of the
	// service's name. Nil: none are. It outlives the service, and Reconfigure does not
	// change it.
	Disk *disk.Tier
	// DiskFrom is the length in bytes above which bodies are stored on Disk.
	DiskFrom int64
	// Codings are the content codings in which stored text is offered.
	Codings []string
	// Scheme is the scheme of the URLs that clients request, http or https. A purge of the
	// other one is refused. Empty: both are accepted.
	Scheme string
	// JSONP wraps answers in the callback that a request names, and removes callbacks from
	// keys and from requests to origins. Nil: they are ordinary arguments.
	JSONP *jsonp.Filter
	// Credentials are the names of fields with credentials, besides Authorization and
	// Cookie. Answers to requests with one are wrapped only if JSONP is public.
	Credentials []string
	// Routes are the parts of the site by which requests are counted. Nil: records have none.
	Routes *Routes
	// Purgers are the addresses that may use the method PURGE. Nil: there is no such method.
	Purgers []netip.Prefix
	// PlanPeer is called for a request that another member of the cluster sends because this
	// one owns its key. It calls answer with the plan that Read would get for the request, or
	// not at all. Nil: requests are answered without a plan.
	PlanPeer func(x *edge.Exchange, answer func(*Plan))
}

// Service is a caching reverse proxy. It is an edge.Handler for a streaming server.
type Service struct {
	name     string
	id       string // identifies this process in Via
	store    *store.Store
	flights  *flight.Group
	space    *cache.Space
	budget   *inflight.Budget
	log      *slog.Logger
	registry *telemetry.Registry
	metrics  *metrics
	calls    sync.Pool
	settings atomic.Pointer[settings]
	drains   drains
	detached detachedWrites
	failures origin.FailureLog
	unasked  unaskedPaths
	unshare  func() // ends answers to other members
}

var _ edge.Handler = (*Service)(nil)

// settings are a configuration in force. They are immutable.
type settings struct {
	cfg     Config
	options policy.Options
	group   *balance.Group
	rules   uint64 // a hash of what answers to other members depend on
}

func newSettings(cfg Config, group *balance.Group) *settings {
	s := &settings{cfg: cfg, options: cfg.Policy, group: group}
	s.options.Keyed = cfg.Forwarding.keyed()
	if len(cfg.Policy.Encodings) > 0 {
		s.cfg.Forwarding.reduced = &s.options
	}
	s.rules = s.hashRules()
	return s
}

// New returns a service that keeps its objects in space. It sends nothing to the origins
// except health checks, if the group has any.
func New(cfg Config, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (*Service, error) {
	s := &Service{
		name: cfg.Name, id: fmt.Sprintf("kasoku-%08x", rand.Uint32()), space: space, budget: space.Cache().Budget(), registry: registry,
		log: log.With(slog.String("service", cfg.Name)), metrics: newMetrics(registry, cfg.Name),
	}
	s.detached.observe(registry, cfg.Name)
	s.calls.New = func() any { return newCall() }
	group, err := balance.New(s.group(&cfg))
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", cfg.Name, err)
	}
	s.drains.apply(group, &cfg)
	stored, flights := s.limits(&cfg)
	s.store = store.New(space, stored)
	s.store.Share(cfg.Name)
	s.flights = flight.NewGroup(s.store, space, flights)
	if cfg.Disk != nil {
		if err := s.store.OpenDisk(cfg.Disk, cfg.Name, &cfg.Policy); err != nil {
			group.Close()
			return nil, fmt.Errorf("service %s: %w", cfg.Name, err)
		}
	}
	s.observe()
	s.settings.Store(newSettings(cfg, group))
	noFetch, noWarm := space.Cache().OnFetch(cfg.Name, s.answerPeer), space.Cache().OnWarm(cfg.Name, warmer{s})
	s.unshare = func() { noFetch(); noWarm() }
	return s, nil
}

// group returns the configuration of the service's group.
func (s *Service) group(cfg *Config) balance.Config {
	g := cfg.Group
	g.Name, g.Metrics = s.name, s.registry
	onStateChange := g.OnStateChange
	g.OnStateChange = func(member, from, to, why string) {
		s.log.Warn("origin "+to, slog.String("origin", member), slog.String("before", from), slog.String("why", why))
		if onStateChange != nil {
			onStateChange(member, from, to, why)
		}
	}
	return g
}

// limits returns the limits of the store and of the flights. All fetches together hold at
// most a quarter of the service's memory.
func (s *Service) limits(cfg *Config) (store.Limits, flight.Limits) {
	maxHeld := min(max(int64(s.space.Usage().Memory/4), minFetching), maxFetching)
	stored := store.Limits{MaxObject: cfg.MaxObject, Codings: cfg.Codings, JSONP: cfg.JSONP, DiskFrom: cfg.DiskFrom}
	return stored, flight.Limits{MaxHeld: maxHeld}
}

const minFetching, maxFetching = 16 << 20, 256 << 20

// Reconfigure puts a new configuration in force for requests that begin from now on. Stored
// responses are kept. After an error nothing has changed.
func (s *Service) Reconfigure(cfg Config) error {
	s.drains.mu.Lock()
	defer s.drains.mu.Unlock()
	old := s.settings.Load()
	if err := old.group.Reconfigure(s.group(&cfg)); err != nil {
		return fmt.Errorf("service %s: %w", s.name, err)
	}
	s.drains.apply(old.group, &cfg)
	stored, flights := s.limits(&cfg)
	s.store.SetLimits(stored)
	s.flights.SetLimits(flights)
	s.settings.Store(newSettings(cfg, old.group))
	return nil
}

// Close ends all fetches and closes the connections to the origins.
func (s *Service) Close() {
	s.unshare()
	s.flights.Close()
	s.store.Close()
	s.settings.Load().group.Close()
}

// Serve answers one exchange.
func (s *Service) Serve(x *edge.Exchange) {
	c := s.startCall(x)
	defer c.finish()
	if c.checkConnection() && (c.isUpgrade() || c.admitCallback(c.set.cfg.JSONP)) {
		c.parse()
		c.dispatch()
	}
}

func (s *Service) startCall(x *edge.Exchange) *call {
	c := s.calls.Get().(*call)
	c.begin(s, x)
	return c
}

// checkConnection refuses a request that cannot be forwarded.
func (c *call) checkConnection() bool {
	fields := c.x.Request.Fields
	switch {
	case !c.connection.read(fields):
		c.reject(400, "Connection names a field that does not concern the connection alone, or too many")
		return false
	case isLoop(fields, c.svc.id):
		c.reject(508, "the request has looped: its Via names this server")
		return false
	}
	return true
}

// isUpgrade reports whether a request is for another protocol, in which nothing is wrapped.
func (c *call) isUpgrade() bool {
	return c.connection.upgrade && string(c.x.Request.Method) == http.MethodGet && c.x.BodyLength() == 0
}

// dispatch chooses the handling by the request's method and framing.
func (c *call) dispatch() {
	x := c.x
	switch {
	case c.isUpgrade():
		c.tunnel()
	case c.req.Reading() && x.BodyLength() == 0:
		c.read()
	case c.req.Reading():
		c.pass(policy.BodyPassed)
	case c.set.cfg.Purgers != nil && string(x.Request.Method) == "PURGE":
		c.purge()
	case c.req.Unsafe():
		c.write()
	default:
		c.pass(policy.NotReading)
	}
}

// read answers a GET or HEAD from what is stored, or from the origin.
func (c *call) read() {
	found := c.svc.store.FindRequested(&c.query)
	d := c.decide(&found)
	o := found.Object
	switch d.Action {
	case policy.Use:
		c.hit(o, policy.CacheStatus{Reason: d.Reason, Timed: true, TTL: d.TTL}, d.Age)
	case policy.UseAndRefresh:
		c.refresh(o)
		c.hit(o, policy.CacheStatus{Reason: d.Reason, Timed: true, TTL: d.TTL}, d.Age)
	case policy.Validate, policy.Forward:
		if d.Reason == policy.Invalidated && found.Object == nil && c.req.Method == policy.GET {
			if found.Object = c.svc.store.FindEmptied(&c.query); found.Object != nil {
				d.Action, c.progress.unconfirmed = policy.Validate, true
			}
		}
		c.askOrigin(found, d)
	case policy.GatewayTimeout:
		c.refuseOnlyIfCached(d.Reason)
	}
}

// decide returns whether and how the result of a look-up answers the request.
func (c *call) decide(found *store.Found) policy.Decision {
	if o := found.Object; o != nil {
		d := policy.Decide(&c.req, &o.Head.Response, o.Mark(), c.now, c.opt)
		if d.Reason == policy.PartMissing {
			c.findPart(found, &d)
		}
		return d
	}
	return decideMiss(&c.req, found, c.opt)
}

// decideMiss returns the decision when no stored response answers.
func decideMiss(r *policy.Request, found *store.Found, o *policy.Options) policy.Decision {
	d := policy.Absent(r, found.Miss == store.MissVary, o)
	switch {
	case d.Reason != policy.URIMiss:
	case found.Miss == store.MissRemoved:
		d.Reason = policy.Invalidated
	case found.Miss == store.MissIsolated:
		d.Reason = policy.Isolated
	}
	return d
}

// forwardReason returns the reason for asking the origin, considering markers of such
// requests.
func forwardReason(f *store.Found, why policy.Reason) policy.Reason {
	if f.Uncacheable && why == policy.URIMiss {
		return policy.KnownUncacheable
	}
	return why
}

// findPart finds another stored part that contains the requested range.
func (c *call) findPart(found *store.Found, d *policy.Decision) {
	if !c.req.Traits.Has(policy.HasRange) {
		return
	}
	c.svc.store.Parts(&c.query, func(o *store.Object) bool {
		if c.coveredBy(o) {
			found.Object = o
			*d = policy.Decide(&c.req, &o.Head.Response, o.Mark(), c.now, c.opt)
			return false
		}
		return true
	})
}

// refuseOnlyIfCached refuses a request that must not be sent to the origin.
func (c *call) refuseOnlyIfCached(why policy.Reason) {
	c.refuse(504, "nothing that is stored may be used, and the request forbids to ask the origin")
	c.count(why, nil)
}

// askOrigin gets the answer that is not stored from the origin.
func (c *call) askOrigin(found store.Found, d policy.Decision) {
	switch {
	case d.Reason == policy.CookiePassed, d.Reason == policy.PreconditionPassed:
		c.pass(d.Reason)
	case c.req.Method == policy.HEAD:
		c.readHead(found.Object, d.Reason)
	case d.Action == policy.Validate:
		c.fetch(found.Object, d.Reason, c.needsOwnAnswer(found.Object))
	default:
		why := forwardReason(&found, d.Reason)
		if c.req.Traits.Has(policy.HasRange) {
			c.readRange(&found, why)
			return
		}
		apart := found.Uncacheable || c.needsOwnAnswer(nil)
		if apart && c.isPlain() {
			c.fetchAlone(why, found.Until)
			return
		}
		c.fetch(nil, why, apart)
	}
}

// needsOwnAnswer reports whether a request cannot use the answer to another's, so that it
// should not wait for it.
func (c *call) needsOwnAnswer(seen *store.Object) bool {
	switch {
	case c.req.Traits.Has(policy.HasAuthorization), c.req.Directives.Has(policy.NoStore):
		return true
	case c.req.Directives.Has(policy.NoCache) && !c.opt.IgnoreRequestDirectives:
		return true
	}
	return seen != nil && (seen.Head.Response.Directives.Has(policy.NoCache) || seen.Head.Response.Lifetime <= 0)
}

// refresh validates a stale object in the background, once for all requests.
func (c *call) refresh(o *store.Object) {
	if !o.MayRefresh(c.now) {
		return
	}
	o.RefreshFailed(c.now.Add(time.Second)) // so that no other request does the same; the new object replaces o
	f := c.newFetch(o)
	f.background = true
	c.svc.flights.Refresh(&flight.Request{Query: &c.query, Seen: o, Fill: f.run})
}

// offerEncoded lets a response that will be stored be encoded, if the service offers
// codings.
func (s *settings) offerEncoded(h *store.Head, length int64, stored bool) {
	if stored && len(s.cfg.Codings) > 0 {
		h.Offer(length)
	}
}
