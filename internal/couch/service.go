package couch

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Service accelerates CouchDB nodes. It is an edge.Handler for a streaming server.
type Service struct {
	*httpcache.Service // the engine

	cache    *cache.Cache
	registry *telemetry.Registry
	log      *slog.Logger
	fleet    atomic.Pointer[fleet]
}

var (
	_ edge.Handler  = (*Service)(nil)
	_ admin.Service = (*Service)(nil)
)

// New makes a service that keeps its copies in space. It asks nodes whether they are
// well and looks after the replications; databases are followed when somebody asks
// for something of them.
func New(cfg Config, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (*Service, error) {
	cfg = cfg.withDefaults()
	s := &Service{cache: space.Cache(), registry: registry, log: log.With(slog.String("service", cfg.Name))}
	f, err := newFleet(&cfg, s.cache, registry, s.log)
	if err != nil {
		return nil, fmt.Errorf("couchdb: %w", err)
	}
	s.fleet.Store(f)
	if s.Service, err = httpcache.New(s.engineConfig(&cfg), space, registry, log); err != nil {
		f.close()
		return nil, fmt.Errorf("couchdb: %w", err)
	}
	return s, nil
}

// Reconfigure puts a new configuration in force for requests that begin from now on.
// What is kept survives, unless other nodes are followed or otherwise. On an error
// nothing has changed.
func (s *Service) Reconfigure(cfg Config) error {
	cfg = cfg.withDefaults()
	old := s.fleet.Load()
	if old.serves(&cfg) {
		return s.Service.Reconfigure(s.engineConfig(&cfg))
	}
	f, err := newFleet(&cfg, s.cache, s.registry, s.log)
	if err != nil {
		return fmt.Errorf("couchdb: %w", err)
	}
	s.fleet.Store(f)
	if err := s.Service.Reconfigure(s.engineConfig(&cfg)); err != nil {
		s.fleet.Store(old)
		f.close()
		return err
	}
	f.see(s.Members())
	old.close()
	return nil
}

// Close ends what is being fetched and followed.
func (s *Service) Close() {
	s.Service.Close()
	s.fleet.Load().close()
}

// Report reads the service's present state.
func (s *Service) Report() admin.Report {
	r := s.Service.Report()
	r.Type, r.Notes = "couchdb", append(r.Notes, s.fleet.Load().notes()...)
	return r
}

// moved is told what becomes of a node.
func (s *Service) moved(member, from, to, why string) { s.fleet.Load().moved(member, from, to, why) }

// engineConfig is the engine's part of the configuration.
func (s *Service) engineConfig(cfg *Config) httpcache.Config {
	h := cfg.HTTP
	h.Name, h.Policy = cfg.Name, policy.Defaults()
	h.Group.Members = nil
	for _, url := range cfg.Nodes {
		h.Group.Members = append(h.Group.Members, balance.Member{URL: url})
	}
	watchHealth(&h.Group)
	h.Group.Moved = s.moved
	return h
}
