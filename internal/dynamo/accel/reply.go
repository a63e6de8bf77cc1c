package accel

import (
	"context"
	"errors"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Header lines of JSON replies, by the content type of the request.
var (
	preparedLines = []byte("Server: Kasoku\r\nContent-Type: application/x-amz-json-1.0\r\n")
	genericLines  = []byte("Server: Kasoku\r\nContent-Type: application/json\r\n")
)

// answer sends a cached body with the checksum that SDKs verify.
func (c *call) answer(status int, body []byte, crc uint32) {
	c.x.Reply.Body = body
	c.head(status, crc)
}

// answerBuilt sends a body that was built in Reply.Buf.
func (c *call) answerBuilt(status int, body []byte) {
	c.x.Reply.Build(body)
	c.head(status, crc32.ChecksumIEEE(body))
}

func (c *call) head(status int, crc uint32) {
	lines := preparedLines
	if isGeneric(c.x.Request.Get("Content-Type")) {
		lines = genericLines
	}
	c.x.Reply.Lines(lines)
	c.headOf(status, crc)
}

// headOf writes the status and the header fields except Server and Content-Type.
func (c *call) headOf(status int, crc uint32) {
	r := &c.x.Reply
	r.Status = status
	var id [requestIDLen]byte
	r.FieldBytes("x-amzn-RequestId", newRequestID(&id))
	r.FieldUint("x-amz-crc32", uint64(crc))
}

// page sends a reply that isn't JSON. reason is for the access log; typ may be empty.
func (c *call) page(status int, typ string, body []byte, reason string) {
	r := &c.x.Reply
	r.Body = body
	r.Field("Server", "Kasoku")
	if typ != "" {
		r.Field("Content-Type", typ)
	}
	c.headOf(status, crc32.ChecksumIEEE(body))
	c.status(telemetry.Local, nil, false)
	c.x.Record.Reason = reason
}

// requestIDLen is the length of DynamoDB's request IDs.
const requestIDLen = 52

const idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUV"

func newRequestID(id *[requestIDLen]byte) []byte {
	for i := 0; i < len(id); {
		bits := rand.Uint64()
		for n := 0; n < 12 && i < len(id); n++ {
			id[i] = idAlphabet[bits&31]
			bits >>= 5
			i++
		}
	}
	return id[:]
}

// status writes Cache-Status for a decision, with the properties of its entry.
func (c *call) status(d telemetry.Decision, e *cache.Entry, stored bool) {
	c.setDecision(d)
	var buf [96]byte
	b := append(buf[:0], "kasoku; "...)
	b = append(b, d.CacheStatus()...)
	if e != nil && (d == telemetry.Hit || d == telemetry.HitNegative) {
		b = append(b, "; ttl="...)
		b = strconv.AppendInt(b, int64(e.TTL(c.now).Seconds()), 10)
	}
	if stored {
		b = append(b, "; stored"...)
	}
	c.x.Reply.FieldBytes("Cache-Status", b)
	c.svc.metrics.decision(c.op, d)
}

// errCorrupt is the error for a successful response that is truncated or not JSON.
var errCorrupt = &origin.Fault{Kind: origin.Garbage, Reached: true, Err: errors.New("the response does not match its length, checksum or type")}

// relay sends the origin's response, including errors, to the client byte for byte. Only a
// corrupt response is replaced.
func (c *call) relay(resp *origin.Response, d telemetry.Decision) {
	if resp.Class == origin.Failed && resp.Status < http.StatusBadRequest {
		c.failOrigin(errCorrupt, d)
		return
	}
	c.relayBody(resp, resp.Body, resp.Header.Get(fieldCRC), d)
}

// relayChanged sends the origin's response with another body.
func (c *call) relayChanged(resp *origin.Response, body []byte, d telemetry.Decision) {
	c.relayBody(resp, body, strconv.AppendUint(nil, uint64(crc32.ChecksumIEEE(body)), 10), d)
}

func (c *call) relayBody(resp *origin.Response, body, crc []byte, d telemetry.Decision) {
	r := &c.x.Reply
	r.Status, r.Body = resp.Status, body
	if resp.Status >= http.StatusBadRequest {
		c.x.Record.Error = string(wire.ErrorType(body))
	}
	r.Field("Server", "Kasoku")
	if ct := resp.Header.Get("Content-Type"); ct != nil {
		r.FieldBytes("Content-Type", ct)
	}
	id := resp.Header.Get(fieldID)
	if id == nil { // a local store sends none
		var own [requestIDLen]byte
		id = newRequestID(&own)
	}
	r.FieldBytes("x-amzn-RequestId", id)
	if crc != nil {
		r.FieldBytes("x-amz-crc32", crc)
	}
	if ce := resp.Header.Get("Content-Encoding"); ce != nil {
		r.FieldBytes("Content-Encoding", ce)
		c.encoded = true
	}
	c.status(d, nil, false)
}

// fail answers with an error in DynamoDB's format.
func (c *call) fail(typ, message string) {
	c.answerBuilt(wire.ErrorStatus(typ), wire.AppendError(c.x.Reply.Buf[:0], typ, message))
	c.status(telemetry.Local, nil, false)
	c.x.Record.Error = typ
	if c.x.Record.Reason == "" {
		c.x.Record.Reason = refusalReason(typ)
	}
}

// Reasons in the access log of replies that aren't the origin's.
const (
	reasonAuthentication = "authentication"
	reasonPermission     = "permission"
	reasonRateLimit      = "rate-limit"
	reasonFault          = "fault"
	reasonMalformed      = "malformed"
	reasonOriginSilent   = "origin-silent"
	reasonIsolated       = "isolated"
	reasonNotFound       = "not-found"
	reasonHealth         = "health"
	reasonPreflight      = "preflight"
)

// refusalReason returns the reason for an error reply of this service.
func refusalReason(typ string) string {
	switch typ {
	case "AccessDeniedException":
		return reasonPermission
	case "ThrottlingException":
		return reasonRateLimit
	case "InternalServerError":
		return reasonFault
	}
	return reasonMalformed
}

// failOrigin answers after a request to the origin has failed. A write that may have been
// executed is a 500, as in DynamoDB, because the client can't determine the outcome.
// Anything else is a 503. SDKs retry both.
func (c *call) failOrigin(err error, d telemetry.Decision) {
	var f *origin.Fault
	if errors.As(err, &f) && f.Kind == origin.Withheld && !f.Reached {
		c.failIsolated(err, d)
		return
	}
	if c.x.Reply.Hangup = f != nil && f.Hangup; !c.x.Reply.Hangup {
		c.svc.failures.Log(c.svc.log, err, slog.String("operation", c.op.Name), slog.String("request_id", string(c.x.Record.RequestID)))
	}
	typ, message := "ServiceUnavailable", "The origin can't be reached at the moment."
	switch {
	case c.writeSent && mayHaveExecuted(err):
		typ, message = "InternalServerError", "The origin did not answer; the write may or may not have happened."
	case errors.As(err, &f):
		message = "The origin can't be reached at the moment (" + f.Kind.String() + ")."
	case errors.Is(err, context.DeadlineExceeded):
		message = "The origin did not answer in time."
	}
	c.answerBuilt(wire.ErrorStatus(typ), wire.AppendError(c.x.Reply.Buf[:0], typ, message))
	c.status(d, nil, false)
	c.x.Record.Reason, c.x.Record.Error = reasonOriginSilent, err.Error()
}

// failIsolated answers a write that was not sent, because the other members of the cluster
// have not fenced it. SDKs retry a 503, on another node if they have several.
func (c *call) failIsolated(err error, d telemetry.Decision) {
	const typ = "ServiceUnavailable"
	c.answerBuilt(wire.ErrorStatus(typ), wire.AppendError(c.x.Reply.Buf[:0], typ,
		"This node is not in contact with its cluster. The write was not executed; retry it."))
	c.status(d, nil, false)
	c.x.Record.Reason, c.x.Record.Error = reasonIsolated, err.Error()
}

// failUncertain answers a write that the origin has executed, and that other members of the
// cluster may not have fenced.
func (c *call) failUncertain(err error, d telemetry.Decision) {
	const typ = "InternalServerError"
	c.answerBuilt(wire.ErrorStatus(typ), wire.AppendError(c.x.Reply.Buf[:0], typ,
		"This node has lost contact with its cluster; reads may not show the write for a while."))
	c.status(d, nil, false)
	c.x.Record.Reason, c.x.Record.Error = reasonIsolated, err.Error()
}

// notFound sends DynamoDB's page for requests outside its API.
func (c *call) notFound() {
	c.page(http.StatusNotFound, "", []byte("<UnknownOperationException/>\n"), reasonNotFound)
}

// appendCapacity appends a ConsumedCapacity object with the units that DynamoDB would have
// charged for the request.
func appendCapacity(dst, quotedTable []byte, mode byte, units float64) []byte {
	dst = append(dst, `{"TableName":`...)
	dst = append(dst, quotedTable...)
	dst = append(dst, `,"CapacityUnits":`...)
	dst = wire.AppendUnits(dst, units)
	if mode == 'i' {
		dst = append(dst, `,"Table":{"CapacityUnits":`...)
		dst = wire.AppendUnits(dst, units)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// readUnits returns the capacity units of an eventually consistent read of the given size.
func readUnits(size int) float64 { return float64(max(1, (size+4095)/4096)) / 2 }

// RateLimited answers a client over its rate limit with an error that makes AWS SDKs wait
// and retry.
func (s *Service) RateLimited(x *edge.Exchange) {
	c := s.calls.Get().(*call)
	c.begin(s, x)
	c.fail("ThrottlingException", "Rate of requests exceeds the allowed throughput.")
	c.release()
	s.calls.Put(c)
}
