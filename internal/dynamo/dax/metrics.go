package dax

import (
	"github.com/kasoku/kasoku/internal/telemetry"
)

// metrics are the metrics of one server.
type metrics struct {
	unknownMethod *methodMetrics // of requests with an unknown method

	accepted, refused, handshakes, invalidPreambles *telemetry.Counter
	perClient, unauthenticated                      *telemetry.Counter
	malformed, oversized, slow, crowded             *telemetry.Counter
	unsent, limited, denied, panics, in, out        *telemetry.Counter
	duration                                        *telemetry.Histogram
}

// methodMetrics counts the requests of a method: all of them, and the failed ones by cause.
type methodMetrics struct {
	all, client, server, throttled *telemetry.Counter

	cache *hitsAndMisses // nil if the method doesn't use the cache
}

type hitsAndMisses struct{ hit, miss *telemetry.Counter }

func newMetrics(s *Server) *metrics {
	r := s.cfg.Metrics
	if r == nil {
		r = telemetry.NewRegistry()
	}
	counter := func(name, help string, labels ...string) *telemetry.Counter {
		return r.Counter("kasoku_dax_"+name, help, append([]string{"service", s.cfg.Name}, labels...)...)
	}
	cache := func(name string) *hitsAndMisses {
		const help = "Items, queries and scans requested by DAX clients without a strongly consistent read: found in memory, or not."
		return &hitsAndMisses{counter("cache_total", help, "cache", name, "result", "hit"), counter("cache_total", help, "cache", name, "result", "miss")}
	}
	m := &metrics{
		unknownMethod:    newMethodMetrics("none", counter),
		accepted:         counter("connections_accepted_total", "Connections that were accepted."),
		refused:          counter("connections_refused_total", "Connections closed because dax.limits.connections was reached, or no file descriptor was left. Raise the limit, or find the clients that hold the connections."),
		perClient:        counter("connections_refused_per_client_total", "Connections closed because their client had dax.limits.connections_per_client. Raise it if that is a load balancer."),
		unauthenticated:  counter("connections_unauthenticated_total", "Connections closed after dax.limits.unauthenticated_idle: their client did not authenticate or, with auth mode none, sent no request."),
		handshakes:       counter("tls_handshake_errors_total", "TLS handshakes that failed: wrong certificate or protocol version, or a client without TLS."),
		invalidPreambles: counter("strangers_total", "Connections that did not begin as DAX's do: another protocol, or TLS where there is none."),
		malformed:        counter("malformed_total", "Connections closed because the client sent something other than a request."),
		oversized:        counter("oversized_total", "Requests refused because they exceed dax.limits.request_bytes."),
		slow:             counter("slow_total", "Connections closed because a preamble or a request that had begun did not arrive in time."),
		crowded:          counter("crowded_total", "Requests throttled because all large requests together have reached dax.limits.buffered_bytes."),
		unsent:           counter("unsent_replies_total", "Replies that could not be sent: the client had disconnected, or accepted nothing for the write timeout."),
		limited:          counter("rate_limited_total", "Requests refused because their client exceeded its limit of requests per second."),
		denied:           counter("denied_total", "Requests refused because their client was not authenticated."),
		panics:           counter("panics_total", "Methods that panicked; each is a bug, the log has its stack."),
		in:               counter("received_bytes_total", "Bytes of requests, TLS excluded."),
		out:              counter("sent_bytes_total", "Bytes of replies, TLS excluded."),
		duration: r.Histogram("kasoku_dax_request_duration_seconds",
			"From a request's first byte to the last byte of its reply being handed to the kernel.", "service", s.cfg.Name),
	}
	caches := map[string]*hitsAndMisses{"GetItem": cache("item"), "Query": cache("query"), "Scan": cache("scan")}
	for _, method := range s.methods {
		method.series = newMethodMetrics(method.name, counter)
		method.series.cache = caches[method.name]
	}
	r.Gauge("kasoku_dax_connections_open", "Connections open now.", func() float64 { return float64(s.Open()) }, "service", s.cfg.Name)
	r.Gauge("kasoku_dax_buffered_bytes", "Memory that large requests take now.",
		func() float64 { return float64(s.room.used.Load()) }, "service", s.cfg.Name)
	return m
}

func newMethodMetrics(name string, counter func(name, help string, labels ...string) *telemetry.Counter) *methodMetrics {
	failed := func(kind string) *telemetry.Counter {
		return counter("errors_total", "Requests answered with an error: the client's, the server's or the origin's, or because a limit was exceeded.",
			"operation", name, "kind", kind)
	}
	return &methodMetrics{
		all:    counter("requests_total", "Requests of DAX's clients.", "operation", name),
		client: failed("client"), server: failed("server"), throttled: failed("throttled"),
	}
}

// request counts one request.
func (m *metrics) request(k *call) {
	m.in.Add(uint64(k.line.BytesIn))
	m.out.Add(uint64(k.line.BytesOut))
	m.duration.Observe(k.line.Duration)
	of := m.unknownMethod
	if k.method != nil {
		of = k.method.series
	}
	of.all.Inc()
	switch e := k.failed; {
	case e == nil:
		of.cache.count(k.line.Decision)
	case e.Throttled():
		of.throttled.Inc()
	case e.ServerFault():
		of.server.Inc()
	default:
		of.client.Inc()
	}
}

// count counts a lookup by its decision.
func (h *hitsAndMisses) count(d telemetry.Decision) {
	if h == nil {
		return
	}
	switch d {
	case telemetry.Hit, telemetry.HitNegative, telemetry.HitStale:
		h.hit.Inc()
	case telemetry.Miss, telemetry.MissExpired, telemetry.MissInvalidated, telemetry.Coalesced:
		h.miss.Inc()
	}
}
