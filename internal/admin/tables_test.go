package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// exampleTables returns two tables with figures of their own and more than a page has room for.
func exampleTables() []Table {
	hits, origin := telemetry.NewHistogram(), telemetry.NewHistogram()
	for i := range 100 {
		hits.Observe(time.Duration(i) * time.Microsecond)
		origin.Observe(time.Duration(i) * 100 * time.Microsecond)
	}
	tables := []Table{
		NewTable("users", map[telemetry.Decision]uint64{telemetry.Hit: 9_000, telemetry.Miss: 1_000, telemetry.Write: 10}, 5<<20, hits.Snapshot(), origin.Snapshot()),
		NewTable("orders", map[telemetry.Decision]uint64{telemetry.Hit: 5_000_000, telemetry.MissInvalidated: 5_000_000}, 9<<30, hits.Snapshot(), origin.Snapshot()),
	}
	for i := range maxTableRows {
		tables = append(tables, NewTable(fmt.Sprintf("t%d", i), map[telemetry.Decision]uint64{telemetry.Pass: 1}, 0, telemetry.Snapshot{}, telemetry.Snapshot{}))
	}
	return tables
}

// TestTablesJSON checks the figures that programs get, in descending order of requests.
func TestTablesJSON(t *testing.T) {
	o, _ := example()
	o.Services[0].Tables = exampleTables
	services := o.JSON().Services
	if n := len(services[0].Tables); n != maxTableRows+2 || services[1].Tables != nil {
		t.Errorf("got %d tables of one service and %v of another", n, services[1].Tables)
	}
	got, err := json.Marshal(services[0].Tables[1:3])
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"table":"users","requests":10010,"decisions":{"hit":9000,"miss":1000,"write":10},"hit_ratio":0.9,"sent_bytes":5242880,` +
		`"hit_seconds":{"p50":0.000049,"p99":0.000098979},"origin_seconds":{"p50":0.0049,"p99":0.009897959}},` +
		`{"table":"t0","requests":1,"decisions":{"pass":1},"hit_ratio":null,"sent_bytes":0,"hit_seconds":null,"origin_seconds":null}]`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHistograms checks the counts that quantiles of an interval can be computed from.
func TestHistograms(t *testing.T) {
	o, _ := example()
	o.Services[0].Tables = exampleTables
	hits := telemetry.NewHistogram()
	for _, d := range []time.Duration{time.Microsecond, time.Millisecond, time.Hour} {
		hits.Observe(d)
	}
	o.Services[0].Times = func() (telemetry.Snapshot, telemetry.Snapshot) { return hits.Snapshot(), telemetry.Snapshot{} }
	base := start(t, o, "")
	_, page := send(t, "GET", base+"/api/v1/report?format=json", "", nil)
	if strings.Contains(page, "bucket") {
		t.Errorf("without histograms: %s", page)
	}
	if status, text := send(t, "GET", base+"/api/v1/report?format=json&histograms=yes", "", nil); status != 400 || !strings.Contains(text, "histograms is 1 or left out") {
		t.Errorf("got %d %s", status, text)
	}
	_, page = send(t, "GET", base+"/api/v1/report?format=json&histograms=1", "", nil)
	var j ReportJSON
	if err := json.Unmarshal([]byte(page), &j); err != nil {
		t.Fatal(err)
	}
	s := j.Services[0]
	if len(j.BucketSeconds) != 23 || j.BucketSeconds[0] != 2e-6 || len(s.HitBuckets) != 24 || s.HitBuckets[0] != 1 || s.HitBuckets[8] != 1 || s.HitBuckets[23] != 1 {
		t.Errorf("got the bounds %v and the counts %v", j.BucketSeconds, s.HitBuckets)
	}
	if b := s.Tables[1].OriginBuckets; s.OriginSeconds != nil || s.Tables[1].Table != "users" || b[9] != 10 {
		t.Errorf("got the counts %v of %s, and %v of the service", b, s.Tables[1].Table, s.OriginSeconds)
	}
}

// TestTimeText checks that times have three digits.
func TestTimeText(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := timeText(d.Seconds()); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
	f(0, "0s")
	f(987*time.Nanosecond, "987ns")
	f(12345*time.Nanosecond, "12.3µs")
	f(999_999*time.Nanosecond, "1ms")
	f(1234567*time.Nanosecond, "1.23ms")
	f(61*time.Second, "1m1s")
}
