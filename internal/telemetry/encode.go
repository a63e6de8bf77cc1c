package telemetry

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Fields are the access log's fields in their order, each with a description for the manual.
var Fields = []FieldInfo{
	{"time", "when the request's first byte was read, RFC 3339 with milliseconds, UTC; to Fluentd it is the event's own time, with nanoseconds, and no field of the record"},
	{"request_id", "the X-Request-Id that the answer carries"},
	{"service", "the service's name in the configuration"},
	{"operation", "the operation by the protocol's own name, such as GetItem; of HTTP the method, or `other`; left out when unknown"},
	{"table", "the table, of CouchDB the database; left out when there is none"},
	{"route", "the route of type http (one of `routes`, otherwise the first segment of the path) or the path of the memcached location; omitted without one"},
	{"path", "the requested path, without the query, as sent by the client; omitted where the protocol has none"},
	{"key", "hash of the requested key as 16 hex digits: a key has the same hash for the lifetime of the process; omitted when the request has no single key"},
	{"status", "HTTP status of the answer; 0 if the connection broke before one, 499 if the client had disconnected"},
	{"decision", "how it was answered, see the table of decisions"},
	{"reason", "reason for the decision: one of http-reference.md for types http and couchdb, of memcached.md for memcached, and one of the list below for `local`; omitted where the decision is the reason"},
	{"error", "the error: the cause if the origin sent no answer or an incomplete one, the type of an error in DynamoDB's protocol, or the fault of a refused request; omitted without an error"},
	{"principal", "the name that the request gives for its sender: the key id of a signature, the user of a password (Basic) or of a CouchDB session; left out when there is none. Kasoku has verified it only where it checks signatures, and there only if the request was not refused"},
	{"duration_us", "microseconds from the first byte read to the last byte written"},
	{"origin_us", "microseconds of it spent waiting for the origin; omitted without a request to it"},
	{"bytes_in", "bytes of the request, head and body"},
	{"bytes_out", "bytes of the answer, head and body"},
	{"client", "address and port of the client's end of the connection"},
	{"user_agent", "the User-Agent field; left out when there is none"},
	{"tls", "true when the connection was encrypted"},
	{"node", "the name of the node in its cluster; left out without one"},
	{"trace_id", "the trace that the request belongs to, by its field traceparent (W3C Trace Context); left out without a valid one"},
}

// FieldInfo describes a field of the access log.
type FieldInfo struct{ Name, Help string }

// FieldSet has bit i set when Fields[i] is written.
type FieldSet uint32

// The fields, in the order of [Fields].
const (
	FieldTime FieldSet = 1 << iota
	FieldRequestID
	FieldService
	FieldOperation
	FieldTable
	FieldRoute
	FieldPath
	FieldKey
	FieldStatus
	FieldDecision
	FieldReason
	FieldError
	FieldPrincipal
	FieldDuration
	FieldOrigin
	FieldBytesIn
	FieldBytesOut
	FieldClient
	FieldUserAgent
	FieldTLS
	FieldNode
	FieldTraceID
)

// SelectFields returns the set of the fields of these names, or of all fields if there are
// none. It ignores unknown names, which the configuration refuses.
func SelectFields(names []string) FieldSet {
	if len(names) == 0 {
		return 1<<len(Fields) - 1
	}
	var set FieldSet
	for i, f := range Fields {
		if slices.Contains(names, f.Name) {
			set |= 1 << i
		}
	}
	return set
}

// Has reports whether the field f is written.
func (set FieldSet) Has(f FieldSet) bool { return set&f != 0 }

