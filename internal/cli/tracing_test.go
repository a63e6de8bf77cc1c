package cli

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kasoku/kasoku/internal/telemetry/live"
)

// spanCollector is a receiver of spans.
type spanCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
}

func newSpanCollector(t *testing.T) *spanCollector {
	c := &spanCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, rs := range data.ResourceSpans {
			for _, s := range rs.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// take returns the spans that have arrived, and forgets them.
func (c *spanCollector) take() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.spans
	c.spans = nil
	return all
}

// path returns the spans from the client's to the last one, by their kinds and names.
func path(spans []*tracepb.Span, trace, parent string) (kinds []string, last string) {
	for {
		i := slices.IndexFunc(spans, func(s *tracepb.Span) bool {
			return hex.EncodeToString(s.TraceId) == trace && hex.EncodeToString(s.ParentSpanId) == parent
		})
		if i < 0 {
			return kinds, parent
		}
		kinds = append(kinds, strings.ToLower(strings.TrimPrefix(spans[i].Kind.String(), "SPAN_KIND_"))+" "+spans[i].Name)
		parent = hex.EncodeToString(spans[i].SpanId)
	}
}

// TestTracing sends requests of a trace through two nodes, with services of every type. Each span
// has the one before it as its parent, and the origin gets the last one.
func TestTracing(t *testing.T) {
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	var mu sync.Mutex
	var got []string // traceparent fields that origins got
	spy := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if v := r.Header.Get("Traceparent"); v != "" {
				got = append(got, v)
			}
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	}
	web := httptest.NewServer(spy(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(w, "text")
	})))
	defer web.Close()
	relax := newRelax(t, "one")
	relax.Config.Handler = spy(relax.Config.Handler)
	collector := newSpanCollector(t)
	on := fmt.Sprintf("tracing: {otlp: %q, sample: 0}\n", collector.URL)
	back := run(t, on+head+`
  site: {type: http, listen: "127.0.0.1:0", origins: ["`+web.URL+`"]}
  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "%s", region: local, auth: {mode: none}}
  couch: {type: couchdb, listen: "127.0.0.1:0", nodes: ["`+relax.URL+`"]}
`)
	services := strings.NewReplacer("SITE", back.ServiceAddr("site").String(), "ORDERS", back.ServiceAddr("orders").String(), "AWAY", refusing(t)).Replace(head + `
  site: {type: http, listen: "127.0.0.1:0", origins: ["http://SITE"]}
  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "http://ORDERS", region: local, auth: {mode: none}}
  values: {type: memcached, listen: "127.0.0.1:0", servers: ["AWAY"], locations: [{path: /value, key: "k", fallback: "http://SITE"}]}
`)
	front := run(t, on+services)
	all, err := live.Parse("trace_id=" + trace) // not the requests of the service itself
	if err != nil {
		t.Fatal(err)
	}
	fronts, err := front.live.Open(all)
	if err != nil {
		t.Fatal(err)
	}
	backs, err := back.live.Open(all)
	if err != nil {
		t.Fatal(err)
	}
	// logged waits for a number of records, whose spans are made then, and sends the spans.
	logged := func(r *running, records *live.Reader, n int) {
		t.Helper()
		for n > 0 {
			lines, _, err := records.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n -= bytes.Count(lines, []byte("\n"))
		}
		closeExporter(r.tracer.Use(nil))
	}
	send := func(r *running, service, path, flags, body string) string {
		t.Helper()
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.ServiceAddr(service).String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-"+flags)
		if body != "" {
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
			req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s%s: %d, %v", service, path, resp.StatusCode, err)
		}
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(got, " ")
		got = nil
		return all
	}
	f := func(r *running, service, target, body, want string, sent bool) {
		t.Helper()
		origin := send(r, service, target, "01", body)
		servers := strings.Count(want, "server")
		if r == front {
			logged(front, fronts, 1)
			servers--
		}
		logged(back, backs, servers)
		kinds, last := path(collector.take(), trace, parent)
		if got := strings.Join(kinds, ", "); got != want {
			t.Errorf("%s%s: spans %s, want %s", service, target, got, want)
		}
		if field := "00-" + trace + "-" + last + "-01"; sent && origin != field {
			t.Errorf("%s%s: the origin got the field %q, want %q", service, target, origin, field)
		}
		front.mustReload(on + services)
		if err := back.Reload(back.load); err != nil {
			t.Fatal(err)
		}
	}
	const item = `{"TableName":"t","Key":{"id":{"S":"1"}}}`
	f(front, "site", "/a", "", "server GET /a, client GET, server GET /a, client GET", true)
	f(front, "site", "/a", "", "server GET /a", false)
	f(front, "values", "/value", "", "server GET /value, client GET, server GET /value, client GET", true)
	f(front, "orders", "/", item, "server GetItem t, client GetItem t, server GetItem t, client GetItem t", false)
	f(front, "orders", "/", item, "server GetItem t", false)
	f(back, "couch", "/db/a", "", "server GET db, client GET db", true)

	if got := send(front, "site", "/b", "00", ""); got != "00-"+trace+"-"+parent+"-00" {
		t.Errorf("a request that is not sampled: the origin got %s", got)
	}
	logged(back, backs, 1)
	back.mustReload(head + `  site: {type: http, listen: "127.0.0.1:0", origins: ["` + web.URL + `"]}` + "\n")
	if got := send(front, "site", "/c", "01", ""); !strings.HasPrefix(got, "00-"+trace) || strings.Contains(got, parent) {
		t.Errorf("without tracing in the second node: the origin got %s", got)
	}
	front.mustReload(services)
	if got := send(front, "site", "/d", "01", ""); got != "00-"+trace+"-"+parent+"-01" {
		t.Errorf("without tracing: the origin got %s", got)
	}
	front.retirement.Wait()
	if kinds, _ := path(collector.take(), trace, parent); strings.Join(kinds, ", ") != "server GET /c, client GET" {
		t.Errorf("with tracing in the first node: spans %v", kinds)
	}
}

