package edge

import (
	"github.com/kasoku/kasoku/internal/telemetry"
)

// stats are the series of one server.
type stats struct {
	class           [6]*telemetry.Counter // by the first digit of the status
	in, out         *telemetry.Counter
	accepted        *telemetry.Counter
	refused         *telemetry.Counter
	perClient       *telemetry.Counter
	unauthenticated *telemetry.Counter
	handshakes      *telemetry.Counter
	proxies         *telemetry.Counter
	unsent          *telemetry.Counter
	limited         *telemetry.Counter
	panics          *telemetry.Counter
	h2Resets        *telemetry.Counter
	h2Floods        *telemetry.Counter
	h2Blocks        *telemetry.Counter
	h2Slow          *telemetry.Counter
	duration        *telemetry.Histogram
}

func newStats(s *Server) *stats {
	m := s.cfg.Metrics
	if m == nil {
		m = telemetry.NewRegistry()
	}
	service := []string{"service", s.cfg.Name}
	const h2Ended = "HTTP/2 connections ended because their client reset too many requests, sent too many frames without a part of a request or too large a header block, or took too long to send one."
	st := &stats{
		in: m.Counter("kasoku_edge_received_bytes_total",
			"Bytes of requests, heads and bodies with their framing, TLS excluded.", service...),
		out: m.Counter("kasoku_edge_sent_bytes_total",
			"Bytes of answers, heads and bodies, TLS excluded.", service...),
		accepted: m.Counter("kasoku_edge_connections_accepted_total",
			"Connections that were accepted.", service...),
		refused: m.Counter("kasoku_edge_connections_refused_total",
			"Connections refused because limits.connections was reached, or no file descriptor was left. Raise it, or find the clients that hold them.", service...),
		perClient: m.Counter("kasoku_edge_connections_refused_per_client_total",
			"Connections refused because their client had limits.connections_per_client. Raise it if that is a load balancer.", service...),
		unauthenticated: m.Counter("kasoku_edge_connections_unauthenticated_total",
			"Connections closed after limits.unauthenticated_idle: no request was accepted on them.", service...),
		handshakes: m.Counter("kasoku_edge_tls_handshake_errors_total",
			"TLS handshakes that failed: wrong certificate or protocol version, or a client without TLS.", service...),
		proxies: m.Counter("kasoku_edge_proxy_header_errors_total",
			"Connections closed because they did not begin with a valid PROXY header, on listeners that require one.", service...),
		unsent: m.Counter("kasoku_edge_unsent_answers_total",
			"Answers that could not be sent: the client had disconnected, or read nothing for the write timeout.", service...),
		limited: m.Counter("kasoku_edge_rate_limited_total",
			"Requests refused because their client exceeded limits.requests_per_second.", service...),
		panics: m.Counter("kasoku_edge_panics_total",
			"Handlers that panicked; each is a bug, the log has its stack.", service...),
		h2Resets: m.Counter("kasoku_edge_http2_ended_total", h2Ended, append(service, "reason", "resets")...),
		h2Floods: m.Counter("kasoku_edge_http2_ended_total", h2Ended, append(service, "reason", "control_frames")...),
		h2Blocks: m.Counter("kasoku_edge_http2_ended_total", h2Ended, append(service, "reason", "header_block")...),
		h2Slow:   m.Counter("kasoku_edge_http2_ended_total", h2Ended, append(service, "reason", "header_timeout")...),
		duration: m.Histogram("kasoku_edge_request_duration_seconds",
			"From a request's first byte to the last byte of its answer being handed to the kernel.", service...),
	}
	for i, class := range [...]string{"other", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		st.class[i] = m.Counter("kasoku_edge_requests_total",
			"Requests answered, by class of status.", "service", s.cfg.Name, "class", class)
	}
	m.Gauge("kasoku_edge_connections_open", "Connections open now.",
		func() float64 { return float64(s.Open()) }, service...)
	return st
}

// exchange counts one exchange.
func (st *stats) exchange(r *telemetry.Record) {
	class := r.Status / 100
	if class < 0 || class >= len(st.class) {
		class = 0
	}
	st.class[class].Inc()
	st.in.Add(uint64(r.BytesIn))
	st.out.Add(uint64(r.BytesOut))
	st.duration.Observe(r.Duration)
}

// h2Ended returns the counter of HTTP/2 connections that were ended for a reason that package
// http2 has given.
func (st *stats) h2Ended(reason string) *telemetry.Counter {
	switch reason {
	case "resets":
		return st.h2Resets
	case "header_block":
		return st.h2Blocks
	}
	return st.h2Floods
}
