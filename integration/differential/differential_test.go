package differential

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Scenes, and requests in each.
const (
	scenes     = 60
	sceneSteps = 120
)

// play runs scenes and reports each difference with the fewest requests that
// show it.
func play(t *testing.T, p *pair, seeds []uint64, steps int) {
	t.Helper()
	for _, seed := range seeds {
		s := newScene(seed, steps)
		found, err := p.run(t.Context(), s, s.steps)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, d := range found {
			t.Errorf("seed %d, step %d of %d:\n%s\nseen again with only these requests on fresh tables:\n%s", seed, d.step, steps, d, p.reproduce(t.Context(), s, d))
		}
	}
}

// reproduce returns the tables and the fewest requests that show a difference.
func (p *pair) reproduce(ctx context.Context, s *scene, d *difference) string {
	steps := s.steps[:min(d.step+1, len(s.steps))]
	fewest := shrink(steps, func(less []request) bool {
		again, err := p.run(ctx, s, less)
		return err == nil && slices.ContainsFunc(again, func(e *difference) bool { return e.asked.String() == d.asked.String() })
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

// seeds are those that are to be run: one if KASOKU_SEED names it.
func seeds(t *testing.T, n int) []uint64 {
	if text := os.Getenv("KASOKU_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	var all []uint64
	for i := range n {
		all = append(all, uint64(i+1))
	}
	return all
}

// TestItself compares DynamoDB Local with itself: what is then different is the
// comparison's fault.
func TestItself(t *testing.T) {
	url := harness.DynamoDBLocal(t)
	p := newPair(url, url, nil)
	play(t, p, seeds(t, 4), sceneSteps)
	for _, outcome := range slices.Sorted(maps.Keys(p.seen)) {
		t.Log(outcome, p.seen[outcome])
	}
}

// TestEmbedded compares the embedded store, half of the scenes behind the cache.
func TestEmbedded(t *testing.T) {
	local := harness.DynamoDBLocal(t)
	node := harness.Start(t, harness.Options{Origin: "embedded:" + t.TempDir(), Service: []string{"auth: {mode: none}"}})
	p := newPair(local, node.URL, departures)
	play(t, p, seeds(t, scenes), sceneSteps)
}
