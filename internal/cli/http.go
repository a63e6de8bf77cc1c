package cli

import (
	"log/slog"
	"math"
	"net"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

type httpService struct {
	*httpcache.Service
	proxied bool           // value at creation: whether connections begin with the PROXY protocol
	boot    *config.Config // the configuration with which the disk was opened
}

func newHTTP(n *Node, s *config.Service, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (service, error) {
	hc := httpConfig(n.boot, s)
	hc.Disk = n.disk
	svc, err := httpcache.New(hc, space, registry, log)
	if err != nil {
		return nil, err
	}
	return &httpService{Service: svc, proxied: s.HTTP.ProxyProtocol, boot: n.boot}, nil
}

func (w *httpService) reconfigure(_ *config.Config, s *config.Service) error {
	return w.Reconfigure(httpConfig(w.boot, s))
}

func (w *httpService) handler(*config.Service) edge.Handler { return w.Service }
func (w *httpService) inForce(*config.Service) edge.Handler { return w.Service }

func (w *httpService) listener(_ *config.Service, ec *edge.Config) { setStreaming(ec, w.proxied) }

func (w *httpService) warmer(s *config.Service, at net.Addr, secure bool) admin.Warmer {
	return newURLWarmer(s, at, secure, w.proxied)
}

func (w *httpService) pending(_ *config.Config, s *config.Service, path string) []string {
	return pendingProxy(path, w.proxied, s.HTTP.ProxyProtocol)
}

// httpConfig returns the configuration for s, with the disk of boot.
func httpConfig(boot *config.Config, s *config.Service) httpcache.Config {
	h := s.HTTP
	hc := httpcache.Config{
		Name:           s.Name,
		Group:          groupConfig(s),
		Drained:        map[string]bool{},
		OriginHost:     h.Host == "origin",
		UncacheableTTL: h.UncacheableTTL.Std(),
		Policy:         policyOptions(h),
		Scheme:         "http",
		JSONP:          mustJSONPFilter(h.JSONP),
		Routes:         httpcache.NewRoutes(h.Routes),
	}
	if s.TLS != nil {
		hc.Scheme = "https"
	}
	setPassing(&hc, &h.Passing)
	if d := boot.Cache.Disk; d != nil {
		hc.DiskFrom = int64(d.Threshold)
	}
	for _, o := range h.Origins {
		hc.Drained[address(o)] = o.Drain
	}
	if h.PurgeMethod.Enabled {
		hc.Purgers = config.Prefixes(h.PurgeMethod.From)
	}
	return hc
}

// address returns the name of an origin in its group.
func address(o config.HTTPOrigin) string { return strings.TrimSuffix(o.URL.String(), "/") }

func policyOptions(h *config.HTTP) policy.Options {
	o, ok := policy.Profile(h.Profile)
	if !ok {
		panic("cli: no profile " + h.Profile) // the configuration allows no others
	}
	seconds := func(d config.Duration) int64 { return int64(d.Std() / time.Second) }
	o.Targets, o.Strip = h.Targets, stripped(h)
	o.DefaultTTL = seconds(h.DefaultTTL)
	o.Heuristic, o.HeuristicMax = int64(math.Round(h.Heuristic*100)), seconds(h.HeuristicMax)
	o.Encodings, o.Languages = h.AcceptEncodings, h.MatchLanguage
	o.StaleWhileRevalidate, o.StaleIfError = seconds(h.StaleWhileRevalidate), seconds(h.StaleIfError)
	o.StaleIfDisconnected = seconds(h.StaleIfUnreachable)
	o.IgnoreRequestDirectives, o.PassCookies = h.ClientDirectives == "ignore", h.PassCookies
	o.SetCookie = map[string]policy.CookieRule{
		"nostore": policy.RefuseCookies, "strip": policy.StripCookies, "store": policy.StoreCookies,
	}[h.SetCookie]
	return o
}

// stripped returns the fields that are removed from answers. Surrogate-Control is meant for
// Kasoku only.
func stripped(h *config.HTTP) (names []string) {
	for _, name := range h.StripFields {
		names = append(names, strings.ToLower(name))
	}
	for _, name := range h.Targets {
		if strings.EqualFold(name, policy.SurrogateControl) {
			names = append(names, policy.SurrogateControl)
		}
	}
	return names
}

func groupConfig(s *config.Service) balance.Config {
	h := s.HTTP
	g := reachConfig(s, &h.Reach)
	g.Retry.Statuses = h.RetryStatuses
	g.Transport.HeadTimeout, g.Transport.StallTimeout = h.FirstByteTimeout.Std(), h.StallTimeout.Std()
	for _, o := range h.Origins {
		g.Members = append(g.Members, balance.Member{URL: address(o), Weight: float64(o.Weight)})
	}
	return g
}
