// Package tracing exports requests as OpenTelemetry spans: a sink makes spans of the records of
// requests that a [Tracer] has selected, after they were answered, and sends them to a collector by
// OTLP over HTTP.
//
// Requests never wait for the collector: at most 4096 spans wait in memory, and further ones are
// dropped and counted. While no exporter is set a request costs one atomic load.
//
// The spans are those of OpenTelemetry's SDK, but all its settings are given here: environment
// variables (OTEL_*, HTTP_PROXY) have no effect, because Kasoku is configured by its file.
package tracing
