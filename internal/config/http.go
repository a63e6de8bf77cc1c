package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// HTTP is a service of type http: a caching reverse proxy for any HTTP origin. RFC 9111 and
// the header fields of the answers decide what may be stored, for how long and for which
// clients; the keys here are defaults where the fields are silent. http-reference.md describes
// the rules. Their clock counts in seconds, so default_ttl, heuristic_max and the keys that
// begin with stale_ are whole seconds.
type HTTP struct {
	// The origins: a list of URLs, or of mappings with a URL and a weight. All of them must
	// give the same answers.
	Origins []HTTPOrigin `yaml:"origins" required:"there is nothing to accelerate without one"`
	Reach   `yaml:",inline"`
	// Statuses of answers, for example [502, 503], after which a read is repeated at another
	// origin. If that fails too, the client gets the first answer. Left out: none; every
	// answer is passed on.
	RetryStatuses []int `yaml:"retry_statuses" min:"400" max:"599"`
	// Host field of requests to origins: the `client`'s, or that of the `origin`'s URL, for
	// origins that have another name for the site.
	Host string `yaml:"host" default:"client" enum:"client|origin"`
	// Timeout from the last byte of the request to the head of its answer; beyond it the
	// client gets 504, or a stale answer where that is allowed.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"60s" min:"1ms"`
	// Maximum pause within an answer; beyond it the answer is cut. The total time of an
	// answer is not limited.
	StallTimeout Duration `yaml:"stall_timeout" default:"60s" min:"1ms"`

	// Freshness lifetime of an answer that specifies none and that RFC 9111 allows no
	// heuristic for. 0s: such answers are not stored. With other values the cache serves
	// answers that the origin did not allow it to; Cache-Status shows this.
	DefaultTTL Duration `yaml:"default_ttl" default:"0s"`
	// Freshness lifetime of an answer that specifies none, as a share of the time since its
	// Last-Modified, in steps of 0.01. 0: such answers are not fresh.
	Heuristic float64 `yaml:"heuristic" default:"0.1" min:"0" max:"1"`
	// Upper bound of the heuristic freshness lifetime.
	HeuristicMax Duration `yaml:"heuristic_max" default:"24h"`
	// How long an expired answer is served while one request fetches it anew, unless the
	// answer specifies a time. It hides the origin's latency, and serves content that is
	// older by up to this time.
	StaleWhileRevalidate Duration `yaml:"stale_while_revalidate" default:"0s"`
	// How long an expired answer is served when the origin fails with 500, 502, 503 or 504,
	// unless the answer specifies a time.
	StaleIfError Duration `yaml:"stale_if_error" default:"0s"`
	// How long an expired answer is served when the origin can't be reached, or closes the
	// connection without an answer, unless the answer forbids it.
	StaleIfUnreachable Duration `yaml:"stale_if_unreachable" default:"1h"`
	// How long Kasoku remembers that an answer could not be shared, so that requests for the
	// same URL don't wait for each other in vain.
	UncacheableTTL Duration `yaml:"uncacheable_ttl" default:"2m"`
	// Header fields with a policy for caches like this one, in order: the first one in an
	// answer is used instead of Cache-Control and Expires. Surrogate-Control is interpreted
	// by its own specification, and not passed on.
	Targets []string `yaml:"targets" default:"CDN-Cache-Control"`
	// Fields of answers that are removed before the client gets them, for example
	// [Surrogate-Key, Cache-Tag]; this cache uses them all the same. Left out: all fields
	// are passed on, for caches in front of this one.
	StripFields []string `yaml:"strip_fields"`
	// Whether an answer that sets a cookie may be stored: `nostore` never stores it; `strip`
	// stores it without the cookie, which only the client of that request gets; `store`
	// stores it if it specifies its freshness, as in RFC 9111, and gives the cookie to all
	// clients. The profile `full-score` has `store` unless another value is given.
	SetCookie string `yaml:"set_cookie" default:"nostore" enum:"nostore|strip|store"`
	// Whether the Cache-Control of requests is respected: with `honour`, no-cache, max-age
	// and similar directives of clients count, so that a browser's reload reaches the
	// origin; with `ignore`, only no-store and only-if-cached count.
	ClientDirectives string `yaml:"client_directives" default:"honour" enum:"honour|ignore"`
	// Whether requests with a Cookie are passed to the origin and their answers not stored,
	// for origins that don't declare which answers depend on it.
	PassCookies bool `yaml:"pass_cookies" default:"false"`
	// Content codings that the origin supports, for example [br, gzip]: Accept-Encoding is
	// reduced to them before it is forwarded and compared, so that an answer with "Vary:
	// Accept-Encoding" has fewer variants. Left out: it is forwarded unchanged, and compared
	// without order and case.
	AcceptEncodings []string `yaml:"accept_encodings"`
	// Whether answers with "Vary: Accept-Language" are selected by their Content-Language: a
	// client gets the variant in the language that it prefers. With false, Accept-Language
	// must be identical.
	MatchLanguage bool `yaml:"match_language" default:"true"`
	// Set of choices where the standard allows several: `default`, or `full-score`, which
	// passes nine more tests of the public caching suite than is wise in production;
	// http-reference.md lists the differences.
	Profile string `yaml:"profile" default:"default" enum:"default|full-score"`

	// Parts of the site whose requests are counted apart in metrics and reports: patterns of
	// paths, for example [/api/orders/*, /api/*], where * matches any text. The first one that
	// matches counts. The route of other paths is their first segment, for example /static.
	Routes  []string `yaml:"routes"`
	Passing `yaml:",inline"`
	// The method PURGE, which drops the URL of the request.
	PurgeMethod PurgeMethod `yaml:"purge_method"`
	// JSONP callbacks around answers; left out: the callback is an argument like any other.
	JSONP *JSONP `yaml:"jsonp"`
}

