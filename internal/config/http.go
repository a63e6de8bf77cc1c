package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// HTTP is a service of type http: a caching reverse proxy before any HTTP origin.
// What may be stored, for how long and for whom is what RFC 9111 says of the
// answers' own header lines; the keys here only fill in where those say nothing.
// http-cache.md tells the rules. Their clock counts in seconds, so default_ttl,
// heuristic_max and the keys that begin with stale_ are whole seconds.
type HTTP struct {
	// Who answers: a list of URLs, or of mappings with a URL and a weight. All of
	// them are taken to give the same answers.
	Origins []HTTPOrigin `yaml:"origins" required:"there is nothing to accelerate without one"`
	// How an origin is chosen for a request: `round_robin` in turn, by weight;
	// `least_requests` the one with the fewest under way; `p2c_ewma` of two drawn at
	// random the one that answers sooner; `consistent_hash` the same one for the same
	// URL, for origins that cache themselves.
	Balance string `yaml:"balance" default:"round_robin" enum:"round_robin|least_requests|p2c_ewma|consistent_hash"`
	Reach   `yaml:",inline"`
	// Statuses of answers, such as [502, 503], for which a read is asked of another origin. If
	// that fails too, the first one's answer is given. Left out: none, an origin's answer
	// is passed on.
	RetryStatuses []int `yaml:"retry_statuses" min:"400" max:"599"`
	// The Host field that origins get: the `client`'s own, or that of the
	// `origin`'s URL, for origins that tell sites apart by another name.
	Host string `yaml:"host" default:"client" enum:"client|origin"`
	// Longest time from the last byte of the request to the head of its answer; beyond
	// it the client gets 504, or an older copy where that is allowed.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"60s" min:"1ms"`
	// Longest pause within an answer; beyond it the answer is cut. How long an
	// answer takes as a whole is not bounded.
	StallTimeout Duration `yaml:"stall_timeout" default:"60s" min:"1ms"`

	// How long an answer is fresh that does not say it and for which RFC 9111 knows
	// no heuristic. 0s: such answers are not stored. Other values make the cache
	// serve what the origin did not allow it to; Cache-Status tells it.
	DefaultTTL Duration `yaml:"default_ttl" default:"0s"`
	// Share of the time since an answer's Last-Modified that it is fresh if it does not
	// say so itself, in steps of 0.01. 0: such answers are not fresh.
	Heuristic float64 `yaml:"heuristic" default:"0.1" min:"0" max:"1"`
	// The longest time that heuristic makes an answer fresh for.
	HeuristicMax Duration `yaml:"heuristic_max" default:"24h"`
	// How long an expired answer that says nothing of it is served while one
	// request fetches it anew. It hides the origin's latency and shows content
	// that is older by so much.
	StaleWhileRevalidate Duration `yaml:"stale_while_revalidate" default:"0s"`
	// How long an expired answer that says nothing of it is served when the origin
	// fails with 500, 502, 503 or 504.
	StaleIfError Duration `yaml:"stale_if_error" default:"0s"`
	// How long an expired answer is served when the origin can't be reached at
	// all, or ends the connection without an answer, unless the answer forbids it.
	StaleIfUnreachable Duration `yaml:"stale_if_unreachable" default:"1h"`
	// How long it is remembered that an answer could not be shared, so that
	// requests for the same thing don't wait for each other in vain.
	UncacheableTTL Duration `yaml:"uncacheable_ttl" default:"2m"`
	// Header fields with a policy for caches like this one, in their order: the
	// first that an answer has counts instead of Cache-Control and Expires. Surrogate-Control
	// is read as its own specification has it, and not passed on.
	Targets []string `yaml:"targets" default:"CDN-Cache-Control"`
	// Fields of answers that clients don't get, such as [Surrogate-Key, Cache-Tag]: what
	// they say to this cache counts all the same. Left out, all are passed on, for caches
	// before this one.
	StripFields []string `yaml:"strip_fields"`
	// Whether an answer that sets a cookie may be stored: `nostore` never stores it;
	// `strip` stores it without the cookie, which only the client gets that the answer is
	// for; `store` stores it when it says how long it is fresh, as RFC 9111 has it, and
	// gives the cookie to all clients. The profile `full-score` has `store` unless another
	// value is given.
	SetCookie string `yaml:"set_cookie" default:"nostore" enum:"nostore|strip|store"`
	// Whether clients have a say: with `honour`, their no-cache, max-age and the like
	// decide with what is stored, so that a browser's reload reaches the origin;
	// with `ignore` only no-store and only-if-cached count.
	ClientDirectives string `yaml:"client_directives" default:"honour" enum:"honour|ignore"`
	// Whether requests with a Cookie are passed to the origin and their answers not
	// stored, for origins that don't say what depends on it.
	PassCookies bool `yaml:"pass_cookies" default:"false"`
	// Content codings that the origin knows, such as [br, gzip]: what clients say in
	// Accept-Encoding is reduced to these before it is sent on and compared, so that there
	// are fewer variants of an answer that says "Vary: Accept-Encoding". Left out, it is sent
	// on as it came, and only its order and case don't count.
	AcceptEncodings []string `yaml:"accept_encodings"`
	// Whether of answers that say "Vary: Accept-Language" the one in the language that
	// a client likes best (by its Content-Language) is taken, whatever else the client
	// takes. With false, Accept-Language must be the same.
	MatchLanguage bool `yaml:"match_language" default:"true"`
	// A set of choices where the standard leaves one: `default`, or `full-score`,
	// which passes nine more tests of the public caching suite than is wise in
	// production; http-cache.md says what it changes.
	Profile string `yaml:"profile" default:"default" enum:"default|full-score"`

	Passing `yaml:",inline"`
	// The method PURGE, which drops the URL that it is sent to.
	PurgeMethod PurgeMethod `yaml:"purge_method"`
	// Calls of callbacks around answers; left out, the callback is an argument like any
	// other.
	JSONP *JSONP `yaml:"jsonp"`
}

