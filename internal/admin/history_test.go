package admin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/history"
)

// TestHistory checks the figures of a service since its start, which was less than a step ago.
func TestHistory(t *testing.T) {
	o, _ := example()
	latency := telemetry.NewHistogram()
	latency.Observe(15 * time.Microsecond)
	o.Services[0].Traffic = func() Traffic { return Traffic{Errors: 3, Latency: latency.Snapshot()} }
	base := start(t, o, "")
	for _, since := range []string{"", "&since=1h", "&since=24h"} {
		status, text := send(t, "GET", base+"/api/v1/history?service=orders"+since, "", nil)
		var got struct {
			HistoryJSON
			Points []history.Point `json:"points"`
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 {
			t.Fatalf("%s: %d, %v: %s", since, status, err, text)
		}
		want := history.Requests{Hits: 980_000, Misses: 20_000, Writes: 5_000, Errors: 3}
		if got.Total.Requests != want || *got.Total.HitRatio != 0.98 || got.LatencySeconds.P99 != 19.9e-6 || got.OriginSeconds != nil {
			t.Errorf("%s: got %s", since, text)
		}
		if len(got.Points) != 1 || got.Points[0].Requests != want || got.Points[0].Latency[3] != 1 || got.Bounds[3] != 20e-6 || got.Service != "orders" {
			t.Errorf("%s: got %s", since, text)
		}
		if want := "1h"; !strings.HasSuffix(since, "24h") && got.Since != want {
			t.Errorf("since is %s", got.Since)
		}
	}
}

func TestHistoryErrors(t *testing.T) {
	o, _ := example()
	base := start(t, o, "")
	f := func(query string, status int, want string) {
		t.Helper()
		if got, text := send(t, "GET", base+"/api/v1/history?"+query, "", nil); got != status || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s; want %d, %s", query, got, text, status, want)
		}
	}
	f("service=orders&since=2h", 400, `since is 1h or 24h, not \"2h\"`)
	f("service=order", 404, `there is no service \"order\"; there are: orders, users`)
	f("", 404, `there is no service`)
}
