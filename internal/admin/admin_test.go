package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/history"
	"github.com/kasoku/kasoku/internal/telemetry/live"
)

var rewrite = flag.Bool("rewrite", false, "write the actual output to testdata")

// group is a service that implements Drainer.
type group struct{ *fake }

func (g *group) Drain(_ context.Context, r DrainRequest) (DrainResult, error) {
	if g.fail != nil {
		return DrainResult{}, g.fail
	}
	return DrainResult{Origin: r.Origin, State: map[bool]string{false: "drained", true: "up"}[r.Undo], InFlight: 2}, nil
}

// spread is a service that implements Ringer.
type spread struct{ *fake }

func (s *spread) Ring(key string) RingPlace {
	if key == "a b" {
		return RingPlace{Key: key, Trouble: "bad-key"}
	}
	return RingPlace{Key: key, RingSpot: &RingSpot{Hash: 7, Point: 9, Server: "10.0.0.1:11211", Sent: "ns:" + key}}
}

// fake is a service whose answers are set by the test.
type fake struct {
	name   string
	report Report
	ready  error
	purged []PurgeRequest
	fail   error
}

func (f *fake) Name() string   { return f.name }
func (f *fake) Report() Report { return f.report }
func (f *fake) Ready() error   { return f.ready }

func (f *fake) Explain(_ context.Context, r ExplainRequest) (Explanation, error) {
	if f.fail != nil {
		return Explanation{}, f.fail
	}
	return Explanation{Decision: "hit", Steps: []Step{{What: "body", Value: string(r.Body), Note: r.Headers["X-Amz-Target"]}}}, nil
}

func (f *fake) Purge(_ context.Context, r PurgeRequest) (PurgeResult, error) {
	if f.fail != nil {
		return PurgeResult{}, f.fail
	}
	f.purged = append(f.purged, r)
	return PurgeResult{Dropped: "everything of table " + r.Table, Tags: 1}, nil
}

func example() (*Overview, *fake) {
	orders := &fake{name: "orders", report: Report{
		Type:   "dynamodb",
		Origin: Origin{URL: "https://dynamodb.eu-west-1.amazonaws.com", Breaker: "closed", Limit: 128, InFlight: 3, Requests: 123456, Attempts: 123460, Retries: 4},
		Cache:  Usage{Entries: 1234567, Bytes: 3 << 30, Capacity: 4 << 30, Evictions: 12, Shared: true},
		Decisions: map[telemetry.Decision]uint64{
			telemetry.Hit: 970_000, telemetry.HitNegative: 10_000, telemetry.Miss: 20_000, telemetry.Write: 5_000,
		},
	}}
	users := &fake{name: "users", ready: errors.New("the origin's breaker is open"), report: Report{
		Type: "dynamodb", Origin: Origin{URL: "http://127.0.0.1:8001", Breaker: "open"},
		Cache: Usage{Capacity: 512 << 20}, Notes: []string{"table people: its schema could not be read"},
	}}
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return &Overview{
		Version: "v1.2.3", Started: start, Now: start.Add(3*time.Hour + 2*time.Minute),
		Services: []Mounted{
			{Service: orders, Listen: "127.0.0.1:8000", Connections: 17, Accepting: true},
			{Service: users, Listen: "127.0.0.1:8002", TLS: true, Accepting: true,
				DAX: &Listener{Address: "127.0.0.1:9111", TLS: true, Accepting: true, Connections: 3}},
		},
		AccessLog: telemetry.LogStats{
			Written: 1000, Dropped: 2, Pending: 7, Spilled: 300, SpillBytes: 100_000,
			Trouble: "tcp://10.0.0.9:24224 is down: connection refused",
		},
		Config: ConfigStatus{
			File: "kasoku.yaml", Loaded: start, Tried: start.Add(time.Hour),
			Problems: []string{`kasoku.yaml:3:1: unknown key "x"`}, Pending: []string{"cache.memory"},
			Running: json.RawMessage(`{"services":{}}`),
		},
	}, orders
}

