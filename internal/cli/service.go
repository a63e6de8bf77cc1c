package cli

import (
	"fmt"
	"log/slog"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// service is what a node needs of a service, whatever that speaks.
//
// Life of a service: 1) newService makes it; nothing is served and nobody is asked
// yet. 2) listener says what its listeners are to be like; handler answers their
// requests. 3) A reload calls reconfigure, which may fail and then has changed
// nothing, and once nothing can fail any more, inForce. 4) Close is called once,
// after the last request was answered.
type service interface {
	admin.Service
	// reconfigure gives it what the configuration says of it now.
	reconfigure(c *config.Config, s *config.Service) error
	// handler is what answers requests on a listener of a service configured like s.
	handler(s *config.Service) edge.Handler
	// inForce is handler, once s holds.
	inForce(s *config.Service) edge.Handler
	// listener sets what is special about listeners of this service.
	listener(s *config.Service, ec *edge.Config)
	// origins names where it gets its answers from, for the log.
	origins(s *config.Service) string
	// pending lists the keys of s, with path before them, that wait for a restart.
	pending(c *config.Config, s *config.Service, path string) []string
	// Close lets go of what it holds.
	Close()
}

// newService makes what s asks for.
func (n *Node) newService(c *config.Config, s *config.Service, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (service, error) {
	switch s.Type {
	case "dynamodb":
		return newDynamo(n, c, s, space, registry, log)
	case "http":
		return newHTTP(n, s, space, registry, log)
	case "couchdb":
		return newCouch(s, space, registry, log)
	case "memcached":
		return newMemcached(c, s, space, registry, log)
	}
	return nil, fmt.Errorf("service %s: nothing here speaks %q", s.Name, s.Type)
}
