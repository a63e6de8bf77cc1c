package bytable

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// fixture is counts with the sink that is in front of them.
type fixture struct {
	t        *testing.T
	registry *telemetry.Registry
	counts   *Counts
	sink     telemetry.Sink
}

func newFixture(t *testing.T, services map[string][]string) *fixture {
	r := telemetry.NewRegistry()
	c := New(r)
	c.Configure(tables(services))
	return &fixture{t, r, c, c.Tap(telemetry.Discard())}
}

// tables returns services with tables.
func tables(services map[string][]string) map[string]Names {
	all := map[string]Names{}
	for name, always := range services {
		all[name] = Names{Table, always}
	}
	return all
}

func (f *fixture) log(service, table string, status int, d telemetry.Decision) {
	f.sink.Log(&telemetry.Record{Service: service, Table: []byte(table), Status: status, Decision: d, BytesOut: 10, Duration: time.Millisecond, Origin: map[bool]time.Duration{true: time.Second}[d == telemetry.Miss]})
}

// series returns the lines of the metrics that begin with a prefix, sorted.
func (f *fixture) series(prefix string) (lines []string) {
	w := httptest.NewRecorder()
	f.registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), prefix))
		}
	}
	slices.Sort(lines)
	return lines
}

func (f *fixture) expect(prefix string, want ...string) {
	f.t.Helper()
	slices.Sort(want)
	if got := f.series(prefix); !slices.Equal(got, want) {
		f.t.Errorf("%s: got\n%s\nwant\n%s", prefix, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCounts(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": nil, "users": nil})
	f.log("orders", "a", 200, telemetry.Miss)
	f.log("orders", "a", 200, telemetry.Hit)
	f.log("orders", "a", 200, telemetry.Hit)
	f.log("orders", "b", 200, telemetry.HitNegative)
	f.log("users", "a", 200, telemetry.Write)
	f.log("users", "a", 400, telemetry.Write)
	f.log("away", "a", 200, telemetry.Hit)
	f.log("orders", "", 200, telemetry.Local)
	for _, d := range []telemetry.Decision{telemetry.Hit, telemetry.Coalesced} {
		f.sink.Log(&telemetry.Record{Service: "orders", Table: []byte("old"), Status: 200, Decision: d, Age: time.Hour})
	}
	f.expect("kasoku_table_hit_age_seconds_sum", `{service="orders",table="a"} 0`, `{service="orders",table="b"} 0`, `{service="orders",table="old"} 3600`, `{service="users",table="a"} 0`)
	f.registry.Unregister("table", "old")
	f.expect("kasoku_table_requests_total", `{decision="hit",service="orders",table="a"} 2`, `{decision="miss",service="orders",table="a"} 1`,
		`{decision="hit-negative",service="orders",table="b"} 1`, `{decision="write",service="users",table="a"} 2`)
	f.expect("kasoku_table_sent_bytes_total", `{service="orders",table="a"} 30`, `{service="orders",table="b"} 10`, `{service="users",table="a"} 20`)
	f.expect("kasoku_table_hit_duration_seconds_count", `{service="orders",table="a"} 2`, `{service="orders",table="b"} 1`, `{service="users",table="a"} 0`)
	f.expect("kasoku_table_origin_seconds_sum", `{service="orders",table="a"} 1`, `{service="orders",table="b"} 0`, `{service="users",table="a"} 0`)
}

// Changes of answers are counted for tables that have had requests, and for no service that is not
// configured.
func TestChanges(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": {"a"}})
	c := f.counts.Changes("orders")
	c.Invalidated("a", "write", 2)
	c.Invalidated("a", "write", 1)
	c.Invalidated("a", "purge", 1)
	c.Invalidated("made-up", "purge", 1)
	c.Evicted("a")
	c.Evicted("a")
	f.counts.Changes("away").Evicted("a")
	f.expect("kasoku_table_invalidations_total", `{cause="write",service="orders",table="a"} 3`, `{cause="purge",service="orders",table="a"} 1`, `{cause="purge",service="orders",table="other"} 1`)
	f.expect("kasoku_table_evictions_total", `{service="orders",table="a"} 2`)
}

// Routes have the same series as tables, with another name and label.
func TestRoutes(t *testing.T) {
	f := newFixture(t, nil)
	f.counts.Configure(map[string]Names{"site": {Route, []string{"/api/*"}}})
	for _, r := range []telemetry.Record{
		{Route: []byte("/api/*"), Status: 404, Decision: telemetry.Miss, Origin: time.Second},
		{Route: []byte("/static"), Status: 200, Decision: telemetry.Hit},
		{Route: []byte("/made-up"), Status: 404, Decision: telemetry.Miss},
		{Table: []byte("a"), Status: 200, Decision: telemetry.Hit},
	} {
		r.Service, r.BytesOut = "site", 10
		f.sink.Log(&r)
	}
	f.expect("kasoku_route_requests_total", `{decision="miss",route="/api/*",service="site"} 1`, `{decision="hit",route="/static",service="site"} 1`,
		`{decision="miss",route="other",service="site"} 1`)
	f.expect("kasoku_route_sent_bytes_total", `{route="/api/*",service="site"} 10`, `{route="/static",service="site"} 10`, `{route="other",service="site"} 10`)
	f.expect("kasoku_route_origin_seconds_sum", `{route="/api/*",service="site"} 1`, `{route="/static",service="site"} 0`, `{route="other",service="site"} 0`)
	f.expect("kasoku_table")
}

// The times of a service are those of its tables and of requests without one.
func TestTimes(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": nil, "site": nil})
	f.log("orders", "a", 200, telemetry.Hit)
	f.log("orders", "b", 200, telemetry.Miss)
	f.log("site", "", 200, telemetry.Hit)
	f.log("site", "", 200, telemetry.HitStale)
	f.log("site", "", 200, telemetry.Miss)
	for service, want := range map[string][2]uint64{"orders": {1, 1}, "site": {2, 1}, "away": {}} {
		hits, origin := f.counts.Times(service)
		if got := [2]uint64{hits.Count, origin.Count}; got != want || hits.Sum != time.Duration(want[0])*time.Millisecond || origin.Counts[17] != want[1] {
			t.Errorf("%s: %+v, %+v", service, hits, origin)
		}
	}
	if n := len(f.counts.Figures("site")); n != 0 {
		t.Errorf("requests without a table are counted for %d tables", n)
	}
}

// Clients can't create more than a number of series, and none with names that are refused.
func TestBounds(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": {"named", "rare"}})
	for i := range 100 {
		f.log("orders", fmt.Sprint("made-up-", i), 400, telemetry.Pass)
	}
	for i := range 2 * maxTables {
		f.log("orders", fmt.Sprintf("t%03d", i), 200, telemetry.Hit)
	}
	f.log("orders", "named", 200, telemetry.Hit)
	f.log("orders", "t000", 500, telemetry.Hit)
	got := f.series("kasoku_table_requests_total")
	if len(got) != maxTables+3 {
		t.Errorf("%d series", len(got))
	}
	for _, want := range []string{`{decision="hit",service="orders",table="other"} 200`, `{decision="pass",service="orders",table="other"} 100`,
		`{decision="hit",service="orders",table="named"} 1`, `{decision="hit",service="orders",table="t000"} 2`, `{decision="hit",service="orders",table="t199"} 1`} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// A table named by a later configuration gets a series of its own, counts continue, and a service
// that was removed has none.
func TestConfigure(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": nil, "users": nil})
	f.log("orders", "a", 200, telemetry.Hit)
	f.log("orders", "late", 404, telemetry.Miss)
	f.log("users", "a", 200, telemetry.Hit)
	f.counts.Configure(tables(map[string][]string{"orders": {"late", "a"}}))
	f.registry.Unregister("service", "users")
	f.log("orders", "a", 200, telemetry.Hit)
	f.log("orders", "late", 404, telemetry.Miss)
	f.log("users", "a", 200, telemetry.Hit)
	f.expect("kasoku_table_requests_total", `{decision="hit",service="orders",table="a"} 2`, `{decision="miss",service="orders",table="late"} 1`, `{decision="miss",service="orders",table="other"} 1`)
	f.counts.Configure(tables(map[string][]string{"orders": nil, "users": nil}))
	f.log("users", "a", 200, telemetry.Hit)
	f.expect(`kasoku_table_requests_total{decision="hit",service="users"`, `,table="a"} 1`)
}

// Requests for new tables are counted in many goroutines: none is lost.
func TestConcurrentTables(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": nil})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 1000 {
				f.log("orders", fmt.Sprint("t", i%50), 200, telemetry.Decision(1+i%5))
			}
		})
	}
	all.Wait()
	var sum uint64
	for _, tb := range maps.All(*(*f.counts.services.Load())["orders"].tables.Load()) {
		for i := range tb.byWay {
			if c := tb.byWay[i].Load(); c != nil {
				sum += c.Value()
			}
		}
	}
	if sum != 4000 {
		t.Errorf("%d of 4000 are counted", sum)
	}
}

