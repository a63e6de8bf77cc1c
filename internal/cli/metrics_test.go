package cli

import (
	"strings"
	"testing"
)

// TestMemorySeries checks that a service's own memory has its own series, which are added
// and removed with it.
func TestMemorySeries(t *testing.T) {
	const capped = `  capped: {type: dynamodb, listen: "127.0.0.1:0", origin: "%s", region: local, auth: {mode: none}, memory: 2MiB}` + "\n"
	r := run(t, "admin: {listen: \"127.0.0.1:0\"}\ncache: {memory: 16MiB}\nservices:\n"+orders+capped)
	r.get("capped")
	wantSeries := func(line string, want bool) {
		t.Helper()
		if got := strings.Contains(r.page("/metrics"), line+"\n"); got != want {
			t.Errorf("/metrics has %q: %v; want %v", line, got, want)
		}
	}
	wantSeries(`kasoku_cache_entries{service="capped"} 1`, true)
	wantSeries(`kasoku_cache_entries{service=""} 0`, true)
	wantSeries(`kasoku_cache_capacity_bytes{service="capped"} 2.097152e+06`, true)
	wantSeries(`kasoku_cache_capacity_bytes{service=""} 1.4680064e+07`, true)
	wantSeries(`kasoku_cache_evicted_bytes_total{service="capped"} 0`, true)
	r.get("orders")
	wantSeries(`kasoku_cache_entries{service=""} 1`, true)
	r.mustReload("admin: {listen: \"127.0.0.1:0\"}\ncache: {memory: 16MiB}\nservices:\n" + orders)
	r.retirement.Wait()
	wantSeries(`kasoku_cache_entries{service="capped"} 1`, false)
}
