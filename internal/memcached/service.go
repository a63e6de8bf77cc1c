package memcached

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Service answers from memcached. It is an edge.Handler for a streaming server.
type Service struct {
	name      string
	space     *cache.Space // for copies in this process
	registry  *telemetry.Registry
	log       *slog.Logger
	metrics   *metrics
	tags      tagger
	calls     sync.Pool
	fallbacks fallbacks
	renewals  renewals

	// settings are replaced as a whole. changing serialises replacements.
	settings atomic.Pointer[settings]
	changing sync.Mutex
	retired  retired
}

var (
	_ edge.Handler  = (*Service)(nil)
	_ admin.Service = (*Service)(nil)
)

// New returns a service that keeps copies in space. Servers are not connected to before the
// first request.
func New(cfg Config, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (*Service, error) {
	s := &Service{
		name: cfg.Name, space: space, registry: registry, log: log.With(slog.String("service", cfg.Name)),
		metrics: newMetrics(registry, cfg.Name), tags: newTagger(cfg.Name),
	}
	s.calls.New = func() any { return newCall(s) }
	next, err := newSettings(cfg)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", s.name, err)
	}
	c, err := client.New(s.clientConfig(&cfg))
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", s.name, err)
	}
	if next.fallbacks, err = s.fallbacks.open(s, &cfg); err != nil {
		c.Close()
		return nil, err
	}
	next.setClient(c)
	c.Watch(nil)
	s.settings.Store(next)
	return s, nil
}

// clientConfig returns the configuration of the client.
func (s *Service) clientConfig(cfg *Config) client.Config {
	cc := cfg.Client
	cc.Name, cc.Metrics, cc.Log = s.name, s.registry, s.log
	return cc
}

// Reconfigure applies a new configuration to requests that begin later. Copies are kept, and
// so are connections unless their own settings have changed. On an error nothing has
// changed.
func (s *Service) Reconfigure(cfg Config) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	old := s.settings.Load()
	next, err := newSettings(cfg)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.name, err)
	}
	c := old.client
	if !sameClient(&cfg.Client, &old.cfg.Client) {
		if c, err = client.New(s.clientConfig(&cfg)); err != nil {
			return fmt.Errorf("service %s: %w", s.name, err)
		}
	}
	if next.fallbacks, err = s.fallbacks.open(s, &cfg); err != nil {
		if c != old.client {
			c.Close()
		}
		return err
	}
	next.setClient(c)
	s.settings.Store(next)
	if !sameValues(&cfg, &old.cfg) {
		s.forgetAll()
	}
	if c != old.client {
		c.Watch(old.client)
		s.retired.closeLater(old.client)
	}
	return nil
}

// Close closes all connections. No request is in flight any more.
func (s *Service) Close() {
	s.renewals.close()
	s.fallbacks.close()
	s.retired.close()
	s.settings.Load().client.Close()
}
