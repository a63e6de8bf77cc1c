package streams

import (
	"context"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/pause"
)

// TestPastWrites checks that no answer of Kasoku lacks a write at its origin that was acknowledged
// for longer than bound, while shards of the stream are closed and followed by others all the time.
func TestPastWrites(t *testing.T) {
	t.Parallel()
	length := runTime(t, 6*time.Second)
	url := store(t, max(2*time.Second, length/10))
	createTable(t, url, "items")
	n := accelerate(t, url, following)
	pastWrites(t, n, newWorkload(t, url, "items", n.URL), length)
}

// TestKeysOnly is the same with a stream without images.
func TestKeysOnly(t *testing.T) {
	t.Parallel()
	url := store(t, 4*time.Hour)
	createWith(t, url, "items", `{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}`)
	n := accelerate(t, url, following)
	pastWrites(t, n, newWorkload(t, url, "items", n.URL), 3*time.Second)
}

// TestEnable is the same with a stream that Kasoku itself has given the table.
func TestEnable(t *testing.T) {
	t.Parallel()
	url := store(t, 4*time.Hour)
	createWith(t, url, "items", `{"StreamEnabled":false}`)
	n := accelerate(t, url, following, func(o *harness.Options) { o.Service = append(o.Service, "streams_enable: true") })
	pastWrites(t, n, newWorkload(t, url, "items", n.URL), 2*time.Second)
}

// TestDynamoDBLocal is the same in front of DynamoDB Local, with a few items: its records have
// times in minutes, so that a stream is only known to be read to its end by a poll without a record.
func TestDynamoDBLocal(t *testing.T) {
	t.Parallel()
	url := harness.DynamoDBLocal(t)
	const table = "past-writes" // tests of this package share the server
	createTable(t, url, table)
	n := accelerate(t, url, following)
	w := newWorkload(t, url, table, n.URL)
	w.items = w.items[:perPart]
	pastWrites(t, n, w, 4*time.Second)
}

// pastWrites runs a workload for a time, or for KASOKU_STREAMS_FOR.
func pastWrites(t *testing.T, n *harness.Node, w *workload, length time.Duration) {
	t.Helper()
	awaitServed(t, n, w.table)
	length = runTime(t, length)
	w.run(func(ctx context.Context) { pause.For(ctx, length) })
	r := w.result()
	logStreams(t, n)
	r.verify(t)
	r.verifyHits(t)
}

// logStreams logs how a node has followed streams.
func logStreams(t *testing.T, n *harness.Node) {
	t.Helper()
	f := func(name string) float64 { return metric(t, n, "kasoku_streams_"+name+"_total") }
	t.Logf("%.0f calls; %.0f records, %.0f of them of own writes, %.0f late; %.0f fences, %.0f throttled calls",
		f("calls"), f("records"), f("own_records"), f("late_records"), f("fences"), f("throttled"))
}

// TestCheckFails checks that the check works: it must find violations if the answers to Kasoku lack
// some records.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	url := store(t, 2*time.Second)
	createTable(t, url, "items")
	p := newProxy(t, url)
	n := accelerate(t, p.url, following)
	awaitServed(t, n, "items")
	w := newWorkload(t, url, "items", n.URL)
	w.minPause, w.maxBurst = bound+500*time.Millisecond, 1 // later writes of an item hide a lost record
	p.set(dropRecords(2))
	w.run(func(ctx context.Context) { pause.For(ctx, 4*time.Second) })
	r := w.result()
	if p.count("drop") == 0 || len(r.violations) == 0 {
		t.Fatalf("%d records were lost, and the check found no violation", p.count("drop"))
	}
	t.Logf("%d records were lost; %d violations, the first: %s", p.count("drop"), len(r.violations), &r.violations[0])
}
