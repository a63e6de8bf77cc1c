package accel

import (
	"bytes"
	"context"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// call is the state of one exchange. It is pooled and its buffers are reused, so nothing
// that outlives the exchange (a fill, a table) may reference them.
type call struct {
	svc       *Service
	set       *settings
	x         *edge.Exchange
	op        *wire.Operation
	principal *principal
	now       int64 // time of the exchange by the cache's clock

	name    []byte     // decoded table name
	m       [24][]byte // members of the request, in the order of the operation's list
	key     []byte     // a cache key
	text    []byte     // decoded expression
	scratch []byte

	names      expr.Names
	values     expr.Values
	projection expr.Projection
	condition  expr.KeyCondition
	batch      batch

	pass telemetry.Decision // of a read that isn't served from the cache

	permitted   bool // all permissions have been checked
	writeSent   bool // a request that must not be repeated has been sent
	encoded     bool // the reply has a Content-Encoding
	explainOnly bool // for Explain: must not send anything to the origin
}

func (c *call) begin(s *Service, x *edge.Exchange) {
	c.svc, c.set, c.x = s, s.settings.Load(), x
	c.principal, c.op = nil, nil
	c.now = s.cache.At(x.Now())
	c.name, c.pass = c.name[:0], telemetry.BypassUncacheable
	c.permitted, c.writeSent, c.encoded, c.explainOnly = false, false, false, false
	x.Record.Service = s.name
	if x.Record.Principal == nil { // a front of another protocol has set it
		x.Record.Principal = sigv4.KeyID(x.Request.Get("Authorization"))
	}
}

// release drops the references to the exchange.
func (c *call) release() {
	c.x, c.set, c.op, c.principal = nil, nil, nil, nil
	clear(c.m[:])
	c.batch.reset()
}

// members reads the members of obj called names into c.m. known is false if obj has others:
// a newer option of an operation might change its meaning, so such a request isn't served
// from the cache. ok is false if obj isn't an object or has one of the members twice.
func (c *call) members(obj []byte, names []string) (known, ok bool) {
	clear(c.m[:len(names)])
	known = true
	it := wire.Object(obj)
	for it.Next() {
		i := find(it.Name(), names)
		if i < 0 {
			known = false
			continue
		}
		if c.m[i] != nil {
			return false, false
		}
		v := it.Value()
		if wire.Kind(v) == 'n' {
			// A null member counts as absent, but also as seen.
			v = v[:0]
		}
		c.m[i] = v
	}
	for i := range names {
		if len(c.m[i]) == 0 {
			c.m[i] = nil
		}
	}
	return known, !it.Err()
}

func find(raw []byte, names []string) int {
	for i, n := range names {
		if string(raw) == n {
			return i
		}
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return -1
	}
	for i, n := range names {
		if wire.NameIs(raw, n) {
			return i
		}
	}
	return -1
}

// setTable decodes a TableName into c.name and the access record. It returns false for an
// ARN, which may belong to another account, and for invalid names.
func (c *call) setTable(quoted []byte) bool {
	c.name = c.name[:0]
	if wire.Kind(quoted) != '"' {
		return false
	}
	name, ok := wire.AppendExact(c.name[:0], quoted)
	if !ok {
		return false
	}
	c.name = name
	// The record outlives the call and must not alias c.name.
	if c.x.Record.Table, ok = wire.Plain(quoted); !ok {
		c.x.Record.Table = bytes.Clone(name)
	}
	return len(name) > 0 && !bytes.HasPrefix(name, []byte("arn:"))
}

// isTrue parses a boolean member. ok is false for any other value.
func isTrue(v []byte) (yes, ok bool) {
	switch {
	case v == nil, string(v) == "false":
		return false, true
	case string(v) == "true":
		return true, true
	}
	return false, false
}

// capacityMode parses ReturnConsumedCapacity: 0 for none, 't' or 'i'.
func capacityMode(v []byte) (mode byte, ok bool) {
	switch {
	case v == nil || isText(v, "NONE"):
		return 0, true
	case isText(v, "TOTAL"):
		return 't', true
	case isText(v, "INDEXES"):
		return 'i', true
	}
	return 0, false
}

// isText reports whether v is a JSON string equal to text, in any spelling.
func isText(v []byte, text string) bool {
	return wire.Kind(v) == '"' && wire.NameIs(v[1:len(v)-1], text)
}

// deadline returns the exchange's context, limited by the deadline that AWS SDKs send with
// each attempt (for example amz-sdk-request: attempt=1; max=3; ttl=20260102T030405Z). A
// local store has no deadline: it answers faster than a disconnect is noticed, and watching
// the client would cost as much as reading an item.
func (c *call) deadline() (context.Context, context.CancelFunc) {
	if c.set.cfg.Local {
		return context.Background(), func() {}
	}
	return c.until(c.x.Context())
}

// until limits ctx by the client's deadline.
func (c *call) until(ctx context.Context) (context.Context, context.CancelFunc) {
	until, ok := sdkDeadline(c.x.Request.Get("amz-sdk-request"))
	if !ok || !until.After(c.x.Now()) {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, until)
}

func sdkDeadline(field []byte) (time.Time, bool) {
	_, rest, ok := bytes.Cut(field, []byte("ttl="))
	if !ok {
		return time.Time{}, false
	}
	rest, _, _ = bytes.Cut(rest, []byte(";"))
	t, err := time.Parse("20060102T150405Z", string(bytes.TrimSpace(rest)))
	return t, err == nil
}

// setDecision records how the exchange was answered.
func (c *call) setDecision(d telemetry.Decision) { c.x.Record.Decision = d }
