package cli

import (
	"crypto/tls"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
)

// This file says what each part of the configuration means for the packages
// that do the work.

// cacheConfig takes the longest settle and quarantine of all services: the
// generations that they guard are shared.
func cacheConfig(c *config.Config) cache.Config {
	cc := cache.Config{Memory: int64(c.Cache.Limit()), Generations: c.Cache.Generations}
	cc.Settle, cc.Quarantine = settleTimes(c)
	for i := range c.Services {
		// A fill outlives the request that began it, not its time.
		cc.FillTimeout = max(cc.FillTimeout, c.Services[i].Limits.RequestTimeout.Std())
	}
	return cc
}

// unsafeQuarantine is how long nothing is kept of what a write passed on by a service
// of type http or couchdb may have touched, if its outcome is not known.
const unsafeQuarantine = 30 * time.Second

func settleTimes(c *config.Config) (settle, quarantine time.Duration) {
	for i := range c.Services {
		if d := c.Services[i].DynamoDB; d != nil {
			if d.Origin.Embedded() == "" {
				settle = max(settle, d.Settle.Std())
			}
			quarantine = max(quarantine, d.Quarantine.Std())
		}
		if c.Services[i].HTTP != nil || c.Services[i].CouchDB != nil {
			quarantine = max(quarantine, unsafeQuarantine)
		}
	}
	// The cache takes 0 for its default; a nanosecond is nothing.
	return max(settle, 1), max(quarantine, 1)
}

func edgeLimits(l *config.Limits) edge.Limits {
	return edge.Limits{
		Connections:          l.Connections,
		ConnectionsPerClient: l.PerClient(),
		HeaderBytes:          int(l.HeaderBytes),
		BodyBytes:            int(l.BodyBytes),
		HeaderTimeout:        l.HeaderTimeout.Std(),
		BodyTimeout:          l.BodyTimeout.Std(),
		WriteTimeout:         l.WriteTimeout.Std(),
		IdleTimeout:          l.IdleTimeout.Std(),
		UnauthenticatedIdle:  l.UnauthenticatedIdle.Std(),
		RequestTimeout:       l.RequestTimeout.Std(),
		RequestsPerSecond:    l.RequestsPerSecond,
	}
}

func adminLimits(l *config.AdminLimits) admin.Limits {
	return admin.Limits{
		Connections:          l.Connections,
		ConnectionsPerClient: l.PerClient(),
		UnauthenticatedIdle:  l.UnauthenticatedIdle.Std(),
	}
}

func breakerConfig(b *config.Breaker) origin.Breaker {
	return origin.Breaker{
		Disabled: !b.Enabled, FailureRate: b.Failures, MinRequests: b.Requests,
		Window: b.Window.Std(), Delay: b.OpenFor.Std(), Probes: b.Probes,
	}
}

func originConfig(url string, s *config.Service) origin.Config {
	c := s.Concurrency
	oc := origin.Config{
		Name:    s.Name,
		URL:     url,
		Timeout: s.OriginTimeout.Std(),
		Retry: origin.Retry{
			Attempts: s.Retry.Attempts, BudgetRatio: s.Retry.Budget, BudgetMin: s.Retry.BudgetMin,
			Base: s.Retry.Base.Std(), Cap: s.Retry.Cap.Std(),
		},
		Breaker: breakerConfig(&s.Breaker),
		Concurrency: origin.Concurrency{
			Disabled: !c.Enabled, Min: c.Min, Max: c.Max, Initial: c.Initial, Queue: c.Queue, MaxWait: c.MaxWait.Std(),
		},
	}
	if c.Queue == 0 {
		oc.Concurrency.Queue = -1 // there, 0 stands for the default
	}
	return oc
}

// certificates are a listener's; a reload may put other files in their place.
type certificates struct {
	cur atomic.Pointer[certificate]
}

// certificate is immutable but for what its reloader has read last.
type certificate struct {
	files    config.TLS // with resolved paths
	reloader *edge.CertReloader
	config   *tls.Config
}

func newCertificate(c *config.Config, t *config.TLS) (*certificate, error) {
	files := config.TLS{Cert: c.Resolve(t.Cert), Key: c.Resolve(t.Key), ClientCA: c.Resolve(t.ClientCA)}
	r, err := edge.NewCertReloader(files.Cert, files.Key, files.ClientCA)
	if err != nil {
		return nil, err
	}
	conf := r.Config()
	conf.NextProtos = []string{"h2", "http/1.1"}
	return &certificate{files: files, reloader: r, config: conf}, nil
}

// serverConfig follows the certificate in use.
func (c *certificates) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			conf := c.cur.Load().config
			if conf.GetConfigForClient != nil {
				return conf.GetConfigForClient(hello)
			}
			return conf, nil
		},
	}
}
