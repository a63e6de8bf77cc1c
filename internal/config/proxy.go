package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Reach specifies connections to origins, for services with several of them: types http,
// couchdb and memcached.
type Reach struct {
	// Selection of the origin for a request: `round_robin` in turn, by weight;
	// `least_requests` the one with the fewest requests in flight; `p2c_ewma` the faster of
	// two drawn at random; `consistent_hash` the same one for the same URL, for origins with
	// caches of their own. With type couchdb it applies to reads, among the nodes that are up
	// to date.
	Balance string `yaml:"balance" default:"round_robin" enum:"round_robin|least_requests|p2c_ewma|consistent_hash"`
	// Time over which an origin that has recovered is ramped up to its full share. 0s: at
	// once.
	SlowStart Duration `yaml:"slow_start" default:"0s"`
	// Active health checks of origins; left out: origins are judged by their answers to
	// requests alone. CouchDB's nodes are then checked with /_up each second.
	Health *HTTPHealth `yaml:"health"`
	// Leaving origins out for a while after failed requests. A single origin is never left
	// out.
	Ejection Ejection `yaml:"ejection"`
	// Sending a read to a second origin when the first one is slow; left out: one origin at
	// a time. The first answer is used, the other request is cancelled.
	Hedge *Hedge `yaml:"hedge"`
	// Timeout for connecting to an origin.
	ConnectTimeout Duration `yaml:"connect_timeout" default:"2s" min:"1ms"`
}

// Passing specifies how such services pass on requests and answers.
type Passing struct {
	// Maximum size of a body in memory. A service of type http stores larger ones on disk,
	// if there is one (cache.disk); else they are streamed and not stored.
	MaxObject Size `yaml:"max_object" default:"64MiB" min:"1KiB" max:"64GiB"`
	// Content codings offered for stored text of 1 KiB to 8 MiB, by preference. They are
	// made once, in the background, after the answer was stored, and take about a third more
	// memory. Answers that the origin has encoded itself, or that have no-transform, are
	// unchanged. Left out: none.
	Compress []string `yaml:"compress" enum:"br|zstd|gzip"`
	// Information about the client that is sent to origins.
	Forwarded Forwarded `yaml:"forwarded"`
	// Whether every connection begins with a PROXY protocol header (version 1 or 2) with the
	// address of the client. A connection without it is closed. Only for listeners that
	// nothing except the balancer in front can reach. Takes effect at a restart.
	ProxyProtocol bool `yaml:"proxy_protocol" default:"false"`
}

// HTTPHealth is an active check of an origin's health.
type HTTPHealth struct {
	// Path of the check, with its query.
	Path string `yaml:"path" required:"it is the URL of the check"`
	// Method of the check.
	Method string `yaml:"method" default:"GET" enum:"GET|HEAD|OPTIONS"`
	// Host field of the check; left out: that of the origin's URL.
	Host string `yaml:"host"`
	// Time between two checks, give or take a tenth.
	Interval Duration `yaml:"interval" default:"5s" min:"100ms"`
	// Timeout for a check.
	Timeout Duration `yaml:"timeout" default:"2s" min:"1ms"`
	// Status of a good answer; left out: every status from 200 to 399 is good.
	Status int `yaml:"status" min:"100" max:"599"`
	// Text that the first 64 KiB of a good answer's body contain; left out: any body is
	// good.
	Body string `yaml:"body"`
	// Number of recent checks that are considered.
	Window int `yaml:"window" default:"5" min:"1" max:"64"`
	// How many of them must be good for the origin to get requests.
	Threshold int `yaml:"threshold" default:"3" min:"1" max:"64"`
}

