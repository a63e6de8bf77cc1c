package cli

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/memcached"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

type memcachedService struct {
	*memcached.Service
	proxied bool // value at creation: whether connections begin with the PROXY protocol
	keys    atomic.Pointer[locator]
}

var _ admin.Ringer = (*memcachedService)(nil)

func newMemcached(c *config.Config, s *config.Service, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (service, error) {
	mc, err := memcachedConfig(c, s)
	if err != nil {
		return nil, err
	}
	svc, err := memcached.New(mc, space, registry, log)
	if err != nil {
		return nil, err
	}
	v := &memcachedService{Service: svc, proxied: s.Memcached.ProxyProtocol}
	v.setRing(s)
	return v, nil
}

// setRing makes Ring use the servers of s. The configuration has been checked.
func (v *memcachedService) setRing(s *config.Service) {
	if l, err := newLocator(s.Memcached); err == nil {
		v.keys.Store(l)
	}
}

// Ring returns the server of a key.
func (v *memcachedService) Ring(key string) admin.RingPlace {
	place, _ := v.keys.Load().find(key)
	return place
}

func (v *memcachedService) reconfigure(c *config.Config, s *config.Service) error {
	mc, err := memcachedConfig(c, s)
	if err != nil {
		return err
	}
	return v.Reconfigure(mc)
}

func (v *memcachedService) handler(*config.Service) edge.Handler        { return v.Service }
func (v *memcachedService) listener(_ *config.Service, ec *edge.Config) { setStreaming(ec, v.proxied) }

func (v *memcachedService) inForce(s *config.Service) edge.Handler {
	v.setRing(s)
	return v.Service
}

func (v *memcachedService) warmer(s *config.Service, at net.Addr, secure bool) admin.Warmer {
	return newURLWarmer(s, at, secure, v.proxied)
}

func (v *memcachedService) pending(_ *config.Config, s *config.Service, path string) []string {
	return pendingProxy(path, v.proxied, s.Memcached.ProxyProtocol)
}

// memcachedConfig returns the configuration for s.
func memcachedConfig(c *config.Config, s *config.Service) (memcached.Config, error) {
	m := s.Memcached
	mc := memcached.Config{Name: s.Name, Ring: m.RingConfig(), Rules: m.Rules(), Failover: m.Failover}
	var err error
	if mc.Values, err = value.Parse(m.Values); err != nil {
		return mc, fmt.Errorf("service %s: %w", s.Name, err)
	}
	if mc.Client, err = clientConfig(c, m); err != nil {
		return mc, fmt.Errorf("service %s: %w", s.Name, err)
	}
	b := backends{service: s}
	mc.Fallback = b.number(m.Fallback)
	for i := range m.Locations {
		l, err := location(&m.Locations[i])
		if err != nil {
			return mc, fmt.Errorf("service %s: location %s: %w", s.Name, m.Locations[i].Path, err)
		}
		if l.Fallback = mc.Fallback; m.Locations[i].Fallback != nil {
			l.Fallback = b.number(m.Locations[i].Fallback)
		}
		mc.Locations = append(mc.Locations, l)
	}
	mc.Fallbacks = b.configs
	return mc, nil
}

// protocols maps the configuration's names to the protocols of servers.
var protocols = map[string]client.Protocol{"auto": client.Auto, "text": client.Text, "meta": client.Meta, "binary": client.Binary}

func clientConfig(c *config.Config, m *config.Memcached) (client.Config, error) {
	protocol, known := protocols[m.Protocol]
	if !known {
		return client.Config{}, fmt.Errorf("there is no protocol %q", m.Protocol)
	}
	cc := client.Config{
		Protocol:    protocol,
		Connections: m.Connections, ConnectTimeout: m.ConnectTimeout.Std(), FirstByteTimeout: m.FirstByteTimeout.Std(),
		Timeout: m.Timeout.Std(), MaxValue: int64(m.MaxValue),
		Breaker: client.Breaker{Failures: m.ServerBreaker.Failures, RetryEvery: m.ServerBreaker.RetryEvery.Std()},
	}
	if m.Auth.Username != "" {
		cc.Auth = &client.Auth{User: m.Auth.Username, Password: m.Auth.Password()}
	}
	secure, err := serverTLS(c, m.ServerTLS)
	if err != nil {
		return cc, err
	}
	for i := range m.Servers {
		s := client.Server{Address: m.Servers[i].Address.String()}
		if m.Servers[i].TLS {
			s.TLS = secure
		}
		cc.Servers = append(cc.Servers, s)
	}
	return cc, nil
}

// serverTLS returns the TLS configuration for connections to servers.
func serverTLS(c *config.Config, t *config.ServerTLS) (*tls.Config, error) {
	if t == nil {
		t = &config.ServerTLS{}
	}
	return clientTLS(c, t.ServerName, t.CA, t.Cert, t.Key)
}

// backends collects the different fallbacks of a service.
type backends struct {
	service *config.Service
	configs []httpcache.Config
}

// number returns the index of a list of fallbacks.
func (b *backends) number(list []config.HTTPOrigin) int {
	if len(list) == 0 {
		return memcached.None
	}
	next := b.config(list)
	if i := slices.IndexFunc(b.configs, func(c httpcache.Config) bool { return reflect.DeepEqual(c, next) }); i >= 0 {
		return i
	}
	b.configs = append(b.configs, next)
	return len(b.configs) - 1
}

// config returns the configuration of balancing and connections for a list.
func (b *backends) config(list []config.HTTPOrigin) httpcache.Config {
	m := b.service.Memcached
	h := &m.Backend
	hc := httpcache.Config{Group: reachConfig(b.service, &h.Reach), Drained: map[string]bool{}, OriginHost: h.Host == "origin"}
	setPassing(&hc, &m.Passing)
	g := &hc.Group
	g.Retry.Statuses = h.RetryStatuses
	g.Transport.HeadTimeout, g.Transport.StallTimeout = h.FirstByteTimeout.Std(), h.StallTimeout.Std()
	for _, o := range list {
		g.Members = append(g.Members, balance.Member{URL: address(o), Weight: float64(o.Weight)})
		hc.Drained[address(o)] = o.Drain
	}
	return hc
}

func location(l *config.Location) (memcached.Location, error) {
	out := memcached.Location{
		Path: l.Path, Key: l.Key, Decode: l.KeyDecode == "decoded", ContentType: l.ContentType, ETag: l.ETag,
		NearTTL: l.NearTTL.Std(), NegativeTTL: l.NegativeTTL.Std(), Public: l.Public,
	}
	for _, h := range l.Headers {
		out.Headers = append(out.Headers, memcached.Header{Name: h.Name, Value: h.Value})
	}
	switch l.CacheControl {
	case "":
		out.CacheControl = "no-cache"
	case "none":
	case "ttl":
		out.CacheControl, out.Lifetime = "no-cache", true
	default:
		out.CacheControl = l.CacheControl
	}
	if t := l.Store; t != nil {
		out.Store = &memcached.Store{TTL: t.TTL.Std(), Stale: t.Stale.Std(), Replace: t.Mode == "set", MaxSize: int64(t.MaxSize)}
	}
	var err error
	out.JSONP, err = jsonpFilter(l.JSONP)
	return out, err
}
