package accel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

const (
	targetPrefix  = "DynamoDB_20120810."
	streamsPrefix = "DynamoDBStreams_20120810."
	jsonType      = "application/x-amz-json-1.0"
	fieldCRC      = "X-Amz-Crc32"
	fieldID       = "X-Amzn-Requestid"
)

const getItemTarget = targetPrefix + "GetItem"

// getItemHeader is that of the most frequent request.
var getItemHeader = http1.FieldsOf("X-Amz-Target", getItemTarget, "Content-Type", jsonType)

// sendOrigin sends a read request in DynamoDB's JSON protocol. target is the complete
// X-Amz-Target.
func (s *Service) sendOrigin(ctx context.Context, from sender, target string, body []byte) (*origin.Response, error) {
	set := s.settings.Load()
	r := readRequest(from, target, body)
	resp, err := set.origin.Do(ctx, r)
	if set.cfg.Local {
		s.refusedLocally(r, resp)
	}
	return resp, err
}

func (s *settings) send(ctx context.Context, from sender, target string, body []byte) (*origin.Response, error) {
	return sendTo(ctx, s.origin, from, target, body)
}

// sendTo sends a request in DynamoDB's JSON protocol that may be repeated.
func sendTo(ctx context.Context, to Origin, from sender, target string, body []byte) (*origin.Response, error) {
	return to.Do(ctx, readRequest(from, target, body))
}

// readRequest returns a request in DynamoDB's JSON protocol that may be repeated.
func readRequest(from sender, target string, body []byte) *origin.Request {
	header := getItemHeader
	if target != getItemTarget {
		header = http1.FieldsOf("X-Amz-Target", target, "Content-Type", jsonType)
	}
	if len(from.trace) > 0 {
		header = append(slices.Clip(header), from.trace...)
	}
	return &origin.Request{
		Method:     http.MethodPost,
		Path:       "/",
		Header:     header,
		Body:       body,
		Repeatable: true,
		Principal:  from.principal,
		Shape:      from.shape,
	}
}