// outline returns the spans of requests in the order of their times, each with those below it.
func outline(spans []*tracepb.Span, parent string, indent string) (text string) {
	slices.SortStableFunc(spans, func(a, b *tracepb.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	for _, s := range spans {
		if hex.EncodeToString(s.ParentSpanId) != parent {
			continue
		}
		text += indent + strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")) + " " + s.Name
		for _, a := range s.Attributes {
			if a.Key == "kasoku.decision" {
				text += ", " + a.Key + "=" + a.Value.GetStringValue()
			}
		}
		text += "\n" + outline(spans, hex.EncodeToString(s.SpanId), indent+"  ")
	}
	return text
}

var (
	tracedConfig  = regexp.MustCompile("(?s)```yaml\n(tracing: .*?)```")
	tracedCommand = regexp.MustCompile(`(?m)^    curl -s -H '(traceparent): 00-([0-9a-f]{32})-([0-9a-f]{16})-01' http://127\.0\.0\.1:8088(\S+)$`)
	tracedSpans   = regexp.MustCompile(`(?m)(?:^    (?:server|  client) .*\n)+`)
)

// TestTracingInDocs follows docs/observability.md: it sends the request twice, and compares the
// spans that the collector gets, and the parent that the origin gets, with those on the page.
func TestTracingInDocs(t *testing.T) {
	page := pages(t)["observability.md"]
	cfg, command, want := tracedConfig.FindStringSubmatch(page), tracedCommand.FindStringSubmatch(page), tracedSpans.FindString(page)
	if cfg == nil || command == nil || want == "" {
		t.Fatal("the page has no configuration, no command or no spans")
	}
	fields := make(chan string, 2)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { fields <- r.Header.Get("Traceparent") }))
	defer web.Close()
	collector := newSpanCollector(t)
	r := run(t, "admin: {listen: 127.0.0.1:0}\n"+strings.NewReplacer("http://127.0.0.1:4318", collector.URL, "127.0.0.1:8088", "127.0.0.1:0", "http://127.0.0.1:3000", web.URL).Replace(cfg[1]))
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.ServiceAddr("site").String()+command[4], nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(command[1], "00-"+command[2]+"-"+command[3]+"-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	r.settle("site")
	r.stop() // sends the spans that wait
	spans := collector.take()
	if got := outline(spans, command[3], "    "); got != want {
		t.Errorf("got the spans\n%s, want\n%s", got, want)
	}
	i := slices.IndexFunc(spans, func(s *tracepb.Span) bool { return s.Kind == tracepb.Span_SPAN_KIND_CLIENT })
	if i < 0 {
		t.Fatal("there is no span of the origin")
	}
	if got, want := <-fields, "00-"+command[2]+"-"+hex.EncodeToString(spans[i].SpanId)+"-01"; got != want {
		t.Errorf("the origin got %s, want %s", got, want)
	}
}
