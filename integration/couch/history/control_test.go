package history

import (
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// prepare creates the database of the runs on a node.
func prepare(t *testing.T, n *couch.Node) {
	t.Helper()
	n.Must(t, "PUT", "/history", "")
	if err := Prepare(t.Context(), n.URL, "history"); err != nil {
		t.Fatal(err)
	}
}

// TestRunAcceptsSingleNode checks that a run accepts a single node without an accelerator.
func TestRunAcceptsSingleNode(t *testing.T) {
	n := couch.Memory(t)
	prepare(t, n)
	r := Start(t.Context(), Config{Through: n.URL, First: n.URL, DB: "history", Clients: 6})
	couch.Await(t, "writes and reads", func() bool {
		c := r.Counts()
		return c.Writes >= 100 && c.Past >= 20 && c.Reads >= 300 && c.Results >= 200 && c.Refused > 0
	})
	result := r.Stop()
	report(t, &result)
	if result.Failed+result.Invalid+result.Unanswered > 6 { // requests cut off by Stop
		t.Errorf("%d reads failed, %d were odd, %d writes were not answered; the first: %s%s", result.Failed, result.Invalid, result.Unanswered, result.FirstFailed, result.FirstInvalid)
	}
	for _, v := range result.Violations {
		t.Error(v)
	}
}

// TestRunFindsViolations checks that a run finds violations of two simple accelerators: one
// caches answers for two seconds and drops a document that is written through it; the other
// uses two nodes in turn and caches nothing.
func TestRunFindsViolations(t *testing.T) {
	a, b := couch.Disk(t), couch.Disk(t)
	f := func(name, db, origins string, service ...string) {
		t.Helper()
		couch.Pair(t, a, b, db)
		if err := Prepare(t.Context(), a.URL, db); err != nil {
			t.Fatal(err)
		}
		couch.Await(t, "the design document on the other node", func() bool { return b.Do(t, "GET", "/"+db+"/_design/h", "").Status == 200 })
		n := harness.Start(t, harness.Options{Type: "http", Origin: origins, Service: service})
		r := Start(t.Context(), Config{Through: n.URL, First: a.URL, DB: db, Clients: 6, Bound: time.Minute})
		couch.Await(t, name+" to be refuted", func() bool { return r.Counts().Violated > 0 })
		result := r.Stop()
		t.Logf("%s: the first of %d violations: %s", name, result.Violated, result.Violations[0])
	}
	f("a cache by time", "timed", a.URL, "default_ttl: 2s")
	f("a balancer", "balanced", a.URL+", "+b.URL, "balance: round_robin")
}

// report logs the result of a run.
func report(t *testing.T, r *Result) {
	t.Helper()
	t.Logf("in %.1f s %d reads of documents and %d of results, %d of them from memory, %d answered with 304; %d writes through and %d past, %d refused, %d unanswered; %d reads failed, %d odd; at most %v behind a write past",
		r.Elapsed.Seconds(), r.Reads, r.Results, r.Hits, r.Unchanged, r.Writes, r.Past, r.Refused, r.Unanswered, r.Failed, r.Invalid, r.MaxLag.Round(time.Millisecond))
}