// HTTPOrigin is one of the origins.
type HTTPOrigin struct {
	// URL such as http://10.0.0.1:8080 or https://app.example.com, which has no path
	// but /; or unix:///run/app.sock for a Unix socket.
	URL Upstream `yaml:"url,self" required:"it is where requests go"`
	// How many requests it gets, compared with the others.
	Weight int `yaml:"weight" default:"1" min:"1" max:"1000"`
	// Whether it gets no new requests, to take it out of service: set it, send
	// SIGHUP, and wait until kasoku_upstream_inflight is 0. `kasoku drain` does the same
	// for as long as the process runs.
	Drain bool `yaml:"drain" default:"false"`
}

// PurgeMethod lets clients drop what is cached. An administrator's purge needs none
// of it.
type PurgeMethod struct {
	// Whether there is such a method. Without it, PURGE goes to the origin like any
	// unknown method.
	Enabled bool `yaml:"enabled" default:"false"`
	// Addresses and networks that may use it; others get 403.
	From []string `yaml:"from" default:"127.0.0.0/8,::1"`
}

var fieldName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// needed are fields of answers that can't be taken off.
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
		k.failf(path+".origins", "all are drained: nobody could answer")
	}
	for i, name := range h.Targets {
		at := fmt.Sprintf("%s.targets[%d]", path, i)
		if !fieldName.MatchString(name) {
			k.failf(at, "%q is no name of a header field", name)
		} else if strings.EqualFold(name, "Cache-Control") {
			k.failf(at, "Cache-Control is always looked at, after these")
		}
	}
	for i, name := range h.StripFields {
		at := fmt.Sprintf("%s.strip_fields[%d]", path, i)
		if !fieldName.MatchString(name) {
			k.failf(at, "%q is no name of a header field", name)
		} else if slices.Contains(needed, strings.ToLower(name)) {
			k.failf(at, "clients need %s to understand the answer", name)
		}
	}
	for i, name := range h.AcceptEncodings {
		if !fieldName.MatchString(name) || name != strings.ToLower(name) || name == "*" || name == "identity" {
			k.failf(fmt.Sprintf("%s.accept_encodings[%d]", path, i), "%q is no content coding, in lower case", name)
		}
	}
	if _, given := k.places[path+".set_cookie"]; !given && h.Profile == "full-score" {
		h.SetCookie = "store"
	}
	k.steps(path, h)
	k.reach(path, &h.Reach)
	k.passing(path, &h.Passing)
	k.purgeMethod(path+".purge_method", &h.PurgeMethod)
	k.jsonp(path+".jsonp", h.JSONP)
	k.proxyUnused(path, s, "")
}

// steps finds values between those that can be counted: they would be another one, or 0.
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
		k.failf(path+".from", "nobody could use it")
	case from && !enabled:
		k.failf(path+".from", `has no effect without "enabled: true"`)
	}
}

func (k *checker) httpOrigin(path string, list []HTTPOrigin, i int, listen Address) {
	u := list[i].URL
	if u == "" {
		return // told already
	}
	if u.reaches(listen) {
		k.failf(path, "%s is this service's own listener: each request would come back to it for ever", u)
	}
	if rest := u.path(); rest != "" && rest != "/" {
		k.failf(path, "has the path %s; requests are forwarded with the path that they came with", rest)
	}
	if j := slices.IndexFunc(list[:i], func(o HTTPOrigin) bool { return o.URL == u }); j >= 0 {
		name := path[strings.LastIndexByte(path, '.')+1 : strings.LastIndexByte(path, '[')]
		k.failf(path, "%s is already %s[%d]; to send more requests there, give it a weight", u, name, j)
	}
}
