package memcached

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/ring"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

// site is a service with its servers.
type site struct {
	t        testing.TB
	cfg      Config
	servers  []*memcachedtest.Server
	cache    *cache.Cache
	registry *telemetry.Registry
	svc      *Service
}

// newSite starts servers, and returns a site with these locations, which is not started yet.
func newSite(t testing.TB, servers int, locations ...Location) *site {
	t.Helper()
	s := &site{t: t, registry: telemetry.NewRegistry()}
	s.cfg = Config{
		Name: "counts", Ring: ring.Config{Name: "crc-buckets"}, Fallback: None, Locations: locations,
		// A loaded machine must not cause timeouts.
		Client: client.Config{ConnectTimeout: time.Minute, FirstByteTimeout: time.Minute, Timeout: time.Minute},
	}
	for range servers {
		m := memcachedtest.Start(t, true)
		s.servers = append(s.servers, m)
		s.cfg.Client.Servers = append(s.cfg.Client.Servers, client.Server{Address: m.Address()})
		s.cfg.Ring.Servers = append(s.cfg.Ring.Servers, ring.Server{Label: m.Address(), Weight: 1})
	}
	return s
}

// start creates the service.
func (s *site) start() *site {
	s.t.Helper()
	var err error
	if s.cache, err = cache.New(cache.Config{Memory: 8 << 20, Generations: 1 << 10}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.cache.Close)
	space, err := s.cache.NewSpace(0)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.svc, err = New(s.cfg, space, s.registry, slog.New(slog.DiscardHandler)); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.svc.Close)
	return s
}

// set stores a value where the service looks for it.
func (s *site) set(key, value string, flags uint32, ttl time.Duration) {
	s.server(key).Set(s.cfg.Rules.Namespace+key, value, flags, ttl)
}

// server returns the server of a key without the namespace.
func (s *site) server(key string) *memcachedtest.Server {
	return s.servers[s.svc.settings.Load().ring.Find([]byte(key))]
}

// request returns an exchange without a connection. what is a method and a target, and fields
// are names and values.
func request(what string, fields ...string) *edge.Exchange { return later(0, what, fields...) }

// later is request for a request that arrives after d.
func later(d time.Duration, what string, fields ...string) *edge.Exchange {
	method, target, _ := strings.Cut(what, " ")
	r := http1.Request{Method: []byte(method), Target: []byte(target), Fields: http1.FieldsOf(fields...)}
	path, query, found := strings.Cut(target, "?")
	if r.Path = []byte(path); found {
		r.RawQuery = []byte(query)
	}
	r.Host = r.Fields.Get("Host")
	return edge.Detached(context.Background(), r, nil, time.Now().Add(d))
}

// ask answers a request, and returns the answer's status, the named header lines that it
// has, and its body.
func (s *site) ask(lines []string, what string, fields ...string) string {
	s.t.Helper()
	return s.serve(lines, request(what, fields...))
}

// serve answers an exchange, and returns the answer as ask does.
func (s *site) serve(lines []string, x *edge.Exchange) string {
	s.svc.Serve(x)
	text := fmt.Sprint(x.Reply.Status)
	for line := range strings.Lines(string(x.Reply.Head())) {
		name, _, _ := strings.Cut(line, ":")
		for _, wanted := range lines {
			if strings.EqualFold(name, wanted) {
				text += "\n" + strings.TrimSpace(line)
			}
		}
	}
	if b := x.Reply.Body; len(b) > 0 {
		text += "\n\n" + string(b)
	}
	x.Reply.Reset()
	return text
}

// wantAnswer compares the result of ask.
func (s *site) wantAnswer(want string, lines []string, what string, fields ...string) {
	s.t.Helper()
	if got := s.ask(lines, what, fields...); got != want {
		s.t.Errorf("%s %q:\n%s\nwant:\n%s", what, fields, got, want)
	}
}