// Ejection specifies when origins are left out because of failed requests: no connection, a
// broken one, no answer in time, or an answer with 500, 502, 503 or 504.
type Ejection struct {
	// Whether origins are ejected.
	Enabled bool `yaml:"enabled" default:"true"`
	// Failures in a row that eject an origin.
	Consecutive int `yaml:"consecutive" default:"5" min:"1"`
	// Share of failures within the window that ejects an origin.
	Failures float64 `yaml:"failures" default:"0.5" min:"0.01" max:"1"`
	// Minimum number of requests within the window for that decision.
	Requests int `yaml:"requests" default:"20" min:"1"`
	// Time over which requests are counted.
	Window Duration `yaml:"window" default:"10s" min:"1s"`
	// Duration of the first ejection; each further one is longer by this time. Good checks
	// (`health`) end an ejection early if it was caused by failed connections alone.
	Time Duration `yaml:"time" default:"10s" min:"1ms"`
	// Maximum duration of an ejection.
	MaxTime Duration `yaml:"max_time" default:"5m" min:"1ms"`
	// Maximum share of origins that are left out at once. One is always kept. When all fail,
	// all are used.
	MaxShare float64 `yaml:"max_share" default:"0.5" min:"0.01" max:"1"`
}

// Hedge specifies when a read is sent to a second origin.
type Hedge struct {
	// Time to wait for the first origin. 0s: the 95th percentile of recent answers.
	After Duration `yaml:"after" default:"0s"`
}

// Forwarded specifies the information about the client that is sent to origins.
type Forwarded struct {
	// Fields: `x` is X-Forwarded-For, -Host and -Proto, `standard` is Forwarded (RFC 7239),
	// `both`, or `none`.
	Fields string `yaml:"fields" default:"x" enum:"x|standard|both|none"`
	// Addresses and networks, for example 10.0.0.0/8, of trusted proxies, whose fields of
	// this kind are accepted and extended. Those of other clients are dropped, because any
	// client can forge them. With type http, the host and scheme sent by such a proxy are
	// part of the cache key.
	Trust []string `yaml:"trust"`
}

// Prefixes returns the networks of a list that was checked.
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
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network; write for example 10.0.0.7 or 10.0.0.0/8", text)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

func (k *checker) networks(path string, list []string) {
	for i, text := range list {
		if text == "" {
			continue // already reported
		}
		if _, err := prefix(text); err != nil {
			k.failf(fmt.Sprintf("%s[%d]", path, i), "%v", err)
		}
	}
}

func (k *checker) reach(path string, r *Reach) {
	if c := r.Health; c != nil {
		if !strings.HasPrefix(c.Path, "/") && c.Path != "" {
			k.failf(path+".health.path", "%q does not begin with /", c.Path)
		}
		if c.Threshold > c.Window {
			k.failf(path+".health", "threshold %d is above window %d", c.Threshold, c.Window)
		}
	}
	if e := r.Ejection; e.Time > e.MaxTime {
		k.failf(path+".ejection", "time %s is above max_time %s", e.Time, e.MaxTime)
	}
}

func (k *checker) passing(path string, p *Passing) {
	for i, name := range p.Compress {
		if name != "" && slices.Contains(p.Compress[:i], name) {
			k.failf(fmt.Sprintf("%s.compress[%d]", path, i), "%q is given twice", name)
		}
	}
	k.networks(path+".forwarded.trust", p.Forwarded.Trust)
	if p.Forwarded.Fields == "none" && len(p.Forwarded.Trust) > 0 {
		k.failf(path+".forwarded.trust", `has no effect with "fields: none"`)
	}
}

// proxyUnused reports common keys that have no meaning for services that pass requests on.
// before is the prefix of the keys to use instead.
func (k *checker) proxyUnused(path string, s *Service, before string) {
	usual := defaultOf[Common]()
	f := func(key string, changed bool, instead string) {
		if changed {
			k.failf(path+"."+key, "has no effect with type %s: %s", s.Type, instead)
		}
	}
	f("origin_timeout", s.OriginTimeout != usual.OriginTimeout, fmt.Sprintf("answers may take long as a whole; see %sconnect_timeout, %sfirst_byte_timeout and %sstall_timeout", before, before, before))
	f("retry.base", s.Retry.Base != usual.Retry.Base, "another origin is tried at once")
	f("retry.cap", s.Retry.Cap != usual.Retry.Cap, "another origin is tried at once")
	f("limits.request_timeout", s.Limits.RequestTimeout != usual.Limits.RequestTimeout, fmt.Sprintf("see %sfirst_byte_timeout and %sstall_timeout", before, before))
	f("concurrency", s.Concurrency != usual.Concurrency, "requests for the same thing wait for each other, others go to an origin at once")
}
