// Package telemetry records events: how an exchange was answered ([Decisions]), one
// access-log line per exchange ([Sink]), and the counters and histograms behind /metrics
// ([Registry]).
//
// It is on the path of every request, so nothing here blocks, takes a lock that all requests
// share, or allocates in the steady state.
//
// For example:
//
//	requests := registry.Counter("kasoku_requests_total", "Requests.", "service", "orders")
//	requests.Inc()
package telemetry