// HTTPOrigin is one of the origins.
type HTTPOrigin struct {
	// URL, for example http://10.0.0.1:8080 or https://app.example.com, with no path except
	// /; or unix:///run/app.sock for a Unix socket.
	URL Upstream `yaml:"url,self" required:"it is where requests go"`
	// Number of requests relative to the other origins.
	Weight int `yaml:"weight" default:"1" min:"1" max:"1000"`
	// Whether the origin gets no new requests. To take it out of service, set this, send
	// SIGHUP, and wait until kasoku_upstream_inflight is 0. `kasoku drain` does the same
	// until the process ends.
	Drain bool `yaml:"drain" default:"false"`
}

// PurgeMethod lets clients drop cached answers. Purges by the administrator don't need it.
type PurgeMethod struct {
	// Whether the method is enabled. Otherwise, PURGE is sent to the origin like any unknown
	// method.
	Enabled bool `yaml:"enabled" default:"false"`
	// Addresses and networks that may use it; others get 403.
	From []string `yaml:"from" default:"127.0.0.0/8,::1"`
}

var fieldName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// needed are fields of answers that can't be removed.
var needed = []string{"connection", "content-encoding", "content-length", "content-range", "content-type", "date", "transfer-encoding", "upgrade", "vary"}

func (k *checker) http(path string, s *Service) {
	h := s.HTTP
	if _, given := k.places[path+".origins"]; given && h.Origins != nil && len(h.Origins) == 0 {
		k.failf(path+".origins", "none: there is nothing to accelerate without one")
	}
	for i := range h.Origins {
		k.httpOrigin(fmt.Sprintf("%s.origins[%d]", path, i), h.Origins, i, s.Listen)
	}
	if len(h.Origins) > 0 && !slices.ContainsFunc(h.Origins, func(o HTTPOrigin) bool { return !o.Drain }) {
		k.failf(path+".origins", "all are drained: no request could be answered")
	}
	for i, name := range h.Targets {
		at := fmt.Sprintf("%s.targets[%d]", path, i)
		if !fieldName().MatchString(name) {
			k.failf(at, "%q is no name of a header field", name)
		} else if strings.EqualFold(name, "Cache-Control") {
			k.failf(at, "Cache-Control is always looked at, after these")
		}
	}
	for i, name := range h.StripFields {
		at := fmt.Sprintf("%s.strip_fields[%d]", path, i)
		if !fieldName().MatchString(name) {
			k.failf(at, "%q is no name of a header field", name)
		} else if slices.Contains(needed, strings.ToLower(name)) {
			k.failf(at, "clients need %s to understand the answer", name)
		}
	}
	for i, name := range h.AcceptEncodings {
		if !fieldName().MatchString(name) || name != strings.ToLower(name) || name == "*" || name == "identity" {
			k.failf(fmt.Sprintf("%s.accept_encodings[%d]", path, i), "%q is no content coding, in lower case", name)
		}
	}
	if _, given := k.places[path+".set_cookie"]; !given && h.Profile == "full-score" {
		h.SetCookie = "store"
	}
	k.steps(path, h)
	k.routes(path+".routes", h.Routes)
	k.reach(path, &h.Reach)
	k.passing(path, &h.Passing)
	k.purgeMethod(path+".purge_method", &h.PurgeMethod)
	k.jsonp(path+".jsonp", h.JSONP)
	k.proxyUnused(path, s, "")
}