func TestCountAllocates(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": nil})
	r := &telemetry.Record{Service: "orders", Table: []byte("users"), Status: 200, Decision: telemetry.Hit, BytesOut: 1000, Duration: time.Microsecond}
	f.sink.Log(r)
	if n := testing.AllocsPerRun(100, func() { f.sink.Log(r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCount(b *testing.B) {
	c := New(telemetry.NewRegistry())
	c.Configure(tables(map[string][]string{"orders": nil}))
	sink := c.Tap(telemetry.Discard())
	r := &telemetry.Record{Service: "orders", Table: []byte("users"), Status: 200, Decision: telemetry.Hit, BytesOut: 1000, Duration: 20 * time.Microsecond}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			sink.Log(r)
		}
	})
}

// Queries and scans are counted apart too, since their results have a TTL of their own.
func TestQueriesAreCountedApart(t *testing.T) {
	f := newFixture(t, map[string][]string{"orders": nil})
	for _, operation := range []string{"Query", "Scan", "GetItem", "Query"} {
		f.sink.Log(&telemetry.Record{Service: "orders", Table: []byte("a"), Operation: operation, Status: 200, Decision: telemetry.Miss})
	}
	all := f.counts.Figures("orders")
	if len(all) != 1 || len(all[0].Queries) != 1 || all[0].Queries[telemetry.Miss] != 3 || all[0].Decisions[telemetry.Miss] != 4 {
		t.Errorf("got %+v", all)
	}
}