// Append appends r as one line of JSON. Empty fields are omitted.
func (set FieldSet) Append(dst []byte, r *Record) []byte {
	dst = append(dst, '{')
	start := len(dst)
	if set.Has(FieldTime) {
		dst = append(dst, `"time":"`...)
		dst = r.Time.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
		dst = append(dst, `",`...)
	}
	if set.Has(FieldRequestID) && len(r.RequestID) > 0 {
		dst = appendText(append(dst, `"request_id":`...), r.RequestID)
	}
	if set.Has(FieldService) {
		dst = appendText(append(dst, `"service":`...), r.Service)
	}
	if set.Has(FieldOperation) && r.Operation != "" {
		dst = appendText(append(dst, `"operation":`...), r.Operation)
	}
	if set.Has(FieldTable) && len(r.Table) > 0 {
		dst = appendText(append(dst, `"table":`...), r.Table)
	}
	if set.Has(FieldRoute) && len(r.Route) > 0 {
		dst = appendText(append(dst, `"route":`...), r.Route)
	}
	if set.Has(FieldPath) && len(r.Path) > 0 {
		dst = appendText(append(dst, `"path":`...), r.Path)
	}
	if set.Has(FieldKey) && r.KeyHash != 0 {
		dst = AppendHash(append(dst, `"key":"`...), r.KeyHash)
		dst = append(dst, `",`...)
	}
	dst = set.appendNumbers(dst, r)
	if set.Has(FieldClient) && r.Client.IsValid() {
		dst = append(dst, `"client":"`...)
		dst = r.Client.AppendTo(dst)
		dst = append(dst, `",`...)
	}
	if set.Has(FieldUserAgent) && len(r.UserAgent) > 0 {
		dst = appendText(append(dst, `"user_agent":`...), r.UserAgent)
	}
	if set.Has(FieldTLS) {
		dst = strconv.AppendBool(append(dst, `"tls":`...), r.TLS)
		dst = append(dst, ',')
	}
	if set.Has(FieldNode) && r.Node != "" {
		dst = appendText(append(dst, `"node":`...), r.Node)
	}
	if set.Has(FieldTraceID) && len(r.TraceID) > 0 {
		dst = appendText(append(dst, `"trace_id":`...), r.TraceID)
	}
	if len(dst) > start {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}', '\n')
}

func (set FieldSet) appendNumbers(dst []byte, r *Record) []byte {
	if set.Has(FieldStatus) {
		dst = appendInt(dst, `"status":`, int64(r.Status))
	}
	if set.Has(FieldDecision) {
		dst = appendText(append(dst, `"decision":`...), r.Decision.String())
	}
	if set.Has(FieldReason) && r.Reason != "" {
		dst = appendText(append(dst, `"reason":`...), r.Reason)
	}
	if set.Has(FieldError) && r.Error != "" {
		dst = appendText(append(dst, `"error":`...), r.Error)
	}
	if set.Has(FieldPrincipal) && len(r.Principal) > 0 {
		dst = appendText(append(dst, `"principal":`...), r.Principal)
	}
	if set.Has(FieldDuration) {
		dst = appendInt(dst, `"duration_us":`, int64(r.Duration/time.Microsecond))
	}
	if set.Has(FieldOrigin) && r.Origin > 0 {
		dst = appendInt(dst, `"origin_us":`, int64(r.Origin/time.Microsecond))
	}
	if set.Has(FieldBytesIn) {
		dst = appendInt(dst, `"bytes_in":`, int64(r.BytesIn))
	}
	if set.Has(FieldBytesOut) {
		dst = appendInt(dst, `"bytes_out":`, int64(r.BytesOut))
	}
	return dst
}

func appendInt(dst []byte, name string, n int64) []byte {
	return append(strconv.AppendInt(append(dst, name...), n, 10), ',')
}

// AppendHash appends a key's hash in the format of the field key.
func AppendHash(dst []byte, h uint64) []byte {
	return ascii.AppendHex(dst, h, 16)
}

// appendText writes s as a JSON string and a comma. Invalid UTF-8 becomes U+FFFD, and every
// control character is escaped: a client can't break a line or colour a terminal through its
// User-Agent.
func appendText[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		var r rune
		if c >= utf8.RuneSelf {
			end := min(i+utf8.UTFMax, len(s))
			r, size = utf8.DecodeRuneInString(string(s[i:end]))
			if r >= 0xa0 && (r != utf8.RuneError || size > 1) && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < utf8.RuneSelf:
			dst = appendEscape(dst, rune(c))
		default:
			dst = appendEscape(dst, r)
		}
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"', ',')
}

func appendEscape(dst []byte, r rune) []byte {
	return ascii.AppendHex(append(dst, '\\', 'u'), uint64(r), 4)
}
