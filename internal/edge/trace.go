package edge

import (
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

const traceparent = "Traceparent"

// trace returns the place of the exchange in its trace if it is exported as spans, nil otherwise.
// That is decided once. parent is the request's traceparent.
func (x *Exchange) trace(parent []byte) *telemetry.Trace {
	if !x.traced && x.srv != nil && x.srv.cfg.Tracer != nil {
		x.traced = true
		x.Record.Trace = x.srv.cfg.Tracer.Start(parent)
	}
	return x.Record.Trace
}

// Propagate returns the fields of a request to the origin that is made of this one. If the exchange
// is exported as spans, traceparent has the span of the request to the origin as the parent, and
// fields is copied; otherwise fields is returned unchanged.
func (x *Exchange) Propagate(fields http1.Fields) http1.Fields {
	t := x.trace(x.Request.Get(traceparent))
	if t == nil {
		return fields
	}
	t.Sent = true
	begins := t.Parent == [8]byte{} // then tracestate, if any, is of an invalid traceparent
	all := make(http1.Fields, 0, len(fields)+1)
	for _, f := range fields {
		if !f.Is(traceparent) && !(begins && f.Is("Tracestate")) {
			all = append(all, f)
		}
	}
	return append(all, http1.Field{Name: []byte("traceparent"), Value: t.Traceparent()})
}
