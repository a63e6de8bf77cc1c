package cli

import (
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
)

// This file translates each part of the configuration for the package that implements it.

// cacheConfig uses the longest settle and quarantine times of all services, which share the
// generations that the times guard.
func cacheConfig(c *config.Config) cache.Config {
	cc := cache.Config{Memory: int64(c.Cache.Limit()), Generations: c.Cache.Generations}
	cc.Settle, cc.Quarantine = settleTimes(c)
	for i := range c.Services {
		// A fill may outlive the request that started it, but not the request's timeout.
		cc.FillTimeout = max(cc.FillTimeout, c.Services[i].Limits.RequestTimeout.Std())
	}
	return cc
}

// unsafeQuarantine is the time for which nothing is cached that a write of unknown outcome
// may have changed, for services of type http or couchdb.
const unsafeQuarantine = 30 * time.Second

func settleTimes(c *config.Config) (settle, quarantine time.Duration) {
	for i := range c.Services {
		if d := c.Services[i].DynamoDB; d != nil {
			if !d.Origin.Embedded() {
				settle = max(settle, d.Settle.Std())
			}
			quarantine = max(quarantine, d.Quarantine.Std())
		}
		if c.Services[i].HTTP != nil || c.Services[i].CouchDB != nil {
			quarantine = max(quarantine, unsafeQuarantine)
		}
	}
	// The cache takes 0 for its default; a nanosecond is as good as nothing.
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
		oc.Concurrency.Queue = -1 // in balance, 0 means the default
	}
	return oc
}