// start serves the overview and returns the base URL.
func start(t *testing.T, o *Overview, token string) string {
	t.Helper()
	return startLive(t, o, token, &live.Log{})
}

// startLive is start with the records of a log.
func startLive(t *testing.T, o *Overview, token string, log *live.Log) string {
	t.Helper()
	s, err := Listen(Config{
		Listen: "127.0.0.1:0", Token: token, Metrics: telemetry.NewRegistry(),
		Overview: func() Overview { return *o }, Live: log, Log: slog.New(slog.DiscardHandler),
		History: history.New(func() []history.Totals { return o.Totals() }),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + s.Addr().String()
}

type header map[string]string

func send(t *testing.T, method, url, body string, h header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range h {
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func TestRoutes(t *testing.T) {
	o, orders := example()
	base := start(t, o, "")
	f := func(method, path, body string, status int, want string) {
		t.Helper()
		got, text := send(t, method, base+path, body, nil)
		if got != status || !strings.Contains(text, want) {
			t.Fatalf("%s %s: %d %s; want %d with %s", method, path, got, text, status, want)
		}
	}
	f("GET", "/", "", 200, "/api/v1/purge")
	f("GET", "/metrics", "", 200, "go_goroutines")
	f("GET", "/healthz", "", 200, "ok")
	f("GET", "/readyz", "", 200, "ready\norders: ready\nusers: the origin's breaker is open\n")
	f("GET", "/api/v1/report", "", 200, "kasoku v1.2.3")
	f("GET", "/api/v1/report?format=json", "", 200, `"hit_ratio": 0.98`)
	f("GET", "/api/v1/report?format=xml", "", 400, "text or json")
	f("GET", "/api/v1/services", "", 200, `"trouble": "the origin's breaker is open"`)
	f("GET", "/api/v1/config", "", 200, "unknown key")
	f("GET", "/nowhere", "", 404, `"error": "no such path: /nowhere`)
	f("GET", "/api/v1/purge", "", 405, `"error": "/api/v1/purge takes POST, not GET"`)
	f("POST", "/metrics", "{}", 405, `"error": "/metrics takes GET, not POST"`)
	f("HEAD", "/readyz", "", 200, "")

	f("POST", "/api/v1/explain", `{"service":"orders","headers":{"X-Amz-Target":"T"},"body":{"a":1}}`, 200, `"note": "T"`)
	f("POST", "/api/v1/explain", `{"service":"unknown"}`, 404, `there is no service \"unknown\"; there are: orders, users`)
	f("POST", "/api/v1/purge", `{"service":"orders","table":"t"}`, 200, `"dropped": "everything of table t"`)
	f("POST", "/api/v1/purge", `{"service":"orders","tabel":"t"}`, 400, `unknown field \"tabel\"`)
	f("POST", "/api/v1/purge", `{"service":"orders"} {}`, 400, "something follows")
	f("POST", "/api/v1/purge", `{"service":"orders","key":{}}`, 400, "needs the table")
	f("POST", "/api/v1/purge", `{"service":"orders","table":"t","key":{},"partition":"p"}`, 400, "not both")
	// An empty variable in a script must not drop everything.
	f("POST", "/api/v1/purge", `{"service":"orders","table":""}`, 400, "table is empty")
	f("POST", "/api/v1/purge", `{"service":"orders","table":null}`, 400, "table is empty")
	f("POST", "/api/v1/purge", `{"service":"orders","table":7}`, 400, "cannot unmarshal")
	f("POST", "/api/v1/purge", `{"service":"orders","url":""}`, 400, "url is empty")
	f("POST", "/api/v1/purge", `{"service":"orders","prefix":null}`, 400, "prefix is empty")
	f("POST", "/api/v1/purge", `{"service":"orders","pattern":""}`, 400, "pattern is empty")
	f("POST", "/api/v1/purge", `{"service":"orders","tag":""}`, 400, "tag is empty")
	f("POST", "/api/v1/purge", `{"service":"orders","tag":"a","url":"b"}`, 400, "give one of")
	f("POST", "/api/v1/purge", strings.Repeat(" ", maxBody)+"{}", 413, "too large")
	f("POST", "/api/v1/purge", `{"service":"orders","tag":"a","soft":true}`, 200, "")
	if len(orders.purged) != 2 || orders.purged[0].Table != "t" || orders.purged[1].Selector != purge.By(purge.Tag, "a") || !orders.purged[1].Soft {
		t.Errorf("purged %v", orders.purged)
	}

	o.Services = append(o.Services, Mounted{Service: &group{&fake{name: "site"}}, Accepting: true})
	f("POST", "/api/v1/drain", `{"service":"site","origin":"http://a"}`, 200, `"state": "drained"`)
	f("POST", "/api/v1/drain", `{"service":"site","origin":"http://a","undo":true}`, 200, `"in_flight": 2`)
	f("POST", "/api/v1/drain", `{"service":"orders","origin":"http://a"}`, 400, "no origins that could be drained")
	f("POST", "/api/v1/drain", `{"service":"unknown","origin":"http://a"}`, 404, "there is no service")
	f("POST", "/api/v1/drain", `{"service":"site","url":"http://a"}`, 400, "unknown field")
	o.Services[len(o.Services)-1].Service.(*group).fail = fmt.Errorf("no origin: %w", ErrInput)
	f("POST", "/api/v1/drain", `{"service":"site","origin":"http://a"}`, 400, "no origin")

	o.Services = append(o.Services, Mounted{Service: &spread{&fake{name: "counts"}}, Accepting: true})
	f("GET", "/api/v1/ring?service=counts&key=k", "", 200, `"server": "10.0.0.1:11211"`)
	f("GET", "/api/v1/ring?service=counts&key=k&key=a+b", "", 200, `"trouble": "bad-key"`)
	f("GET", "/api/v1/ring?service=counts", "", 400, "give a key")
	f("GET", "/api/v1/ring?service=counts"+strings.Repeat("&key=k", maxRingKeys+1), "", 400, "at most 1000")
	f("GET", "/api/v1/ring?service=orders&key=k", "", 400, "spreads no keys")
	f("GET", "/api/v1/ring?service=unknown&key=k", "", 404, "there is no service")
	f("POST", "/api/v1/ring", "{}", 405, "takes GET")

	orders.fail = fmt.Errorf("no key: %w", ErrInput)
	f("POST", "/api/v1/explain", `{"service":"orders"}`, 400, "no key")
	orders.fail = errors.New("broken")
	f("POST", "/api/v1/purge", `{"service":"orders"}`, 500, "broken")
}

func TestGuard(t *testing.T) {
	o, orders := example()
	base := start(t, o, "")
	port := base[strings.LastIndex(base, ":"):]
	f := func(status int, h header) {
		t.Helper()
		got, text := send(t, "POST", base+"/api/v1/purge", `{"service":"orders"}`, h)
		if got != status {
			t.Fatalf("%v: %d %s; want %d", h, got, text, status)
		}
	}
	f(200, nil)
	f(200, header{"Host": "localhost" + port})
	f(200, header{"Host": "[::1]" + port})
	f(200, header{"Content-Type": "application/json; charset=utf-8"})
	f(403, header{"Host": "evil.example" + port})
	f(403, header{"Host": "localhost.evil.example"})
	f(403, header{"Origin": "http://evil.example"})
	f(403, header{"Origin": "null"})
	f(403, header{"Sec-Fetch-Site": "cross-site"})
	f(415, header{"Content-Type": "text/plain"})
	f(415, header{"Content-Type": "application/x-www-form-urlencoded"})
	if len(orders.purged) != 4 {
		t.Errorf("got %d accepted purges, want 4", len(orders.purged))
	}
	if got, _ := send(t, "GET", base+"/api/v1/report", "", header{"Host": "evil.example"}); got != 403 {
		t.Errorf("the report for another Host: got status %d", got)
	}
}

func TestToken(t *testing.T) {
	o, _ := example()
	base := start(t, o, "t0ken")
	f := func(path string, status int, h header) {
		t.Helper()
		if got, text := send(t, "GET", base+path, "", h); got != status {
			t.Fatalf("%s %v: %d %s; want %d", path, h, got, text, status)
		}
	}
	f("/api/v1/report", 401, nil)
	f("/metrics", 401, nil)
	f("/healthz", 200, nil)
	f("/readyz", 200, nil)
	f("/api/v1/report", 200, header{"Authorization": "Bearer t0ken"})
	f("/api/v1/report", 200, header{"Authorization": "bearer t0ken"})
	f("/api/v1/report", 401, header{"Authorization": "Bearer t0ke"})
	f("/api/v1/report", 401, header{"Authorization": "Bearer"})
	f("/api/v1/report", 401, header{"Authorization": "Basic t0ken"})
}

func TestReadiness(t *testing.T) {
	f := func(change func(o *Overview, orders *fake), status int, want string) {
		t.Helper()
		o, orders := example()
		change(o, orders)
		lines, got := readiness(o)
		if got != status || strings.Join(lines, "\n") != want {
			t.Fatalf("readiness: got %d\n%s\nwant %d\n%s", got, strings.Join(lines, "\n"), status, want)
		}
	}
	f(func(*Overview, *fake) {}, 200, "ready\norders: ready\nusers: the origin's breaker is open")
	f(func(o *Overview, _ *fake) { o.Draining = true }, 503, "not ready: stopping")
	f(func(_ *Overview, orders *fake) { orders.ready = errors.New("the origin's breaker is open") }, 503,
		"not ready\norders: the origin's breaker is open\nusers: the origin's breaker is open")
	f(func(o *Overview, _ *fake) { o.Services[1].Accepting = false }, 503,
		"not ready\norders: ready\nusers: its listener is not up")
	f(func(o *Overview, _ *fake) { o.Services[1].DAX.Accepting = false }, 503,
		"not ready\norders: ready\nusers: its listener for clients of DAX is not up")
}

func TestReportPage(t *testing.T) {
	f := func(name string, o *Overview) {
		t.Helper()
		file := "testdata/" + name
		got := string(o.Text())
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("got the page\n%s\nwant\n%s", got, want)
		}
	}
	o, _ := example()
	f("report.txt", o)
	o, _ = example()
	o.Services = append(o.Services, o.Services[0]) // the shared memory is listed once
	f("report_shared.txt", o)
	o, orders := example()
	orders.report.Members = []Member{
		{Origin: "http://10.0.0.1:8080", State: "up", Weight: 1, InFlight: 12},
		{Origin: "http://10.0.0.2:8080", State: "drained", Why: "check: status 503", Weight: 2.5},
	}
	f("report_members.txt", o)
	o, _ = example()
	o.Services[0].Tables = exampleTables
	f("report_tables.txt", o)
	o, orders = example()
	orders.report.Feeds = []Feed{
		{Database: "a%2Fb", Origin: "http://10.0.0.1:5984", State: "open", Clients: 2000, Rows: 120, Bytes: 20480},
		{Database: "db", Query: "POST filter=_selector&" + strings.Repeat("x", 80), Origin: "http://10.0.0.2:5984", State: "resuming", Clients: 1},
	}
	f("report_feeds.txt", o)
	orders.report.Feeds = slices.Repeat(orders.report.Feeds[1:], maxFeeds+3)
	if got := string(o.Text()); strings.Count(got, "resuming") != maxFeeds || !strings.Contains(got, "and 3 more\n") {
		t.Errorf("the report of many feeds is\n%s", got)
	}
	f("report_empty.txt", &Overview{Version: "devel", Draining: true})
}

func TestListenReportsAddressInUse(t *testing.T) {
	o, _ := example()
	base := start(t, o, "")
	_, err := Listen(Config{Listen: strings.TrimPrefix(base, "http://"), Metrics: telemetry.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("second listener: %v", err)
	}
}
