package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/local"
	"github.com/kasoku/kasoku/internal/dynamo/plain"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// dynamoService is a service of type dynamodb.
type dynamoService struct {
	*accel.Service
	node   *Node
	series *telemetry.Registry
	routes *plain.Handler // bbpd's routes, in front of the service; nil until first used
	calls  *jsonp.Filter  // for their answers; nil for none
	// namespaces are those of the embedded store; nil if there are none.
	namespaces atomic.Pointer[local.Namespaces]
}

func newDynamo(n *Node, c *config.Config, s *config.Service, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (service, error) {
	ac, err := n.accelConfig(c, s)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", s.Name, err)
	}
	d := &dynamoService{node: n, series: registry}
	if d.calls, err = jsonpFilter(s.DynamoDB.JSONP); err != nil {
		return nil, fmt.Errorf("service %s: %w", s.Name, err)
	}
	if d.Service, err = accel.New(ac, space, registry, log); err != nil {
		return nil, err
	}
	d.watchStore(c, s)
	return d, nil
}

func (d *dynamoService) reconfigure(c *config.Config, s *config.Service) error {
	ac, err := d.node.accelConfig(c, s)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	calls, err := jsonpFilter(s.DynamoDB.JSONP)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	if err := d.Reconfigure(ac); err != nil {
		return err
	}
	d.calls = calls
	d.watchStore(c, s)
	return nil
}

// Report implements admin.Service.
func (d *dynamoService) Report() admin.Report {
	r := d.Service.Report()
	if all := d.namespaces.Load(); all != nil {
		n := all.Len()
		r.Namespaces = &n
		r.Notes = append(r.Notes, fmt.Sprintf("%d of at most %d namespaces, and nothing is cached", n, maxNamespaces))
	}
	return r
}

func (d *dynamoService) warmer(*config.Service, net.Addr, bool) admin.Warmer { return d.Service }

// watchStore makes the embedded store report items that it removes itself to the service, and
// exposes its faults.
func (d *dynamoService) watchStore(c *config.Config, s *config.Service) {
	d.namespaces.Store(nil)
	if !s.DynamoDB.Origin.Embedded() {
		return
	}
	store, err := storeOf(c, s)
	if err != nil {
		return
	}
	d.node.stores.onExpiry(store, d.ItemRemoved())
	d.node.stores.use(store.at, func(open *openStore) {
		d.namespaces.Store(open.namespaces)
		if open.store != nil {
			exposeFaults(d.series, s.Name, "enforce_capacity", func() float64 { return float64(open.store.Faults().Throttled) })
		}
	})
}

// handler returns the service, or the plain-JSON routes in front of it. The routes are made
// only once, so that the figures of /Status survive reloads.
func (d *dynamoService) handler(s *config.Service) edge.Handler {
	if !s.DynamoDB.PlainJSON {
		return d.Service
	}
	if d.routes == nil {
		d.routes = plain.New(s.Name, d.Service, plainConfig(s.DynamoDB, d.calls))
	}
	return d.routes
}

func (d *dynamoService) inForce(s *config.Service) edge.Handler {
	h := d.handler(s)
	if d.routes != nil {
		d.routes.Configure(plainConfig(s.DynamoDB, d.calls))
	}
	return h
}

func (d *dynamoService) listener(_ *config.Service, ec *edge.Config) { ec.RateLimited = d.RateLimited }

func (d *dynamoService) pending(c *config.Config, s *config.Service, path string) []string {
	if !s.DynamoDB.Origin.Embedded() {
		return nil
	}
	if store, err := storeOf(c, s); err == nil && d.node.stores.differs(store) {
		return []string{path + ".origin"}
	}
	return nil
}

func (n *Node) accelConfig(c *config.Config, s *config.Service) (accel.Config, error) {
	d := s.DynamoDB
	ac := accel.Config{
		Name:         s.Name,
		HotKeys:      n.hotKeys,
		Region:       d.Region,
		Origin:       originConfig(string(d.Origin), s),
		Open:         d.Auth.Mode == "none",
		ItemTTL:      config.UsualItemTTL,
		QueryTTL:     d.QueryTTL.Std(),
		NegativeTTL:  d.NegativeTTL.Std(),
		RefreshAhead: float64(d.RefreshAhead),
		ExpireItems:  d.ExpireItems.Tables,
		Underscores:  s.UnderscoresInHeaders,

		Streams: streamMode(d.Streams), StreamsEnable: d.StreamsEnable, StreamsMaxLag: d.StreamsMaxLag.Std(),
		FollowedItemTTL: config.FollowedItemTTL,

		Ledger: n.ledger, Changes: n.tables.Changes(s.Name),
	}
	if ttl := std(d.ItemTTL); ttl != nil {
		ac.ItemTTL, ac.FollowedItemTTL = *ttl, *ttl
	}
	if d.Verify != nil {
		ac.Verify = accel.VerifyConfig{Rate: d.Verify.Rate.PerSecond(), Budget: float64(d.Verify.Budget), Through: d.Verify.Writes == "through"}
	}
	if d.Origin.Embedded() {
		store, err := storeOf(c, s)
		if err != nil {
			return accel.Config{}, err
		}
		ac.Origin.URL = "embedded:" + string(store.at)
		ac.Local, ac.Namespaced = true, store.namespaced
		ac.Streams = accel.StreamsOff // every write passes through this process
		ac.Connect = func(origin.Config) (accel.Origin, error) { return n.stores.openStore(store) }
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
		rule := accel.TableRule{
			Pattern: t.Pattern, Cache: &t.Cache,
			ItemTTL: std(t.ItemTTL), QueryTTL: std(t.QueryTTL), NegativeTTL: std(t.NegativeTTL),
			StreamsEnable: t.StreamsEnable, StreamsMaxLag: std(t.StreamsMaxLag),
		}
		if t.Streams != nil && !ac.Local {
			mode := streamMode(*t.Streams)
			rule.Streams = &mode
		}
		ac.Tables = append(ac.Tables, rule)
	}
	return ac, nil
}

func streamMode(m config.StreamMode) accel.StreamMode {
	return map[config.StreamMode]accel.StreamMode{"off": accel.StreamsOff, "on": accel.StreamsOn, "auto": accel.StreamsAuto}[m]
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

// originCredentials returns the credentials for signing requests to an origin. It does not
// fetch them yet.
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
