package tracing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is a receiver of OTLP. It answers with the statuses in answers, then with 200.
type collector struct {
	*httptest.Server
	t       *testing.T
	got     chan struct{} // a request has been answered
	release chan struct{} // not nil: an answer waits for it

	mu       sync.Mutex
	answers  []int
	body     []byte // of answers
	heads    []http.Header
	resource []*commonpb.KeyValue
	spans    []*tracepb.Span
}

func newCollector(t *testing.T, answers ...int) *collector {
	c := &collector{t: t, answers: answers, got: make(chan struct{}, 1000)}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // cut by a test
	}
	if c.release != nil {
		select {
		case <-c.release:
		case <-r.Context().Done():
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.got <- struct{}{} }()
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	c.heads = append(c.heads, r.Header)
	if len(c.answers) > 0 {
		status := c.answers[0]
		c.answers = c.answers[1:]
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		return
	}
	for _, rs := range data.ResourceSpans {
		c.resource = rs.Resource.Attributes
		for _, s := range rs.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	_, _ = w.Write(c.body)
}

// all returns the received spans, in the order of their times.
func (c *collector) all() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// attributes returns attributes by their names.
func attributes(list []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.Key] = int(v.IntValue)
		default:
			m[a.Key] = v
		}
	}
	return m
}
