package compare

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// steps is how many requests a comparison makes.
func steps(t *testing.T) int {
	text := os.Getenv("KASOKU_COUCH_STEPS")
	if text == "" {
		return 200
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KASOKU_COUCH_STEPS: %v", err)
	}
	return n
}

// TestSameAnswers sends the same requests to one node and through Kasoku to another,
// and to two that replicate to each other.
func TestSameAnswers(t *testing.T) {
	t.Run("one node", func(t *testing.T) {
		play(t, &generator{Rand: rand.New(rand.NewPCG(1, 1)), alone: true}, couch.Disk(t).URL)
	})
	t.Run("two nodes", func(t *testing.T) {
		a, b := couch.Disk(t), couch.Disk(t)
		couch.Pair(t, a, b, "db")
		play(t, &generator{Rand: rand.New(rand.NewPCG(2, 2))}, a.URL, b.URL)
	})
}

// play sends each read to Kasoku twice, so that copies are compared too. Writes are sent
// once.
func play(t *testing.T, g *generator, nodes ...string) {
	g.revs = map[string][]string{}
	direct := couch.Disk(t).URL
	through := harness.Start(t, harness.Options{Type: "couchdb", Origin: strings.Join(nodes, ", ")}).URL
	failed := 0
	do := func(r request) {
		want, err := send(t.Context(), direct, &r)
		if err != nil {
			t.Fatalf("%s: the node: %v", &r, err)
		}
		times := 1
		if r.method == "GET" || r.method == "HEAD" {
			times = 2
		}
		for range times {
			got, err := send(t.Context(), through, &r)
			if err != nil {
				t.Fatalf("%s: %v", &r, err)
			}
			if what := differences(&r, want, got, g.alone); what != "" {
				t.Errorf("%s: %s", &r, what)
				failed++
			}
		}
		g.record(&r, want)
	}
	for _, r := range setup() {
		if len(nodes) == 1 || r.path != "/db" {
			do(r)
		} else if _, err := send(t.Context(), direct, &r); err != nil {
			t.Fatal(err)
		}
	}
	for range steps(t) {
		if do(g.next()); failed > 20 {
			t.Fatal("too many differences")
		}
	}
}
