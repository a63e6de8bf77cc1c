package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
)

// The origin's replicas lag by up to lag. settled and quarantine are the configuration of a
// node; they must be longer than the lag and than the time after which a lost request may
// still be executed.
const (
	lag        = 50 * time.Millisecond
	settled    = "200ms"
	quarantine = "1s"
	timeout    = "250ms"
)

// node starts Kasoku in front of an origin that lags and, if faults is not nil,
// fails.
func node(t *testing.T, tags string, faults *fault.Injector) *harness.Node {
	t.Helper()
	db := model.New()
	db.SetLag(model.Lag{Max: lag}, model.Lag{Max: lag})
	origin := harness.Origin(t, db)
	if faults != nil {
		db.LeaveUnprocessed(20)
		origin = harness.Origin(t, faults.Wrap(db))
	}
	return harness.Start(t, harness.Options{
		Origin: origin,
		DAX:    true,
		Tags:   tags,
		Service: []string{"auth: {mode: none}", "item_ttl: 5m", "query_ttl: 5m", "negative_ttl: 5m", "verify: {rate: 100/s, budget: 1000 RCU, writes: through}",
			"settle: " + settled, "quarantine: " + quarantine, "origin_timeout: " + timeout},
	})
}

// ops returns the number of requests of the check: KASOKU_HISTORY_OPS, by default enough for an
// ordinary run of the tests; a long run makes a million.
func ops(t *testing.T) int {
	t.Helper()
	text := os.Getenv("KASOKU_HISTORY_OPS")
	if text == "" {
		return 50_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KASOKU_HISTORY_OPS: %v", err)
	}
	return n
}

// TestHistory checks the coherence contract with many clients, a lagging origin, every kind of
// fault, purges, and clients that disconnect: no answer may violate the contract.
func TestHistory(t *testing.T) {
	faults := &fault.Injector{}
	plan := allFaults(fault.Plan{})
	plan.Only = []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchGetItem", "BatchWriteItem",
		"TransactGetItems", "TransactWriteItems", "Query"}
	plan.DelayFor = 400 * time.Millisecond // sometimes longer than the node's timeout
	plan.OneIn[fault.Delay] = 300
	n := node(t, "", faults)
	faults.Set(plan)

	ctx, cancel := context.WithCancel(t.Context())
	var purges sync.WaitGroup
	purges.Go(func() { purge(ctx, t, n) })
	result := mustRun(t, Config{URL: n.URL, DAX: n.DAX, Ops: ops(t), Clients: 24, IndexLag: lag, Abort: 200, KeyTime: time.Minute})
	cancel()
	purges.Wait()
	faults.Clear()

	report(t, result, faults)
	verdict(t, result)
	if equal, wrong := verified(t, n); equal < 100 || wrong != 0 {
		t.Errorf("the node itself has found %d answers right and %d wrong", equal, wrong)
	}
}

// verified returns how many answers the node has found right and wrong by its own comparisons.
func verified(t *testing.T, n *harness.Node) (equal, wrong int) {
	t.Helper()
	text, err := n.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		labels, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(labels, "kasoku_verify_checks_total{") {
			continue
		}
		t.Log(labels, value)
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(labels, `result="equal"`):
			equal = n
		case strings.Contains(labels, `result="violation"`):
			wrong = n
		}
	}
	return equal, wrong
}

// TestHistoryEmbedded is the same with the embedded store as origin, whose indexes never
// lag: with a cache, and without one, where the store alone must satisfy the contract.
func TestHistoryEmbedded(t *testing.T) {
	f := func(name string, cached bool, service ...string) {
		t.Run(name, func(t *testing.T) {
			n := harness.Start(t, harness.Options{Origin: "embedded:./data", DAX: true, Service: append(service, "auth: {mode: none}")})
			ctx, cancel := context.WithCancel(t.Context())
			var purges sync.WaitGroup
			purges.Go(func() { purge(ctx, t, n) })
			result := mustRun(t, Config{URL: n.URL, DAX: n.DAX, Ops: ops(t) / 2, Clients: 24, Abort: 200, KeyTime: time.Minute})
			cancel()
			purges.Wait()
			report(t, result, &fault.Injector{})
			if cached {
				verdict(t, result)
				return
			}
			if result.Hits > 0 {
				t.Errorf("%d hits without a cache", result.Hits)
			}
			violations(t, result)
		})
	}
	f("cached", true)
	f("bare", false, "item_ttl: 0s", "query_ttl: 0s", "negative_ttl: 0s")
}

// verdict fails a run that violated the contract, or that hardly used the cache.
func verdict(t *testing.T, result *Result) {
	t.Helper()
	if result.Hits*20 < result.Requests {
		t.Errorf("only %d of %d requests were hits: the run hardly tests the cache", result.Hits, result.Requests)
	}
	violations(t, result)
}

func violations(t *testing.T, result *Result) {
	t.Helper()
	if result.DAX*10 < result.Requests {
		t.Errorf("only %d of %d requests were made by DAX", result.DAX, result.Requests)
	}
	for i, v := range result.Violations {
		if i == 10 {
			t.Fatalf("and %d more", len(result.Violations)-i)
		}
		t.Error(v)
	}
}

func report(t *testing.T, r *Result, faults *fault.Injector) {
	t.Helper()
	t.Logf("%d requests in %s, %d answered, %d from memory; %d by DAX; %d operations on keys and %d queries checked",
		r.Requests, r.Elapsed.Round(time.Millisecond), r.Answered, r.Hits, r.DAX, len(r.Ops), len(r.Queries))
	for k := fault.Delay; k <= fault.Late; k++ {
		t.Logf("  fault %-13s %d", k, faults.Count(k))
	}
}

// purge purges random keys, random partitions and the table in turn until ctx ends.
func purge(ctx context.Context, t *testing.T, n *harness.Node) {
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		what := `{"service":"db","table":"history"}`
		switch i % 4 {
		case 0, 1:
			key := int32(rand.IntN(64))
			what = fmt.Sprintf(`{"service":"db","table":"history","key":%s}`, keyText(key))
		case 2:
			what = fmt.Sprintf(`{"service":"db","table":"history","partition":{"S":"p%d"}}`, rand.IntN(8))
		}
		if err := n.Purge(what); err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
	}
}

// TestBrokenFence checks that the check works: it must refute a build whose cache ignores
// its fences.
func TestBrokenFence(t *testing.T) {
	n := node(t, "kasokubroken", nil)
	result := mustRun(t, Config{URL: n.URL, Ops: 5_000, Clients: 24, IndexLag: lag, KeyTime: time.Minute})
	if len(result.Violations) == 0 {
		t.Fatalf("the cache ignored its fences and no violation was found among %d requests", result.Requests)
	}
	t.Logf("%d violations, the first: %s", len(result.Violations), result.Violations[0])
	if _, wrong := verified(t, n); wrong == 0 {
		t.Errorf("the node itself has found no violation within %s", result.Elapsed)
	}
}
