package cli

import (
	"log/slog"
	"net"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/couch"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// couchService is a service of type couchdb.
type couchService struct {
	*couch.Service
	proxied bool // value at creation: whether connections begin with the PROXY protocol
}

func newCouch(s *config.Service, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (service, error) {
	svc, err := couch.New(couchConfig(s), space, registry, log)
	if err != nil {
		return nil, err
	}
	return &couchService{Service: svc, proxied: s.CouchDB.ProxyProtocol}, nil
}

func (n *couchService) reconfigure(_ *config.Config, s *config.Service) error {
	return n.Reconfigure(couchConfig(s))
}

func (n *couchService) handler(*config.Service) edge.Handler        { return n.Service }
func (n *couchService) inForce(*config.Service) edge.Handler        { return n.Service }
func (n *couchService) listener(_ *config.Service, ec *edge.Config) { setStreaming(ec, n.proxied) }

func (n *couchService) warmer(s *config.Service, at net.Addr, secure bool) admin.Warmer {
	return newURLWarmer(s, at, secure, n.proxied)
}

func (n *couchService) pending(_ *config.Config, s *config.Service, path string) []string {
	return pendingProxy(path, n.proxied, s.CouchDB.ProxyProtocol)
}

// nodeURLs returns the nodes' addresses, which name the members of the group.
func nodeURLs(c *config.CouchDB) (urls []string) {
	for _, u := range c.Nodes {
		urls = append(urls, strings.TrimSuffix(u.String(), "/"))
	}
	return urls
}

func couchConfig(s *config.Service) couch.Config {
	c := s.CouchDB
	cc := couch.Config{
		Name: s.Name, Nodes: nodeURLs(c), User: c.Auth.Username, Password: c.Auth.Password(),
		Writes: c.Writes, Follow: c.FollowChanges, MaxUnfollowed: c.MaxUnfollowed.Std(), MaxLag: c.MaxLag.Std(),
		VisibleTTL: c.VisibleTTL.Std(), MaxDatabases: c.MaxDatabases, Buffer: int64(c.Buffer),
		HTTP: httpcache.Config{Group: reachConfig(s, &c.Reach), JSONP: mustJSONPFilter(c.JSONP)},
	}
	if r := c.Replicate; r != nil {
		cc.Replicate = couch.Replicate{Databases: r.Databases, Both: r.Direction == "both"}
	}
	g := &cc.HTTP.Group
	g.Transport.HeadTimeout, g.Transport.StallTimeout = c.FirstByteTimeout.Std(), c.StallTimeout.Std()
	setPassing(&cc.HTTP, &c.Passing)
	return cc
}
