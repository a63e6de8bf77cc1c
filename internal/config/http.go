package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// HTTP is a service of type http: a caching reverse proxy before any HTTP origin.
// What may be stored, for how long and for whom is what RFC 9111 says of the
// answers' own header lines; the keys here only fill in where those say nothing.
// http-cache.md tells the rules.
type HTTP struct {
	// Who answers: a list of URLs, or of mappings with a URL and a weight. All of
	// them are taken to give the same answers.
	Origins []HTTPOrigin `yaml:"origins" required:"there is nothing to accelerate without one"`
	// How an origin is chosen for a request: `round_robin` in turn, by weight;
	// `least_requests` the one with the fewest under way; `p2c_ewma` of two drawn at
	// random the one that answers sooner; `consistent_hash` the same one for the same
	// URL, for origins that cache themselves.
	Balance string `yaml:"balance" default:"round_robin" enum:"round_robin|least_requests|p2c_ewma|consistent_hash"`
	// Over which time an origin that has come back gets its full share. 0s: at
	// once.
	SlowStart Duration `yaml:"slow_start" default:"0s"`
	// Asking origins from time to time whether they are well; left out, they are
	// judged by the requests that they answer alone.
	Health *HTTPHealth `yaml:"health"`
	// Leaving origins out for a while because requests failed there. One origin
	// alone is never left out.
	Ejection Ejection `yaml:"ejection"`
	// Asking a second origin for a read when the first takes long; left out, one is
	// asked at a time. The first answer counts, the other is given up.
	Hedge *Hedge `yaml:"hedge"`
	// Statuses of answers, such as [502, 503], for which a read is asked of another origin. If
	// that fails too, the first one's answer is given. Left out: none, an origin's answer
	// is passed on.
	RetryStatuses []int `yaml:"retry_statuses" min:"400" max:"599"`
	// The Host field that origins get: the `client`'s own, or that of the
	// `origin`'s URL, for origins that tell sites apart by another name.
	Host string `yaml:"host" default:"client" enum:"client|origin"`
	// Longest time for a connection to an origin to come about.
	ConnectTimeout Duration `yaml:"connect_timeout" default:"2s" min:"1ms"`
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
	// say so itself. 0: such answers are not fresh.
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
	// Largest body that is kept. Larger ones are passed on as they come.
	MaxObject Size `yaml:"max_object" default:"64MiB" min:"1KiB" max:"64GiB"`
	// Content codings that stored text of 1 KiB to 8 MiB is offered in, from `br`,
	// `zstd` and `gzip`; of several that a client takes it gets the first in this
	// order. They are made once, in the background, after the answer was stored, and
	// take about a third more memory for it. Answers that the origin has encoded
	// itself, or that say no-transform, stay as they are. Left out: none.
	Compress []string `yaml:"compress"`
	// Header fields with a policy for caches like this one, in their order: the
	// first that an answer has counts instead of Cache-Control and Expires. Surrogate-Control
	// is read as its own specification has it, and not passed on.
	Targets []string `yaml:"targets" default:"CDN-Cache-Control"`
	// Fields of answers that clients don't get, such as [Surrogate-Key, Cache-Tag]: what
	// they say to this cache counts all the same. Left out, all are passed on, for caches
	// before this one.
	StripFields []string `yaml:"strip_fields"`
	// Whether an answer that sets a cookie may be stored: `rfc` stores it when it
	// says how long it is fresh, and gives the cookie to everybody; `nostore` never
	// does; `strip` stores it without the cookie.
	SetCookie string `yaml:"set_cookie" default:"rfc" enum:"rfc|nostore|strip"`
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
	// which passes six more tests of the public caching suite than is wise in
	// production; http-cache.md says what it changes.
	Profile string `yaml:"profile" default:"default" enum:"default|full-score"`

	// What origins are told of the client.
	Forwarded Forwarded `yaml:"forwarded"`
	// Whether every connection starts with a PROXY protocol header (version 1 or
	// 2), which then says who the client is. One without it is closed. Only for
	// listeners that nobody but the balancer in front can reach. Takes effect at a
	// restart.
	ProxyProtocol bool `yaml:"proxy_protocol" default:"false"`
	// The method PURGE, which drops the URL that it is sent to.
	PurgeMethod PurgeMethod `yaml:"purge_method"`
}

// HTTPOrigin is one of the origins.
type HTTPOrigin struct {
	// URL such as http://10.0.0.1:8080 or https://app.example.com; it has no path
	// but /.
	URL URL `yaml:"url,self" required:"it is where requests go"`
	// How many requests it gets, compared with the others.
	Weight int `yaml:"weight" default:"1" min:"1" max:"1000"`
	// Whether it gets no new requests, to take it out of service: set it, send
	// SIGHUP, and wait until kasoku_upstream_inflight is 0. `kasoku drain` does the same
	// for as long as the process runs.
	Drain bool `yaml:"drain" default:"false"`
}

// HTTPHealth is a question that tells whether an origin is well.
type HTTPHealth struct {
	// The path asked for, with its query.
	Path string `yaml:"path" required:"it is what origins are asked for"`
	// The method of the request.
	Method string `yaml:"method" default:"GET" enum:"GET|HEAD|OPTIONS"`
	// The Host field of the request; left out, that of the origin's URL.
	Host string `yaml:"host"`
	// Time between two questions, give or take a tenth.
	Interval Duration `yaml:"interval" default:"5s" min:"100ms"`
	// Longest time for an answer.
	Timeout Duration `yaml:"timeout" default:"2s" min:"1ms"`
	// The status of a good answer; left out, every one from 200 to 399 is good.
	Status int `yaml:"status" min:"100" max:"599"`
	// Text that a good answer's body has in its first 64 KiB; left out, it is not
	// looked at.
	Body string `yaml:"body"`
	// How many of the last answers count.
	Window int `yaml:"window" default:"5" min:"1" max:"64"`
	// How many of those must be good for the origin to be asked anything else.
	Threshold int `yaml:"threshold" default:"3" min:"1" max:"64"`
}

