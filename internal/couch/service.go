package couch

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/couch/feed"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Service accelerates CouchDB nodes. It is an edge.Handler for a streaming server.
type Service struct {
	name     string
	engine   *httpcache.Service
	registry *telemetry.Registry
	log      *slog.Logger

	// Copies, permissions and their tags.
	cache     *cache.Cache
	authSpace *cache.Space // of settings.auth
	tagger    follow.Tagger

	// State of requests.
	calls    sync.Pool
	sessions sessions
	security *security

	// settings is replaced as a whole. changing serializes that, and is acquired before
	// any lock of the engine or of the fleet.
	settings atomic.Pointer[settings]
	changing sync.Mutex
}

var (
	_ edge.Handler  = (*Service)(nil)
	_ admin.Drainer = (*Service)(nil)
)

// settings is the state of one configuration. It is immutable.
type settings struct {
	cfg   Config
	fleet *fleet
	auth  *auth.Cache
}

// table returns the databases in use; nil if databases are not cached.
func (s *settings) table() *follow.Table { return s.fleet.table }

// New returns a service that stores its copies in space. It starts health checks and
// replications at once, and follows a database when a client requests something of it.
func New(cfg Config, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (*Service, error) {
	s := &Service{
		name: cfg.Name, cache: space.Cache(), registry: registry, log: log.With(slog.String("service", cfg.Name)),
		tagger: follow.NewTagger(cfg.Name),
	}
	s.calls.New = func() any { return newCall(s) }
	s.security = newSecurity(s)
	cfg, err := cfg.validate()
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", s.name, err)
	}
	if s.authSpace, err = s.cache.NewSpace(0); err != nil {
		return nil, fmt.Errorf("service %s: %w", s.name, err)
	}
	f, err := newFleet(&cfg, s.cache, registry, s.log)
	if err != nil {
		return nil, fmt.Errorf("couchdb: %w", err)
	}
	s.settings.Store(s.newSettings(cfg, f))
	if s.engine, err = httpcache.New(s.engineConfig(&cfg), space, registry, log); err != nil {
		f.close()
		return nil, fmt.Errorf("couchdb: %w", err)
	}
	s.observe()
	s.cache.OnBroadcast(s.broadcastName(), s.receive)
	s.security.running.Go(func() { s.compareUsers(s.security.stopping) })
	for _, db := range cfg.Replicate.Databases {
		s.security.compareLater(f, db)
	}
	return s, nil
}

// observe registers the metrics of shared feeds.
func (s *Service) observe() {
	feedGauge := func(of func(feed.Stats) float64) func() float64 {
		return func() float64 { return of(s.settings.Load().fleet.feeds.Stats()) }
	}
	s.registry.Gauge("kasoku_couch_shared_feeds", "Feeds of nodes that are shared by clients' live feeds.",
		feedGauge(func(t feed.Stats) float64 { return float64(t.Feeds) }), "service", s.name)
	s.registry.Gauge("kasoku_couch_feed_clients", "Clients of shared live feeds.",
		feedGauge(func(t feed.Stats) float64 { return float64(t.Clients) }), "service", s.name)
	s.registry.CounterFunc("kasoku_couch_feed_pages_total", "Pages of normal feeds that were read for clients whose position was older than the rows of a shared feed, or that had fallen behind.",
		feedGauge(func(t feed.Stats) float64 { return float64(t.Pages) }), "service", s.name)
}

// newSettings returns the settings of a configuration.
func (s *Service) newSettings(cfg Config, f *fleet) *settings {
	return &settings{cfg, f, auth.NewCache(s.authSpace, auth.Config{Service: s.name, TTL: cfg.VisibleTTL})}
}

// Reconfigure applies a configuration to the requests that begin from now on. Copies survive
// unless other nodes are followed, or in another way. After an error nothing has changed.
func (s *Service) Reconfigure(cfg Config) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	cfg, err := cfg.validate()
	if err != nil {
		return fmt.Errorf("service %s: %w", s.name, err)
	}
	old := s.settings.Load()
	if old.fleet.matches(&cfg) {
		return s.reconfigure(cfg, old.fleet)
	}
	stage := s.registry.Stage()
	f, err := newFleet(&cfg, s.cache, stage, s.log)
	if err != nil {
		stage.Rollback()
		return fmt.Errorf("couchdb: %w", err)
	}
	f.recentWrites.copyFrom(&old.fleet.recentWrites, f.indexes(old.fleet))
	if err := s.reconfigure(cfg, f); err != nil {
		f.close()
		stage.Rollback()
		return err
	}
	stage.Commit()
	f.adoptStates(s.engine.Members)
	old.fleet.close()
	old.fleet.unregister(s.registry, f)
	return nil
}

// reconfigure applies a configuration with a suitable fleet.
func (s *Service) reconfigure(cfg Config, f *fleet) error {
	old := s.settings.Load()
	s.settings.Store(s.newSettings(cfg, f))
	if err := s.engine.Reconfigure(s.engineConfig(&cfg)); err != nil {
		s.settings.Store(old)
		return err
	}
	return nil
}

// Close stops all fetches and feeds.
func (s *Service) Close() {
	s.cache.OnBroadcast(s.broadcastName(), nil)
	s.engine.Close()
	s.security.close()
	s.settings.Load().fleet.close()
	s.authSpace.Close()
}

// memberMoved is called by the balancer when the state of a node changes.
func (s *Service) memberMoved(member, from, to, why string) {
	s.settings.Load().fleet.memberMoved(member, from, to, why)
	if to == "up" {
		s.security.wake()
	}
}

// engineConfig returns the configuration of the engine.
func (s *Service) engineConfig(cfg *Config) httpcache.Config {
	h := cfg.HTTP
	h.Name, h.Policy = cfg.Name, policy.Defaults()
	h.Credentials = userFields
	h.PlanPeer = s.planPeer
	h.Disk = nil // after a restart, the changes meanwhile would be unknown
	g := &h.Group
	g.Members = nil
	for _, url := range cfg.Nodes {
		g.Members = append(g.Members, balance.Member{URL: url})
	}
	if g.Retry.Statuses == nil {
		g.Retry.Statuses = []int{500, 502, 503, 504}
	}
	g.Transport.BothFramings = true // pouchdb-server's lists have both
	setHealthChecks(g)
	g.OnStateChange = s.memberMoved
	return h
}
