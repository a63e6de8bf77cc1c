package tracing

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// maxText is the maximum length of an attribute's text.
const maxText = 1024

// identities gives spans the identities that are in their context.
type identities struct{}

type identityKey struct{}

// identity is the identity of the next span of a context.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

func withIdentity(ctx context.Context, t *telemetry.Trace, span [8]byte) context.Context {
	return context.WithValue(ctx, identityKey{}, identity{t.ID, span})
}

// NewIDs returns the identity of a span without a parent.
func (identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, _ := ctx.Value(identityKey{}).(identity)
	return id.trace, id.span
}

// NewSpanID returns the identity of a span with a parent.
func (identities) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := ctx.Value(identityKey{}).(identity)
	return id.span
}

// export makes the spans of a record.
func (e *Exporter) export(r *telemetry.Record) {
	asked := asksOrigin(r)
	n := int64(1)
	if asked {
		n = 2
	}
	if !e.reserve(n) {
		return
	}
	t := r.Trace
	ctx := withIdentity(context.Background(), t, t.Span)
	if parent := trace.SpanID(t.Parent); parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: t.ID, SpanID: parent, TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	service := e.services[r.Service]
	ctx, span := e.tracer.Start(ctx, spanName(r, target(r)), trace.WithTimestamp(r.Time), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(operation(r, &service, service.System)...), trace.WithAttributes(request(r, &service)...))
	if asked {
		e.exportOrigin(withIdentity(ctx, t, t.Origin), r, &service)
	}
	markFailure(span, r)
	span.End(trace.WithTimestamp(r.Time.Add(r.Duration)))
}

// markFailure sets the status of a span of a request that failed.
func markFailure(span trace.Span, r *telemetry.Record) {
	if r.Status >= 500 || r.Status == 0 {
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType(r)))
		span.SetStatus(codes.Error, text(r.Error))
	}
}

// asksOrigin reports whether a record has a span for the request to the origin. A refresh in the
// background was not waited for, but the origin's own spans refer to that span.
func asksOrigin(r *telemetry.Record) bool { return r.Origin > 0 || r.Trace.Sent }

// exportOrigin makes the span of the request to the origin. One that waited for the request of
// another client has sent none.
func (e *Exporter) exportOrigin(ctx context.Context, r *telemetry.Record, service *Service) {
	kind, name, system := trace.SpanKindClient, spanName(r, r.Table), service.System
	if service.Fallback {
		system = ""
	}
	a := operation(r, service, system)
	switch {
	case r.Decision == telemetry.Coalesced:
		kind, name = trace.SpanKindInternal, "wait for "+name
	case service.Host != "":
		a = append(a, semconv.ServerAddress(service.Host), semconv.ServerPort(service.Port))
	}
	start := r.Time.Add(r.Asked)
	_, span := e.tracer.Start(ctx, name, trace.WithTimestamp(start), trace.WithSpanKind(kind), trace.WithAttributes(a...))
	if r.Origin > 0 {
		markFailure(span, r)
	}
	span.End(trace.WithTimestamp(start.Add(r.Origin)))
}

// target returns the table of a request, or its route.
func target(r *telemetry.Record) []byte {
	if len(r.Table) > 0 {
		return r.Table
	}
	return r.Route
}

// spanName returns the operation and its target. The targets that clients make up do not become
// names of spans: the request must have succeeded.
func spanName(r *telemetry.Record, target []byte) string {
	name := r.Operation
	if name == "" || name == "other" {
		name = "HTTP"
	}
	if len(target) > 0 && r.Status >= 200 && r.Status < 400 {
		name += " " + text(string(target))
	}
	return name
}

// operation returns the attributes that both spans have. system is the database, empty if it is
// none.
func operation(r *telemetry.Record, service *Service, system string) []attribute.KeyValue {
	a := make([]attribute.KeyValue, 0, 8)
	if system != "" {
		a = append(a, semconv.DBSystemNameKey.String(system))
		if r.Operation != "" {
			a = append(a, semconv.DBOperationName(r.Operation))
		}
	}
	if len(r.Table) > 0 {
		a = append(a, semconv.DBCollectionName(text(string(r.Table))))
	}
	if service.HTTP && r.Operation != "" {
		method := r.Operation
		if method == "other" {
			method = "_OTHER"
		}
		a = append(a, semconv.HTTPRequestMethodKey.String(method))
	}
	return a
}

// request returns the attributes of the request's span. They hold no more than the access log.
func request(r *telemetry.Record, service *Service) []attribute.KeyValue {
	a := make([]attribute.KeyValue, 0, 16)
	a = append(a, attribute.String("kasoku.decision", r.Decision.String()))
	add := func(key attribute.Key, value string) {
		if value != "" {
			a = append(a, key.String(text(value)))
		}
	}
	add("kasoku.service", r.Service)
	add("kasoku.reason", r.Reason)
	add("kasoku.error", r.Error)
	add("kasoku.node", r.Node)
	add("kasoku.request_id", string(r.RequestID))
	add(semconv.UserAgentOriginalKey, string(r.UserAgent))
	if r.Client.IsValid() {
		add(semconv.ClientAddressKey, r.Client.Addr().Unmap().WithZone("").String())
	}
	if r.Status != 0 {
		a = append(a, semconv.HTTPResponseStatusCode(r.Status))
	}
	if service.HTTP {
		add(semconv.HTTPRouteKey, string(r.Route))
		add(semconv.URLPathKey, string(r.Path))
		scheme := "http"
		if r.TLS {
			scheme = "https"
		}
		add(semconv.URLSchemeKey, scheme)
	}
	return a
}

// errorType returns the kind of a failed request: its status.
func errorType(r *telemetry.Record) string {
	if r.Status == 0 {
		return "unsent"
	}
	return strconv.Itoa(r.Status)
}

// text returns s as valid UTF-8, without which a whole batch would be refused.
func text(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
