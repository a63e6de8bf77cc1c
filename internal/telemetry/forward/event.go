package forward

import (
	"time"
	"unicode/utf8"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// event is a record to be passed to the logger, which copies it.
type event struct {
	time   time.Time
	record fluent.Record
	text   []byte // scratch for the current value
}

// maxText is the capacity of text above which an event is not reused.
const maxText = 4 << 10

// fill encodes r: the non-empty fields of the set, with the names and values of
// telemetry.Fields. The time is that of the event.
func (e *event) fill(set telemetry.FieldSet, r *telemetry.Record) {
	e.time = r.Time
	e.record.Reset()
	if set.Has(telemetry.FieldRequestID) {
		e.bytes("request_id", r.RequestID)
	}
	if set.Has(telemetry.FieldService) {
		e.record.Str("service", r.Service)
	}
	if set.Has(telemetry.FieldOperation) && r.Operation != "" {
		e.record.Str("operation", r.Operation)
	}
	if set.Has(telemetry.FieldTable) {
		e.bytes("table", r.Table)
	}
	if set.Has(telemetry.FieldRoute) {
		e.bytes("route", r.Route)
	}
	if set.Has(telemetry.FieldPath) {
		e.bytes("path", r.Path)
	}
	if set.Has(telemetry.FieldKey) && r.KeyHash != 0 {
		e.text = telemetry.AppendHash(e.text[:0], r.KeyHash)
		e.record.ByteString("key", e.text)
	}
	e.numbers(set, r)
	if set.Has(telemetry.FieldClient) && r.Client.IsValid() {
		e.text = r.Client.AppendTo(e.text[:0])
		e.record.ByteString("client", e.text)
	}
	if set.Has(telemetry.FieldUserAgent) {
		e.bytes("user_agent", r.UserAgent)
	}
	if set.Has(telemetry.FieldTLS) {
		e.record.Bool("tls", r.TLS)
	}
	if set.Has(telemetry.FieldNode) && r.Node != "" {
		e.record.Str("node", r.Node)
	}
	if set.Has(telemetry.FieldTraceID) {
		e.bytes("trace_id", r.TraceID)
	}
}

func (e *event) numbers(set telemetry.FieldSet, r *telemetry.Record) {
	if set.Has(telemetry.FieldStatus) {
		e.record.Int("status", r.Status)
	}
	if set.Has(telemetry.FieldDecision) {
		e.record.Str("decision", r.Decision.String())
	}
	if set.Has(telemetry.FieldReason) && r.Reason != "" {
		e.record.Str("reason", r.Reason)
	}
	if set.Has(telemetry.FieldError) {
		e.bytes("error", []byte(r.Error))
	}
	if set.Has(telemetry.FieldPrincipal) {
		e.bytes("principal", r.Principal)
	}
	if set.Has(telemetry.FieldDuration) {
		e.record.Int64("duration_us", int64(r.Duration/time.Microsecond))
	}
	if set.Has(telemetry.FieldOrigin) && r.Origin > 0 {
		e.record.Int64("origin_us", int64(r.Origin/time.Microsecond))
	}
	if set.Has(telemetry.FieldBytesIn) {
		e.record.Int("bytes_in", r.BytesIn)
	}
	if set.Has(telemetry.FieldBytesOut) {
		e.record.Int("bytes_out", r.BytesOut)
	}
}

// bytes adds text from a client: invalid UTF-8 becomes U+FFFD, since receivers that write
// JSON fail on it.
func (e *event) bytes(name string, b []byte) {
	if len(b) == 0 {
		return
	}
	if !utf8.Valid(b) {
		b = e.repair(b)
	}
	e.record.ByteString(name, b)
}

func (e *event) repair(b []byte) []byte {
	e.text = e.text[:0]
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		e.text = utf8.AppendRune(e.text, r)
		b = b[size:]
	}
	return e.text
}
