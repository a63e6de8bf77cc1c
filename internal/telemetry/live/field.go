package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// kind is the kind of a field's values.
type kind uint8

const (
	text kind = iota
	number
	duration
	micros // a duration, or a number of microseconds
	truth
)

// field is a field of records by the name that filters have for it.
type field struct {
	name string
	id   telemetry.FieldSet // one field
	kind kind
}

// fields are the names of the access log, and shorter ones for durations.
var fields = []field{
	{"request_id", telemetry.FieldRequestID, text},
	{"service", telemetry.FieldService, text},
	{"operation", telemetry.FieldOperation, text},
	{"table", telemetry.FieldTable, text},
	{"route", telemetry.FieldRoute, text},
	{"path", telemetry.FieldPath, text},
	{"key", telemetry.FieldKey, text},
	{"status", telemetry.FieldStatus, number},
	{"decision", telemetry.FieldDecision, text},
	{"reason", telemetry.FieldReason, text},
	{"error", telemetry.FieldError, text},
	{"principal", telemetry.FieldPrincipal, text},
	{"time", telemetry.FieldDuration, duration},
	{"duration_us", telemetry.FieldDuration, micros},
	{"origin", telemetry.FieldOrigin, duration},
	{"origin_us", telemetry.FieldOrigin, micros},
	{"bytes_in", telemetry.FieldBytesIn, number},
	{"bytes_out", telemetry.FieldBytesOut, number},
	{"client", telemetry.FieldClient, text},
	{"user_agent", telemetry.FieldUserAgent, text},
	{"tls", telemetry.FieldTLS, truth},
	{"node", telemetry.FieldNode, text},
	{"trace_id", telemetry.FieldTraceID, text},
}

var fieldNames = func() (names []string) {
	for i := range fields {
		names = append(names, fields[i].name)
	}
	return names
}()

func fieldNamed(name string) *field {
	if i := slices.Index(fieldNames, strings.ToLower(name)); i >= 0 {
		return &fields[i]
	}
	return nil
}

// check returns an error for a pattern that no record matches.
func (f *field) check(pattern string) error {
	if f.id != telemetry.FieldDecision || strings.ContainsAny(pattern, "*?") {
		return nil
	}
	var names []string
	for _, d := range telemetry.Decisions {
		names = append(names, d.Name)
	}
	if slices.Contains(names, pattern) {
		return nil
	}
	return fmt.Errorf("there is no decision %q%s; decisions: %s", pattern, suggestion(pattern, names), strings.Join(names, " "))
}

// appendText appends the text that the access log has for the field, nothing if it has none.
func (f *field) appendText(dst []byte, r *telemetry.Record) []byte {
	switch f.id {
	case telemetry.FieldRequestID:
		return append(dst, r.RequestID...)
	case telemetry.FieldService:
		return append(dst, r.Service...)
	case telemetry.FieldOperation:
		return append(dst, r.Operation...)
	case telemetry.FieldTable:
		return append(dst, r.Table...)
	case telemetry.FieldRoute:
		return append(dst, r.Route...)
	case telemetry.FieldPath:
		return append(dst, r.Path...)
	case telemetry.FieldKey:
		if r.KeyHash == 0 {
			return dst
		}
		return telemetry.AppendHash(dst, r.KeyHash)
	case telemetry.FieldDecision:
		return append(dst, r.Decision.String()...)
	case telemetry.FieldReason:
		return append(dst, r.Reason...)
	case telemetry.FieldError:
		return append(dst, r.Error...)
	case telemetry.FieldPrincipal:
		return append(dst, r.Principal...)
	case telemetry.FieldClient:
		if !r.Client.IsValid() {
			return dst
		}
		return r.Client.AppendTo(dst)
	case telemetry.FieldNode:
		return append(dst, r.Node...)
	case telemetry.FieldTraceID:
		return append(dst, r.TraceID...)
	}
	return append(dst, r.UserAgent...)
}

// number returns the value of a field that is not a text: a duration in nanoseconds, a truth value
// as 0 or 1.
func (f *field) number(r *telemetry.Record) int64 {
	switch f.id {
	case telemetry.FieldStatus:
		return int64(r.Status)
	case telemetry.FieldDuration:
		return int64(r.Duration)
	case telemetry.FieldOrigin:
		return int64(r.Origin)
	case telemetry.FieldBytesIn:
		return int64(r.BytesIn)
	case telemetry.FieldBytesOut:
		return int64(r.BytesOut)
	}
	if r.TLS {
		return 1
	}
	return 0
}