// Ejection says which origins are left out because requests failed there: no
// connection, a broken one, no answer in time, or one with 500, 502, 503 or 504.
type Ejection struct {
	// Whether there is such a thing.
	Enabled bool `yaml:"enabled" default:"true"`
	// Failures in a row that eject an origin.
	Consecutive int `yaml:"consecutive" default:"5" min:"1"`
	// Share of failures within the window that ejects it.
	Failures float64 `yaml:"failures" default:"0.5" min:"0.01" max:"1"`
	// Requests within the window that are needed for that judgement.
	Requests int `yaml:"requests" default:"20" min:"1"`
	// Time over which they are counted.
	Window Duration `yaml:"window" default:"10s" min:"1s"`
	// How long the first ejection lasts; each further one lasts as much longer.
	Time Duration `yaml:"time" default:"10s" min:"1ms"`
	// How long an ejection lasts at most.
	MaxTime Duration `yaml:"max_time" default:"5m" min:"1ms"`
	// Share of the origins that may be left out at once. When all fail, all are
	// asked.
	MaxShare float64 `yaml:"max_share" default:"0.5" min:"0.01" max:"1"`
}

// Hedge is asking a second origin when the first takes long.
type Hedge struct {
	// How long the first one is waited for. 0s: as long as 95 of 100 answers took
	// lately.
	After Duration `yaml:"after" default:"0s"`
}

// Forwarded is what origins are told of the client.
type Forwarded struct {
	// In which fields: `x` is X-Forwarded-For, -Host and -Proto, `standard` is
	// Forwarded (RFC 7239), `both`, or `none`.
	Fields string `yaml:"fields" default:"x" enum:"x|standard|both|none"`
	// Addresses and networks, such as 10.0.0.0/8, of proxies whose own such fields
	// are believed and continued. From all others they are dropped, because
	// anybody can write them.
	Trust []string `yaml:"trust"`
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

// Prefixes are the networks of a list that was checked.
func Prefixes(list []string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range list {
		if p, err := prefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func prefix(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network; write for instance 10.0.0.7 or 10.0.0.0/8", text)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

func (k *checker) networks(path string, list []string) {
	for i, text := range list {
		if text == "" {
			continue // told already
		}
		if _, err := prefix(text); err != nil {
			k.failf(fmt.Sprintf("%s[%d]", path, i), "%v", err)
		}
	}
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
		k.httpOrigin(fmt.Sprintf("%s.origins[%d]", path, i), h, i, s.Listen)
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
	for i, name := range h.Compress {
		if !slices.Contains([]string{"br", "zstd", "gzip"}, name) {
			k.failf(fmt.Sprintf("%s.compress[%d]", path, i), "%q is not one of br, zstd, gzip", name)
		}
	}
	if c := h.Health; c != nil {
		if !strings.HasPrefix(c.Path, "/") && c.Path != "" {
			k.failf(path+".health.path", "%q does not begin with /", c.Path)
		}
		if c.Threshold > c.Window {
			k.failf(path+".health", "threshold %d is above window %d", c.Threshold, c.Window)
		}
	}
	if e := h.Ejection; e.Time > e.MaxTime {
		k.failf(path+".ejection", "time %s is above max_time %s", e.Time, e.MaxTime)
	}
	k.networks(path+".forwarded.trust", h.Forwarded.Trust)
	k.networks(path+".purge_method.from", h.PurgeMethod.From)
	if h.Forwarded.Fields == "none" && len(h.Forwarded.Trust) > 0 {
		k.failf(path+".forwarded.trust", `has no effect with "fields: none"`)
	}
	if len(h.PurgeMethod.From) == 0 && h.PurgeMethod.Enabled {
		k.failf(path+".purge_method.from", "nobody could use it")
	}
	k.httpUnused(path, s)
}

// httpUnused finds keys of every service that mean nothing to this one.
func (k *checker) httpUnused(path string, s *Service) {
	usual := defaultOf[Common]()
	f := func(key string, changed bool, instead string) {
		if changed {
			k.failf(path+"."+key, "has no effect with type http: %s", instead)
		}
	}
	f("origin_timeout", s.OriginTimeout != usual.OriginTimeout, "answers may take long as a whole; see connect_timeout, first_byte_timeout and stall_timeout")
	f("retry.base", s.Retry.Base != usual.Retry.Base, "another origin is asked at once")
	f("retry.cap", s.Retry.Cap != usual.Retry.Cap, "another origin is asked at once")
	f("limits.request_timeout", s.Limits.RequestTimeout != usual.Limits.RequestTimeout, "see first_byte_timeout and stall_timeout")
	f("concurrency", s.Concurrency != usual.Concurrency, "requests for the same thing wait for each other, others go to an origin at once")
}

func (k *checker) httpOrigin(path string, h *HTTP, i int, listen Address) {
	u := h.Origins[i].URL
	if u == "" {
		return // told already
	}
	if u.reaches(listen) {
		k.failf(path, "%s is this service's own listener: each request would come back to it for ever", u)
	}
	if rest := u.path(); rest != "" && rest != "/" {
		k.failf(path, "has the path %s; requests are forwarded with the path that they came with", rest)
	}
	if j := slices.IndexFunc(h.Origins[:i], func(o HTTPOrigin) bool { return o.URL == u }); j >= 0 {
		k.failf(path, "%s is already origins[%d]; to send more requests there, give it a weight", u, j)
	}
}