// maxRoutes is the maximum number of routes: each request is compared with them.
const maxRoutes = 100

// routes reports patterns that match no path, or that follow an equal one.
func (k *checker) routes(path string, routes []string) {
	if len(routes) > maxRoutes {
		k.failf(path, "%d routes; at most %d are compared with each request", len(routes), maxRoutes)
	}
	for i, p := range routes {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case p == "" || p[0] != '/' && p[0] != '*' && p[0] != '?':
			k.failf(at, "%q matches no path: a path begins with /", p)
		case slices.Contains(routes[:i], p):
			k.failf(at, "%s is there twice", p)
		case strings.ContainsFunc(p, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
			k.failf(at, "%q has characters that a path has only encoded, such as %%20", p)
		}
	}
}

// steps reports values that would be rounded to another value or to 0.
func (k *checker) steps(path string, h *HTTP) {
	for _, t := range []struct {
		key  string
		time Duration
	}{
		{"default_ttl", h.DefaultTTL}, {"heuristic_max", h.HeuristicMax}, {"stale_while_revalidate", h.StaleWhileRevalidate},
		{"stale_if_error", h.StaleIfError}, {"stale_if_unreachable", h.StaleIfUnreachable},
	} {
		if t.time.Std()%time.Second != 0 {
			k.failf(path+"."+t.key, "%s: only whole seconds are counted", t.time)
		}
	}
	if hundredths := h.Heuristic * 100; math.Abs(hundredths-math.Round(hundredths)) > 1e-9 {
		k.failf(path+".heuristic", "%v: only hundredths are counted", h.Heuristic)
	}
}

func (k *checker) purgeMethod(path string, p *PurgeMethod) {
	k.networks(path+".from", p.From)
	_, from := k.places[path+".from"]
	_, enabled := k.places[path+".enabled"]
	switch {
	case p.Enabled && len(p.From) == 0:
		k.failf(path+".from", "no client could use it")
	case from && !enabled:
		k.failf(path+".from", `has no effect without "enabled: true"`)
	}
}

func (k *checker) httpOrigin(path string, list []HTTPOrigin, i int, listen Address) {
	u := list[i].URL
	if u == "" {
		return // already reported
	}
	k.destination(path, u, listen)
	if j := slices.IndexFunc(list[:i], func(o HTTPOrigin) bool { return o.URL == u }); j >= 0 {
		name := path[strings.LastIndexByte(path, '.')+1 : strings.LastIndexByte(path, '[')]
		k.failf(path, "%s is already %s[%d]; to send more requests there, give it a weight", u, name, j)
	}
}
