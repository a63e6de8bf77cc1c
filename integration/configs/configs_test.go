package configs

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestSameAnswers runs one random list of operations directly at an origin, and then under
// random configurations of Kasoku in front of origins with lagging replicas. The first run
// defines the right answers, since it has no cache. KASOKU_SEED selects another list;
// "random" draws one.
func TestSameAnswers(t *testing.T) {
	const configurations, length = 10, 400
	seed := seed(t)
	t.Logf("KASOKU_SEED=%d", seed)
	list := steps(seed, length)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)

	oracle := harness.Origin(t, model.New())
	want := make([]string, len(list))
	for i, s := range list {
		want[i] = answer(t, client, oracle, s)
	}
	if n := sound(want); n < length/2 {
		t.Fatalf("only %d of %d steps were answered with 200", n, length)
	}
	r := rand.New(rand.NewPCG(seed, 11))
	for range configurations {
		service, top, lagging := config(r)
		t.Run("", func(t *testing.T) {
			db := model.New()
			if lagging {
				db.SetLag(model.Lag{Max: 40 * time.Millisecond}, model.Lag{})
			}
			node := harness.Start(t, harness.Options{Origin: harness.Origin(t, db), Service: service, Top: top})
			for i, s := range list {
				if s.operation == "purge" {
					if err := node.Purge(s.body); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if got := answer(t, client, node.URL, s); got != want[i] {
					t.Fatalf("step %d, %.500s\n  directly:       %.500s\n  through Kasoku: %.500s\nthe configuration:\n%s\n%s",
						i, s, want[i], got, strings.Join(top, "\n"), strings.Join(service, "\n"))
				}
			}
		})
	}
}

func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("KASOKU_SEED")
	switch text {
	case "":
		return 1
	case "random":
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("KASOKU_SEED: %v", err)
	}
	return n
}

// answer returns status and body of the answer to s in a comparable form.
func answer(t *testing.T, client *http.Client, url string, s step) string {
	t.Helper()
	if s.operation == "purge" {
		return "200"
	}
	status, body, err := harness.Call(t.Context(), client, url, s.operation, s.body)
	if err != nil {
		t.Fatalf("%.200s: %v", s, err)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%.200s: status %d, body %.200q: %v", s, status, body, err)
	}
	if responses, ok := v["Responses"].(map[string]any); ok { // BatchGetItem's, in no order
		for _, items := range responses {
			slices.SortFunc(items.([]any), func(a, b any) int { return strings.Compare(text(t, a), text(t, b)) })
		}
	}
	return strconv.Itoa(status) + " " + text(t, v)
}

func text(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sound returns the number of answers with status 200.
func sound(answers []string) (n int) {
	for _, a := range answers {
		if strings.HasPrefix(a, "200") {
			n++
		}
	}
	return n
}
