//go:build unix

package streams

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/pause"
)

// TestFaults makes reading the stream fail in every way, closes the stream and opens another,
// and deletes and creates the table. No answer may lack a write for longer than bound meanwhile.
// Requests pass through while the stream is not read in time.
func TestFaults(t *testing.T) {
	t.Parallel()
	length := runTime(t, 6*time.Second)
	url := store(t, max(3*time.Second, length/10))
	createTable(t, url, "items")
	p := newProxy(t, url)
	n := accelerate(t, p.url, following)
	awaitServed(t, n, "items")
	w := newWorkload(t, url, "items", n.URL)
	faults := []struct {
		name  string
		fault streamFault
	}{
		{"ThrottlingException", failWith(0.9, http.StatusBadRequest, "ThrottlingException")},
		{"ExpiredIteratorException", failWith(0.4, http.StatusBadRequest, "ExpiredIteratorException", "GetRecords")},
		{"TrimmedDataAccessException", failWith(0.3, http.StatusBadRequest, "TrimmedDataAccessException", "GetRecords", "GetShardIterator")},
		{"InternalServerError", failWith(0.8, http.StatusInternalServerError, "InternalServerError")},
		{"cut", cut(0.6)},
		{"delay", delayBy(2 * maxLag)},
	}
	length /= time.Duration(len(faults))
	w.run(func(ctx context.Context) {
		healthy := func() time.Duration {
			t.Helper()
			p.set(nil)
			return harness.Await(t, "the stream is read in time again", startupLimit, func() bool {
				s, found := streamOf(t, n, "items")
				return found && s.Served
			})
		}
		for _, kind := range faults {
			lagging := w.lagging.Load()
			p.set(kind.fault)
			pause.For(ctx, length)
			if kind.name == "delay" {
				harness.Await(t, "requests pass through because the stream lags", startupLimit, func() bool {
					return w.lagging.Load() > lagging
				})
			}
			back := healthy()
			t.Logf("%s: %d times; %d requests passed through; read in time %s after its end",
				kind.name, p.count(kind.name), w.lagging.Load()-lagging, back.Round(time.Millisecond))
			if p.count(kind.name) == 0 {
				t.Errorf("no request had the fault %s", kind.name)
			}
		}
		w.suspend(ctx, n, 2*maxLag)
		lagging := w.lagging.Load()
		w.reopenStream()
		pause.For(ctx, maxLag)
		t.Logf("another stream of the table: read in time %s later; %d requests passed through",
			(maxLag + healthy()).Round(time.Millisecond), w.lagging.Load()-lagging)
		w.recreateTable()
		pause.For(ctx, maxLag)
		t.Logf("another table: read in time %s later; %d reads failed", (maxLag + healthy()).Round(time.Millisecond), w.refused.Load())
		pause.For(ctx, length)
	})
	r := w.result()
	logStreams(t, n)
	r.verify(t)
}

// suspend stops the process for a time. It then finds requests that were sent meanwhile. Those may
// fail, because it finds their connections idle for as long.
func (w *workload) suspend(ctx context.Context, n *harness.Node, d time.Duration) {
	w.t.Helper()
	w.running.Lock() // no write is in flight
	w.onlyPast.Store(true)
	w.running.Unlock()
	w.failing.Store(true)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(n.Process(), signal); err != nil {
			w.t.Fatal(err)
		}
		pause.For(ctx, d)
	}
	w.failing.Store(false)
	w.onlyPast.Store(false)
}

// reopenStream switches the stream off at the store, and on again.
func (w *workload) reopenStream() {
	w.t.Helper()
	for _, specification := range []string{`{"StreamEnabled":false}`, `{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}`} {
		mustSend(w.t, w.store, "UpdateTable", fmt.Sprintf(`{"TableName":%q,"StreamSpecification":%s}`, w.table, specification))
		awaitActive(w.t, w.store, w.table)
	}
}

// recreateTable deletes the table at the store and creates it again, without its items.
func (w *workload) recreateTable() {
	w.t.Helper()
	w.running.Lock()
	defer w.running.Unlock()
	w.failing.Store(true)
	for _, it := range w.items {
		it.mu.Lock()
		it.versions = append(it.versions, version{past: true, sent: w.now(), acked: never})
		it.mu.Unlock()
	}
	mustSend(w.t, w.store, "DeleteTable", fmt.Sprintf(`{"TableName":%q}`, w.table))
	deleted := w.now()
	for _, it := range w.items {
		it.mu.Lock()
		it.versions[len(it.versions)-1].acked = deleted
		it.mu.Unlock()
	}
	harness.Await(w.t, "the table is deleted", startupLimit, func() bool {
		_, err := send(w.t.Context(), w.store, "DescribeTable", fmt.Sprintf(`{"TableName":%q}`, w.table))
		return err != nil
	})
	createTable(w.t, w.store, w.table)
	w.failing.Store(false)
}