// readOrigin sends a read request of the service itself and returns the body of a successful
// response.
func (s *settings) readOrigin(ctx context.Context, operation string, body []byte) ([]byte, error) {
	r := readRequest(sender{}, targetPrefix+operation, body)
	r.Own = true
	resp, err := s.origin.Do(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	if resp.Status == http.StatusOK {
		return resp.Body, nil
	}
	typ := wire.ErrorType(resp.Body)
	if string(typ) == "ResourceNotFoundException" {
		return nil, fmt.Errorf("%s: %w", operation, errNoTable)
	}
	return nil, fmt.Errorf("%s: the origin answered %d %s", operation, resp.Status, typ)
}

// forward sends the client's request with the given body. The response may be built in buf.
// cw is nil for a read, which may be repeated.
func (c *call) forward(ctx context.Context, body, buf []byte, cw *cache.Write) (*origin.Response, error) {
	var guard func() bool
	if cw != nil {
		c.writeSent, guard = true, cw.Guard()
	}
	to := c.set.origin
	if c.op.Name == "SearchVectors" {
		to = c.set.search
	}
	r := origin.Request{
		Method: string(c.x.Request.Method), Path: string(c.x.Request.Path), RawQuery: "",
		Header: c.forwardedHeader(), Body: body, Repeatable: cw == nil, Guard: guard, Buf: buf,
	}
	if c.svc.ledger != nil {
		r.Principal, r.Shape = string(c.x.Record.Principal), c.x.Record.Shape
	}
	start := time.Now()
	resp, err := to.Do(ctx, &r)
	c.x.Record.Waited(start)
	if c.set.cfg.Local {
		c.svc.refusedLocally(&r, resp)
	}
	return resp, err
}

// forwardedHeader returns the client's header fields that are forwarded to the origin: the
// first of each field that describes the format of the request, AWS's own fields and the fields of
// a trace, except those of the connection, the signature and the body's encoding. The operation is
// the one whose permission was checked: the first X-Amz-Target, or none for the protocol with the
// operation in the path.
func (c *call) forwardedHeader() http1.Fields {
	if c.set.cfg.Local { // it needs no other fields
		r := &c.x.Request
		return http1.Fields{{Name: nameTarget, Value: r.Get("X-Amz-Target")}, {Name: nameContentType, Value: r.Get("Content-Type")}, {Name: nameHost, Value: r.Host}}
	}
	h := make(http1.Fields, 0, 8)
	once := func(name []byte, otherwise []byte) {
		if v := c.x.Request.Get(string(name)); v != nil {
			otherwise = v
		}
		if otherwise != nil {
			h = append(h, http1.Field{Name: name, Value: otherwise})
		}
	}
	once(nameContentType, []byte(jsonType))
	once(nameAccept, nil)
	if string(c.x.Request.Path) == "/" {
		once(nameTarget, nil)
	} else {
		once(nameProtocol, nil)
	}
	for _, f := range c.x.Request.Fields {
		if forwarded(f.Name) && (c.set.cfg.Underscores || bytes.IndexByte(f.Name, '_') < 0) {
			h = append(h, f)
		}
	}
	return c.x.Propagate(h)
}

var (
	nameContentType = []byte("Content-Type")
	nameAccept      = []byte("Accept")
	nameHost        = []byte("Host")
	nameTarget      = []byte("X-Amz-Target")
	nameProtocol    = []byte("Smithy-Protocol")
)

// isTrace reports whether a field names the trace to which a request belongs: by W3C's Trace
// Context, or for X-Ray.
func isTrace(name []byte) bool {
	f := http1.Field{Name: name}
	return f.Is("Traceparent") || f.Is("Tracestate") || f.Is("X-Amzn-Trace-Id")
}

// traceFields returns a copy of the trace fields for the origin, for a fill that may outlive the
// request. Most requests have none.
func (c *call) traceFields() http1.Fields {
	var trace http1.Fields
	for i := range c.x.Request.Fields {
		if f := &c.x.Request.Fields[i]; isTrace(f.Name) {
			trace = append(trace, *f)
		}
	}
	if trace = c.x.Propagate(trace); trace == nil {
		return nil
	}
	return trace.Clone()
}

// forwarded reports whether a field is one of AWS's, or of a trace, that forwardedHeader copies.
func forwarded(name []byte) bool {
	has := func(prefix string) bool {
		return len(name) >= len(prefix) && bytes.EqualFold(name[:len(prefix)], []byte(prefix))
	}
	is := func(s string) bool { return len(name) == len(s) && has(s) }
	return isTrace(name) || has("X-Amz-") && !is("X-Amz-Target") && !is("X-Amz-Date") && !is("X-Amz-Security-Token") && !is("X-Amz-Content-Sha256")
}

// classify returns whether a request with this response may be repeated. A response that
// doesn't match its checksum or isn't JSON is a failure of the origin: reads may be
// repeated, the outcome of a write is unknown.
func classify(status int, h http1.Fields, body []byte) origin.Class {
	switch {
	case status >= 500:
		if throttles[string(wire.ErrorType(body))] {
			return origin.Throttled
		}
		return origin.Failed
	case status == http.StatusOK:
		if !intact(h, body) {
			return origin.Failed
		}
		return origin.Good
	case status < 400:
		return origin.Failed
	case throttles[string(wire.ErrorType(body))]:
		return origin.Throttled
	}
	return origin.Refused
}

// throttles are the errors that mean: nothing was executed, retry later.
var throttles = map[string]bool{
	"ProvisionedThroughputExceededException": true,
	"ThrottlingException":                    true,
	"ThrottledException":                     true,
	"RequestLimitExceeded":                   true,
	"RequestThrottled":                       true,
	"SlowDown":                               true,
}

func intact(h http1.Fields, body []byte) bool {
	if want := h.Get(fieldCRC); want != nil {
		n, err := strconv.ParseUint(string(want), 10, 32)
		if err != nil || uint32(n) != crc32.ChecksumIEEE(body) {
			return false
		}
	}
	if bytes.Contains(h.Get("Content-Type"), []byte("cbor")) {
		return true
	}
	return len(body) == 0 || wire.Valid(body, wire.MaxDepth)
}

// mayHaveExecuted reports whether a failed request may have been executed.
func mayHaveExecuted(err error) bool {
	var f *origin.Fault
	return !errors.As(err, &f) || f.Reached
}
