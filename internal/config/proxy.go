package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Reach is how those who answer are reached, by services that pass requests on to
// several: types http, couchdb and memcached.
type Reach struct {
	// Over which time an origin that has come back gets its full share. 0s: at
	// once.
	SlowStart Duration `yaml:"slow_start" default:"0s"`
	// Asking origins from time to time whether they are well; left out, they are
	// judged by the requests that they answer alone. CouchDB's nodes are then asked for
	// /_up each second.
	Health *HTTPHealth `yaml:"health"`
	// Leaving origins out for a while because requests failed there. One origin
	// alone is never left out.
	Ejection Ejection `yaml:"ejection"`
	// Asking a second origin for a read when the first takes long; left out, one is
	// asked at a time. The first answer counts, the other is given up.
	Hedge *Hedge `yaml:"hedge"`
	// Longest time for a connection to an origin to come about.
	ConnectTimeout Duration `yaml:"connect_timeout" default:"2s" min:"1ms"`
}

// Passing is what such services do with what they pass on.
type Passing struct {
	// Largest body that is kept in memory. A service of type http keeps larger ones on disk,
	// if there is one (cache.disk); else they are passed on as they come.
	MaxObject Size `yaml:"max_object" default:"64MiB" min:"1KiB" max:"64GiB"`
	// Content codings that stored text of 1 KiB to 8 MiB is offered in; of several that a
	// client takes it gets the first in this order. They are made once, in the background, after the answer was stored, and
	// take about a third more memory for it. Answers that the origin has encoded
	// itself, or that say no-transform, stay as they are. Left out: none.
	Compress []string `yaml:"compress" enum:"br|zstd|gzip"`
	// What origins are told of the client.
	Forwarded Forwarded `yaml:"forwarded"`
	// Whether every connection starts with a PROXY protocol header (version 1 or
	// 2), which then says who the client is. One without it is closed. Only for
	// listeners that nobody but the balancer in front can reach. Takes effect at a
	// restart.
	ProxyProtocol bool `yaml:"proxy_protocol" default:"false"`
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
	// How long the first ejection lasts; each further one lasts as much longer. Good
	// checks (`health`) end one before that which came of failed connections alone.
	Time Duration `yaml:"time" default:"10s" min:"1ms"`
	// How long an ejection lasts at most.
	MaxTime Duration `yaml:"max_time" default:"5m" min:"1ms"`
	// Share of the origins that may be left out at once. One is always left. When all
	// fail, all are asked.
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
	// anybody can write them. Of services of type http, what such a proxy says of host
	// and scheme makes variants of every URL.
	Trust []string `yaml:"trust"`
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

// proxyUnused finds keys of every service that mean nothing to those that pass
// requests on. Those that count instead have the given words before them.
func (k *checker) proxyUnused(path string, s *Service, before string) {
	usual := defaultOf[Common]()
	f := func(key string, changed bool, instead string) {
		if changed {
			k.failf(path+"."+key, "has no effect with type %s: %s", s.Type, instead)
		}
	}
	f("origin_timeout", s.OriginTimeout != usual.OriginTimeout, fmt.Sprintf("answers may take long as a whole; see %sconnect_timeout, %sfirst_byte_timeout and %sstall_timeout", before, before, before))
	f("retry.base", s.Retry.Base != usual.Retry.Base, "another origin is asked at once")
	f("retry.cap", s.Retry.Cap != usual.Retry.Cap, "another origin is asked at once")
	f("limits.request_timeout", s.Limits.RequestTimeout != usual.Limits.RequestTimeout, fmt.Sprintf("see %sfirst_byte_timeout and %sstall_timeout", before, before))
	f("concurrency", s.Concurrency != usual.Concurrency, "requests for the same thing wait for each other, others go to an origin at once")
}
