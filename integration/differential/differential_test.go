package differential

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Scenes, requests in each, and how many are played side by side.
const (
	scenes     = 36
	sceneSteps = 120
	players    = 6
)

// maxReproduced is the number of differences that are reduced to the fewest requests,
// which takes many rounds for each.
const maxReproduced = 3

// play runs scenes and reports each difference with the fewest requests that
// show it.
func play(t *testing.T, p *pair, seeds []uint64, steps int) {
	t.Helper()
	found := make([][]*difference, len(seeds))
	failed := make([]error, len(seeds))
	var wg sync.WaitGroup
	var next atomic.Int64
	for range players {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(seeds); i = int(next.Add(1)) - 1 {
				s := newScene(seeds[i], steps)
				found[i], failed[i] = p.run(t.Context(), s, s.steps)
			}
		})
	}
	wg.Wait()
	reproduced := 0
	for i, seed := range seeds {
		if failed[i] != nil {
			t.Errorf("seed %d: %v", seed, failed[i])
		}
		for _, d := range found[i] {
			fewest := ""
			if reproduced++; reproduced <= maxReproduced {
				fewest = "\nseen again with only these requests on fresh tables:\n" + p.reproduce(t.Context(), newScene(seed, steps), d)
			}
			t.Errorf("seed %d, step %d of %d:\n%s%s", seed, d.step, steps, d, fewest)
		}
	}
}

// reproduce returns the tables and the fewest requests that show a difference.
func (p *pair) reproduce(ctx context.Context, s *scene, d *difference) string {
	steps := s.steps[:min(d.step+1, len(s.steps))]
	fewest := shrink(steps, func(less []request) bool {
		again, err := p.run(ctx, s, less)
		return err == nil && slices.ContainsFunc(again, func(e *difference) bool { return e.req.String() == d.req.String() })
	})
	var b strings.Builder
	for _, t := range s.tables {
		b.WriteString(t.create().String() + "\n")
	}
	for _, r := range fewest {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// seeds returns the seeds of the scenes to play: the first n, unless KASOKU_SEED names one,
// or a range as in 41-80.
func seeds(t *testing.T, n uint64) (all []uint64) {
	first, last := uint64(1), n
	if text := os.Getenv("KASOKU_SEED"); text != "" {
		from, to, several := strings.Cut(text, "-")
		if !several {
			to = from
		}
		var errs [2]error
		first, errs[0] = strconv.ParseUint(from, 10, 64)
		last, errs[1] = strconv.ParseUint(to, 10, 64)
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatalf("KASOKU_SEED: %v", err)
		}
	}
	for seed := first; seed <= last; seed++ {
		all = append(all, seed)
	}
	return all
}

// TestDynamoDBLocalWithItself compares DynamoDB Local with itself: any difference is a fault of the
// comparison.
func TestDynamoDBLocalWithItself(t *testing.T) {
	url := harness.DynamoDBLocal(t)
	play(t, newPair(url, url), []uint64{1, 2}, sceneSteps)
}

// TestEmbedded compares the embedded store, without a cache in front of it.
func TestEmbedded(t *testing.T) {
	local := harness.DynamoDBLocal(t)
	node := harness.Start(t, harness.Options{
		Origin:  "embedded:" + t.TempDir(),
		Service: []string{"auth: {mode: none}", "sync: false", "item_ttl: 0s", "query_ttl: 0s", "negative_ttl: 0s"},
	})
	p := newPair(local, node.URL)
	p.tolerate, p.alone = departures, abnormalNumber
	play(t, p, seeds(t, scenes), sceneSteps)
	p.totals.log(t)
}

// log logs, with -v, the requests and the departures that were used.
func (y *statistics) log(t *testing.T) {
	for _, counts := range []map[string]int{y.seen, y.met} {
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%6d %s", counts[what], what)
		}
	}
}
