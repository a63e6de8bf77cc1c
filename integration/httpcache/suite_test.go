package httpcache

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// times returns a number from the environment, to run the suite more than once.
func times(name string) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return 1
}

// TestSuite runs the suite with default settings. KASOKU_SUITE_RUNS is the number of runs in
// a row, KASOKU_SUITE_COPIES the number of concurrent copies.
func TestSuite(t *testing.T) {
	t.Parallel() // the suite waits for lifetimes to pass
	origin := Origin(t)
	node := harness.Start(t, harness.Options{Type: "http", Origin: origin})
	for range times("KASOKU_SUITE_RUNS") {
		var wg sync.WaitGroup
		for range times("KASOKU_SUITE_COPIES") {
			wg.Go(func() { checkRun(t, node.URL, notPassed) })
		}
		wg.Wait()
	}
}

// TestFullScore runs the suite with the profile that enables the features that are off by
// default.
func TestFullScore(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{Type: "http", Origin: Origin(t), Service: []string{"profile: full-score"}})
	rest := maps.Clone(notPassed)
	maps.DeleteFunc(rest, func(_, why string) bool {
		return why == dateless || why == brokenPart || why == noValidator || why == cookies
	})
	checkRun(t, node.URL, rest)
}

func checkRun(t *testing.T, url string, notPassed map[string]string) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	r, err := Run(ctx, url, 25)
	if err != nil {
		t.Error(err)
		return
	}
	t.Logf("%d required and %d optional tests passed", len(r.Passed("required")), len(r.Passed("optimal")))
	check(t, r, notPassed)
}

// check compares every result with the expected one: all required and optional tests pass
// except the ones in notPassed, which must not, or the list is out of date.
func check(t *testing.T, r Report, notPassed map[string]string) {
	const known = 350 + 40 // of 0.4.5, and of later.mjs
	if len(r) != known {
		t.Errorf("%d tests, want %d: the suite is not the pinned one", len(r), known)
	}
	for _, id := range slices.Sorted(maps.Keys(r)) {
		test := r[id]
		verdict := r.Verdict(id)
		why, listed := notPassed[id]
		switch {
		case test.Kind == "check":
		case listed && verdict == "pass":
			t.Errorf("%s passes, but is listed as not passed: %s", id, why)
		case !listed && verdict != "pass":
			t.Errorf("%s (%s, %s): %s: %q\n%s", id, test.Suite, test.Kind, verdict, test.Result, test.Name)
		}
	}
	for id := range notPassed {
		if _, there := r[id]; !there {
			t.Errorf("%s is listed as not passed, but there is no such test", id)
		}
	}
}

func TestVerdicts(t *testing.T) {
	r := Report{
		"good":      {Kind: "required"},
		"bad":       {Kind: "required", Result: []string{"Assertion", "x"}},
		"behind":    {Kind: "required", Depends: []string{"bad"}},
		"further":   {Kind: "optimal", Depends: []string{"good", "behind"}},
		"retried":   {Kind: "optimal", Result: []string{"Setup", "retry"}},
		"unset":     {Kind: "check", Result: []string{"Setup", "x"}},
		"yes":       {Kind: "check"},
		"no":        {Kind: "check", Result: []string{"Assertion", "x"}},
		"after yes": {Kind: "optimal", Depends: []string{"yes"}},
		"after no":  {Kind: "optimal", Depends: []string{"no"}},
		"lost":      {Kind: "required", Depends: []string{"good"}, Result: []string{"untested", ""}},
	}
	want := map[string]string{"good": "pass", "bad": "fail", "behind": "dependency", "further": "dependency", "retried": "retry",
		"unset": "setup", "yes": "yes", "no": "no", "after yes": "pass", "after no": "dependency", "lost": "fail"}
	for id, verdict := range want {
		if got := r.Verdict(id); got != verdict {
			t.Errorf("%s: %s, want %s", id, got, verdict)
		}
	}
	if got := r.Passed("optimal"); !slices.Equal(got, []string{"after yes"}) {
		t.Errorf("passed %q", got)
	}
}
