package couch

import (
	"fmt"
	"log/slog"

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
}

var (
	_ edge.Handler  = (*Service)(nil)
	_ admin.Service = (*Service)(nil)
)

// New makes a service that keeps its copies in space. It asks nodes nothing but
// whether they are well, until somebody asks for something.
func New(cfg Config, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (*Service, error) {
	cfg = cfg.withDefaults()
	engine, err := httpcache.New(engineConfig(&cfg), space, registry, log)
	if err != nil {
		return nil, fmt.Errorf("couchdb: %w", err)
	}
	return &Service{engine}, nil
}

// Reconfigure puts a new configuration in force for requests that begin from now on.
// What is kept survives. On an error nothing has changed.
func (s *Service) Reconfigure(cfg Config) error {
	cfg = cfg.withDefaults()
	return s.Service.Reconfigure(engineConfig(&cfg))
}

// engineConfig is the engine's part of the configuration.
func engineConfig(cfg *Config) httpcache.Config {
	h := cfg.HTTP
	h.Name, h.Policy = cfg.Name, policy.Defaults()
	h.Group.Members = nil
	for _, url := range cfg.Nodes {
		h.Group.Members = append(h.Group.Members, balance.Member{URL: url})
	}
	return h
}
