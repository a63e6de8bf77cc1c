package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
)

// This file says what each part of the configuration means for the packages
// that do the work.

// cacheConfig takes the longest settle and quarantine of all services: the
// generations that they guard are shared.
func cacheConfig(c *config.Config) cache.Config {
	cc := cache.Config{Memory: int64(c.Cache.Limit()), Generations: c.Cache.Generations}
	cc.Settle, cc.Quarantine = settling(c)
	for i := range c.Services {
		// A fill outlives the request that began it, not its time.
		cc.FillTimeout = max(cc.FillTimeout, c.Services[i].Limits.RequestTimeout.Std())
	}
	return cc
}

func settling(c *config.Config) (settle, quarantine time.Duration) {
	for i := range c.Services {
		if d := c.Services[i].DynamoDB; d != nil {
			if d.Origin.Embedded() == "" {
				settle = max(settle, d.Settle.Std())
			}
			quarantine = max(quarantine, d.Quarantine.Std())
		}
	}
	// The cache takes 0 for its default; a nanosecond is nothing.
	return max(settle, 1), max(quarantine, 1)
}

func edgeLimits(l *config.Limits) edge.Limits {
	return edge.Limits{
		Connections:       l.Connections,
		HeaderBytes:       int(l.HeaderBytes),
		BodyBytes:         int(l.BodyBytes),
		HeaderTimeout:     l.HeaderTimeout.Std(),
		BodyTimeout:       l.BodyTimeout.Std(),
		WriteTimeout:      l.WriteTimeout.Std(),
		IdleTimeout:       l.IdleTimeout.Std(),
		RequestTimeout:    l.RequestTimeout.Std(),
		RequestsPerSecond: l.RequestsPerSecond,
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
		Breaker: origin.Breaker{
			Disabled: !s.Breaker.Enabled, FailureRate: s.Breaker.Failures, MinRequests: s.Breaker.Requests,
			Window: s.Breaker.Window.Std(), Delay: s.Breaker.OpenFor.Std(), Probes: s.Breaker.Probes,
		},
		Concurrency: origin.Concurrency{
			Disabled: !c.Enabled, Min: c.Min, Max: c.Max, Initial: c.Initial, Queue: c.Queue, MaxWait: c.MaxWait.Std(),
		},
	}
	if c.Queue == 0 {
		oc.Concurrency.Queue = -1 // there, 0 stands for the default
	}
	return oc
}

func (n *Node) accelConfig(c *config.Config, s *config.Service) (accel.Config, error) {
	d := s.DynamoDB
	ac := accel.Config{
		Name:         s.Name,
		Region:       d.Region,
		Origin:       originConfig(string(d.Origin), s),
		Open:         d.Auth.Mode == "none",
		ItemTTL:      d.ItemTTL.Std(),
		QueryTTL:     d.QueryTTL.Std(),
		NegativeTTL:  d.NegativeTTL.Std(),
		RefreshAhead: float64(d.RefreshAhead),
		ExpireItems:  d.ExpireItems.Tables,
	}
	if d.Origin.Embedded() != "" {
		store := storeConfig(c, d)
		ac.Origin.URL = "embedded:" + store.Dir
		ac.Local = true
		ac.Connect = func(origin.Config) (accel.Origin, error) { return n.stores.connect(store) }
	} else {
		var err error
		if ac.Credentials, err = originCredentials(string(d.Origin)); err != nil {
			return accel.Config{}, err
		}
	}
	for i := range d.Auth.Keys {
		k := &d.Auth.Keys[i]
		ac.Keys = append(ac.Keys, accel.Key{ID: k.ID, Secret: k.Secret(), Tables: k.Tables, Allow: access(k.Allow)})
	}
	for i := range d.Tables {
		t := &d.Tables[i]
		ac.Tables = append(ac.Tables, accel.TableRule{
			Pattern: t.Pattern, Cache: &t.Cache,
			ItemTTL: std(t.ItemTTL), QueryTTL: std(t.QueryTTL), NegativeTTL: std(t.NegativeTTL),
		})
	}
	return ac, nil
}

func storeConfig(c *config.Config, d *config.DynamoDB) embedded.Config {
	return embedded.Config{Dir: c.Resolve(d.Origin.Embedded()), Region: d.Region, NoSync: !d.Sync}
}

func std(d *config.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	s := d.Std()
	return &s
}

func access(words []string) []wire.Access {
	var list []wire.Access
	for _, w := range words {
		list = append(list, map[string]wire.Access{"read": wire.Read, "write": wire.Write, "admin": wire.Admin}[w])
	}
	return list
}

// originCredentials are what an origin's requests are signed with. Nobody is asked
// for them yet.
func originCredentials(origin string) (aws.CredentialsProvider, error) {
	u, err := url.Parse(origin)
	if err != nil {
		return nil, fmt.Errorf("origin %s: %w", origin, err)
	}
	p, err := sigv4.DefaultCredentials(context.Background(), u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("find credentials for origin %s: %w", origin, err)
	}
	return p, nil
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
