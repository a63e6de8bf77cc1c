package cli

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// service is the node's interface to a service of any type.
//
// Life of a service: 1) newService makes it; it serves nothing and makes no requests yet. 2)
// listener configures its listeners; handler answers their requests. 3) A reload calls
// reconfigure, which may fail without effect, and once nothing can fail any more, inForce.
// 4) Close is called once, after the last request.
type service interface {
	admin.Service
	// reconfigure applies a new configuration.
	reconfigure(c *config.Config, s *config.Service) error
	// handler returns the handler for a listener of a service configured like s.
	handler(s *config.Service) edge.Handler
	// inForce is handler, called once s is in effect.
	inForce(s *config.Service) edge.Handler
	// listener sets the listener options that are specific to this type of service.
	listener(s *config.Service, ec *edge.Config)
	// warmer returns the warmer of a service configured like s. at is the address of its
	// listener, and secure whether that is for TLS.
	warmer(s *config.Service, at net.Addr, secure bool) admin.Warmer
	// pending lists the keys of s, prefixed with path, whose new values need a restart.
	pending(c *config.Config, s *config.Service, path string) []string
	// Close releases all resources.
	Close()
}

// originNames returns the addresses of the service's origins.
func originNames(s *config.Service) (names []string) {
	switch {
	case s.DynamoDB != nil:
		return []string{s.DynamoDB.Origin.String()}
	case s.CouchDB != nil:
		return nodeURLs(s.CouchDB)
	case s.HTTP != nil:
		for _, o := range s.HTTP.Origins {
			names = append(names, o.URL.String())
		}
	case s.Memcached != nil:
		for i := range s.Memcached.Servers {
			names = append(names, s.Memcached.Servers[i].Address.String())
		}
	}
	return names
}

// newService makes the service that s configures.
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
	return nil, fmt.Errorf("service %s: unknown type %q", s.Name, s.Type)
}
