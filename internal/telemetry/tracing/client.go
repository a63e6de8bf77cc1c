package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/kasoku/kasoku/internal/pause"
)

// client sends spans to a collector by OTLP over HTTP. The client of OpenTelemetry's own exporter
// needs gRPC and takes settings from the environment.
type client struct {
	url      string
	headers  http.Header
	http     *http.Client
	hard     context.Context
	resource *resourcepb.Resource
}

// Times of an export.
const (
	attemptTime = 10 * time.Second
	firstPause  = 500 * time.Millisecond
	longPause   = 8 * time.Second
)

// maxAnswer is the maximum size of a collector's answer that is read.
const maxAnswer = 64 << 10

func newClient(c *Config, hard context.Context, id []attribute.KeyValue) *client {
	resource := &resourcepb.Resource{}
	for _, a := range id {
		resource.Attributes = append(resource.Attributes, &commonpb.KeyValue{
			Key: string(a.Key), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: a.Value.AsString()}},
		})
	}
	return &client{
		url: c.URL, headers: c.Headers, hard: hard, resource: resource,
		http: &http.Client{
			Transport:     &http.Transport{TLSClientConfig: c.TLS, MaxIdleConns: 1, MaxConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the fields may be secret
			Timeout:       attemptTime,
		},
	}
}

// Start does nothing: the first export connects.
func (c *client) Start(context.Context) error { return nil }

// Stop closes the connection.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. A collector that is away or busy is tried again until ctx ends.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.hard, cancel)()
	for _, s := range spans {
		s.Resource = c.resource // the SDK has added OTEL_RESOURCE_ATTRIBUTES
	}
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	for wait := firstPause; ; wait = min(2*wait, longPause) {
		again, err := c.post(ctx, body)
		if err == nil || again < 0 {
			return err
		}
		if !pause.For(ctx, max(again, wait/2+rand.N(wait/2))) {
			return err
		}
	}
}

// post sends a request once. With an error it returns after how long to try again at the earliest;
// a negative time: not at all.
func (c *client) post(ctx context.Context, body []byte) (again time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for name, values := range c.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "kasoku")
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if err != nil {
			return -1, nil // the spans have arrived
		}
		return -1, partial(answer)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16)
		return time.Duration(seconds) * time.Second, fmt.Errorf("the collector answered %s", resp.Status)
	}
	return -1, &refusal{message: "the collector answered " + resp.Status}
}

// partial returns an error if an ExportTraceServiceResponse has a partial success with refused
// spans. Its Go package would need gRPC.
func partial(answer []byte) error {
	var spans uint64
	var message []byte
	walk(answer, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number != 1 || kind != protowire.BytesType {
			return
		}
		success, _ := protowire.ConsumeBytes(value)
		walk(success, func(number protowire.Number, kind protowire.Type, value []byte) {
			switch {
			case number == 1 && kind == protowire.VarintType:
				spans, _ = protowire.ConsumeVarint(value)
			case number == 2 && kind == protowire.BytesType:
				message, _ = protowire.ConsumeBytes(value)
			}
		})
	})
	if spans == 0 {
		return nil
	}
	return &refusal{fmt.Sprintf("the collector refused %d spans: %q", spans, message), spans}
}

// walk calls f with the members of a message, up to one that is malformed.
func walk(message []byte, f func(protowire.Number, protowire.Type, []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return
		}
		f(number, kind, message[n:n+size])
		message = message[n+size:]
	}
}
