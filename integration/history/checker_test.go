package history

import (
	"context"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
)

// small is a run that ends within a second or two.
func small(url string) Config {
	return Config{URL: url, Ops: 4000, Clients: 8, KeyTime: 20 * time.Second}
}

func mustRun(t *testing.T, cfg Config) *Result {
	t.Helper()
	result, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if result.Requests < int64(cfg.Ops) {
		t.Fatalf("got %d requests, want %d", result.Requests, cfg.Ops)
	}
	if result.Answered*2 < result.Requests {
		t.Fatalf("only %d of %d requests were answered: the run checks nothing", result.Answered, result.Requests)
	}
	return result
}

// TestCheckerAccepts runs the checkers on histories that they must accept: an origin without
// lag, first without faults, then with every fault.
func TestCheckerAccepts(t *testing.T) {
	db, faults := model.New(), &fault.Injector{}
	result := mustRun(t, small(harness.Origin(t, db)))
	for _, v := range result.Violations {
		t.Error(v)
	}

	db = model.New()
	db.LeaveUnprocessed(20)
	plan := allFaults(fault.Plan{})
	delete(plan.OneIn, fault.Garbage) // there is no proxy that would detect it
	faults.Set(plan)
	cfg := small(harness.Origin(t, faults.Wrap(db)))
	cfg.Abort = 100
	result = mustRun(t, cfg)
	faults.Clear()
	for _, v := range result.Violations {
		t.Error(v)
	}
}

// TestCheckerRefuses runs them on an origin whose replicas lag, without a cache in front to
// compensate.
func TestCheckerRefuses(t *testing.T) {
	f := func(name string, prepare func(db *model.DB)) {
		t.Helper()
		db := model.New()
		prepare(db)
		if result := mustRun(t, small(harness.Origin(t, db))); len(result.Violations) == 0 {
			t.Errorf("%s: no violation was found among %d requests", name, result.Requests)
		}
	}
	f("lagging tables", func(db *model.DB) { db.SetLag(model.Lag{Max: 20 * time.Millisecond}, model.Lag{}) })
	f("lagging index", func(db *model.DB) {
		db.SetLag(model.Lag{}, model.Lag{Min: 20 * time.Millisecond, Max: 20 * time.Millisecond})
	})
	f("frozen replica", (*model.DB).Freeze)
}

// TestCheckKey runs the checker of registers on histories written by hand.
func TestCheckKey(t *testing.T) {
	f := func(name string, legal bool, ops ...Op) {
		t.Helper()
		var list []*Op
		for i := range ops {
			list = append(list, &ops[i])
		}
		if why := checkKey(list, time.Minute); (why == "") != legal {
			t.Errorf("%s: legal should be %t; the checker returned %q", name, legal, why)
		}
	}
	write := func(v, call, returned int64) Op { return Op{Kind: Write, Arg: v, Call: call, Return: returned} }
	read := func(v, call, returned int64) Op { return Op{Kind: Read, Got: v, Call: call, Return: returned} }
	cas := func(old, v, call, returned int64) Op {
		return Op{Kind: CAS, Expect: old, Arg: v, Call: call, Return: returned}
	}
	f("fresh read", true, write(1, 0, 1), read(1, 2, 3))
	f("stale read", false, write(1, 0, 1), write(2, 2, 3), read(1, 4, 5))
	f("lost delete", false, write(1, 0, 1), write(0, 2, 3), read(1, 4, 5))
	f("lost write", false, write(1, 0, 1), read(0, 2, 3))
	f("either of two at once", true, write(1, 0, 9), write(2, 0, 9), read(1, 10, 11))
	f("back and forth", false, write(1, 0, 9), write(2, 0, 9), read(1, 10, 11), read(2, 12, 13))
	f("unknown, seen later", true, write(1, 0, 1), write(2, 2, never), read(1, 4, 5), read(2, 6, 7))
	f("unknown, seen and then not", false, write(1, 0, 1), write(2, 2, never), read(2, 4, 5), read(1, 6, 7))
	f("unknown delete", true, write(1, 0, 1), write(0, 2, never), read(1, 4, 5), read(0, 6, 7))
	f("value of no write", false, read(7, 0, 1))
	f("swap", true, cas(0, 1, 0, 1), cas(1, 2, 2, 3))
	f("swap of an overwritten value", false, write(1, 0, 1), write(2, 2, 3), cas(1, 3, 4, 5))
	f("two winners", false, write(1, 0, 1), cas(1, 2, 2, 9), cas(1, 3, 2, 9), read(2, 10, 11))
}

// TestTimeline runs the checker of queries on histories written by hand.
func TestTimeline(t *testing.T) {
	f := func(name string, legal bool, shown int64, group int8, since, end int64, ops ...Op) {
		t.Helper()
		var list []*Op
		for i := range ops {
			list = append(list, &ops[i])
		}
		if why := newTimeline(list).shows(shown, group, since, end); (why == "") != legal {
			t.Errorf("%s: legal should be %t; the checker returned %q", name, legal, why)
		}
	}
	write := func(v, call, returned int64) Op { return Op{Kind: Write, Arg: v, Call: call, Return: returned} }
	f("fresh", true, 2, -1, 4, 5, write(1, 0, 1), write(2, 2, 3))
	f("stale", false, 1, -1, 4, 5, write(1, 0, 1), write(2, 2, 3))
	f("write under way", true, 1, -1, 4, 5, write(1, 0, 1), write(2, 2, 6))
	f("write under way, seen", true, 2, -1, 4, 5, write(1, 0, 1), write(2, 2, 6))
	f("not written yet", false, 2, -1, 4, 5, write(2, 7, 8))
	f("missing", false, 0, -1, 4, 5, write(1, 0, 1))
	f("not there yet", true, 0, -1, 0, 5, write(1, 0, 1))
	f("deleted", true, 0, -1, 4, 5, write(1, 0, 1), write(0, 2, 3))
	f("perhaps deleted", true, 0, -1, 4, 5, write(1, 0, 1), write(0, 2, never))
	f("deleted before", false, 0, -1, 6, 7, write(0, 0, 1), write(1, 2, 3))
	f("shown although deleted", false, 1, -1, 4, 5, write(1, 0, 1), write(0, 2, 3))
	f("in the other index partition", true, 0, 0, 4, 5, write(1, 0, 1))
	f("missing in its index partition", false, 0, 1, 4, 5, write(1, 0, 1))
	f("in the wrong index partition", false, 1, 0, 4, 5, write(1, 0, 1))
	f("unknown, replaced", true, 2, -1, 8, 9, write(1, 0, 1), write(2, 2, never), write(3, 4, 5))
}
