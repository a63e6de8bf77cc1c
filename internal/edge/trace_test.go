package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// sampler exports the requests whose traceparent has the flag, and with all also those without one.
type sampler struct {
	all    bool
	fields []string
}

func (s *sampler) Start(traceparent []byte) *telemetry.Trace {
	s.fields = append(s.fields, string(traceparent))
	if telemetry.TraceID(traceparent) != nil && telemetry.IsSampled(traceparent) || traceparent == nil && s.all {
		return telemetry.NewTrace(traceparent)
	}
	return nil
}

// TestPropagate checks the fields that an origin gets, and that the record has the trace.
func TestPropagate(t *testing.T) {
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	log, tracer := newRecords(), &sampler{}
	var sent http1.Fields
	same := false
	c := dial(t, start(t, Config{Log: log, Tracer: tracer, Handler: HandlerFunc(func(x *Exchange) {
		before := slices.Clone(x.Request.Fields)
		fields := x.Propagate(x.Request.Fields)
		same = &fields[0] == &x.Request.Fields[0] && len(fields) == len(x.Request.Fields)
		if sent = x.Propagate(x.Request.Fields).Clone(); !slices.EqualFunc(x.Request.Fields, before, equalFields) {
			t.Errorf("the client's fields were changed: %q", x.Request.Fields)
		}
		x.Reply.Status = http.StatusNoContent
	})}))
	f := func(fields string, traced bool, want ...string) telemetry.Record {
		t.Helper()
		tracer.fields = nil
		c.send(head(fields))
		c.read("GET")
		r := log.next(t)
		if len(tracer.fields) != 1 {
			t.Errorf("the tracer has decided %d times", len(tracer.fields))
		}
		if same == traced || (r.Trace != nil) != traced {
			t.Fatalf("%q: fields unchanged: %v, trace: %v", fields, same, r.Trace)
		}
		var got []string
		for _, field := range sent {
			if !field.Is("Host") {
				got = append(got, strings.ToLower(string(field.Name))+": "+string(field.Value))
			}
		}
		if traced {
			want = append(want, fmt.Sprintf("traceparent: 00-%s-%x-%s", r.Trace.HexID(), r.Trace.Origin, sent.Get(traceparent)[53:]))
			if !r.Trace.Sent || string(r.TraceID) != string(r.Trace.HexID()) {
				t.Errorf("the record has %+v and the trace id %s", r.Trace, r.TraceID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: the origin gets %q, want %q", fields, got, want)
		}
		return r
	}
	f("", false)
	f("Traceparent: 00-"+id+"-"+parent+"-00\r\nTracestate: a=b\r\n", false, "traceparent: 00-"+id+"-"+parent+"-00", "tracestate: a=b")
	r := f("X-A: b\r\nTraceparent: 00-"+id+"-"+parent+"-01\r\nTracestate: a=b\r\n", true, "x-a: b", "tracestate: a=b")
	if string(r.TraceID) != id || fmt.Sprintf("%x", r.Trace.Parent) != parent {
		t.Errorf("the record has %s, %x", r.TraceID, r.Trace.Parent)
	}
	f("traceparent: 00-"+id+"-"+parent+"-01\r\ntraceparent: 00-"+id+"-"+parent+"-00\r\n", true)
	f("traceparent: nonsense\r\nTracestate: a=b\r\n", false, "traceparent: nonsense", "tracestate: a=b")
	tracer.all = true
	f("X-A: b\r\nTracestate: a=b\r\n", true, "x-a: b")
}

func equalFields(a, b http1.Field) bool {
	return string(a.Name) == string(b.Name) && string(a.Value) == string(b.Value)
}
