package balance

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is a group with a simple model of its members.
type model struct {
	g              *Group
	weights        []float64
	drained        []bool
	down           []bool
	ejectionStates []ejectionState
	journal        *journal
}

func newModel(t *rapid.T) *model {
	m := &model{journal: newJournal()}
	cfg := Config{
		Name: "test", Algorithm: rapid.SampledFrom(Algorithms).Draw(t, "algorithm"), OnStateChange: m.journal.record,
		Ejection: Ejection{Consecutive: modelRow, MinRequests: 1 << 20, Time: modelTime, MaxTime: modelMaxTime},
	}
	for i := range rapid.IntRange(1, 10).Draw(t, "members") {
		w := float64(rapid.IntRange(1, 5).Draw(t, "weight"))
		cfg.Members = append(cfg.Members, Member{Name: fmt.Sprint(i), URL: "http://x", Weight: w})
		m.weights = append(m.weights, w)
	}
	n := len(m.weights)
	m.drained, m.down, m.ejectionStates = make([]bool, n), make([]bool, n), make([]ejectionState, n)
	var err error
	if m.g, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return m
}

// candidates returns the members that may receive a request according to the rules.
func (m *model) candidates(choice *Choice, tried []int) (candidates []int) {
	allowed := func(i int) bool { return choice.Allow == nil || choice.Allow(i) }
	well := func(i int) bool {
		return allowed(i) && !m.drained[i] && !m.down[i] && !m.ejectionStates[i].ejected()
	}
	panics := true
	for i := range m.weights {
		panics = panics && !well(i)
	}
	for i := range m.weights {
		if (well(i) || panics && allowed(i) && !m.drained[i]) && !slices.Contains(tried, i) {
			candidates = append(candidates, i)
		}
	}
	return candidates
}

func (m *model) pick(choice *Choice, tried []int) int {
	r := request{g: m.g, t: m.g.table.Load(), choice: choice, tried: tried}
	return r.pick(time.Now())
}

// TestPickModel makes random events and requests, and compares with the rules: which members
// are allowed, which of them the algorithm chooses, and that weights are obeyed while nothing
// changes.
func TestPickModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newModel(t)
			defer m.g.Close()
			member := rapid.IntRange(0, len(m.weights)-1)
			actions := map[string]func(*rapid.T){
				"drain": func(t *rapid.T) {
					i := member.Draw(t, "member")
					m.drained[i] = true
					m.g.Drain(fmt.Sprint(i))
				},
				"undrain": func(t *rapid.T) {
					i := member.Draw(t, "member")
					m.drained[i] = false
					m.g.Undrain(fmt.Sprint(i))
				},
				"down": func(t *rapid.T) {
					i := member.Draw(t, "member")
					m.down[i] = rapid.Bool().Draw(t, "down")
					m.g.table.Load().members[i].down.Store(m.down[i])
				},
				"pass": func(t *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 10).Draw(t, "seconds")) * time.Second) // on the bubble's clock
				},
				"load": func(t *rapid.T) {
					m.g.table.Load().members[member.Draw(t, "member")].inflight.Store(int64(rapid.IntRange(0, 3).Draw(t, "requests")))
				},
				"ask": func(t *rapid.T) { m.checkOnce(t, member) },
				"":    func(t *rapid.T) { m.checkAnnounced(t) },
			}
			m.eject(actions, member)
			t.Repeat(actions)
			m.checkWeights(t)
		})
	})
}

// checkOnce makes a random choice and compares it with the rules.
func (m *model) checkOnce(t *rapid.T, member *rapid.Generator[int]) {
	choice := &Choice{Prefer: rapid.SliceOfN(member, 0, 2).Draw(t, "prefer"), Key: []byte(rapid.StringN(0, 5, -1).Draw(t, "key"))}
	if rapid.Bool().Draw(t, "some forbidden") {
		forbidden := rapid.SliceOfN(member, 0, 3).Draw(t, "forbidden")
		choice.Allow = func(i int) bool { return !slices.Contains(forbidden, i) }
	}
	tried := rapid.SliceOfNDistinct(member, 0, len(m.weights)-1, rapid.ID[int]).Draw(t, "tried")
	candidates := m.candidates(choice, tried)
	got := m.pick(choice, tried)
	if len(candidates) == 0 {
		if got != -1 {
			t.Fatalf("got member %d, want none", got)
		}
		return
	}
	if !slices.Contains(candidates, got) {
		t.Fatalf("got member %d, want one of %v", got, candidates)
	}
	for _, i := range choice.Prefer {
		if slices.Contains(candidates, i) {
			if got != i {
				t.Fatalf("got member %d of %v, preferring %v", got, candidates, choice.Prefer)
			}
			return
		}
	}
	m.checkRule(t, choice, candidates, got)
}

// checkRule checks that the algorithm has chosen the right one of the allowed members, where
// the choice is not random.
func (m *model) checkRule(t *rapid.T, choice *Choice, candidates []int, got int) {
	members := m.g.table.Load().members
	better := func(i int) bool { return false }
	switch m.g.table.Load().cfg.Algorithm {
	case LeastRequests:
		load := func(i int) float64 { return float64(members[i].inflight.Load()+1) / m.weights[i] }
		better = func(i int) bool { return load(i) < load(got) }
	case ConsistentHash:
		if len(choice.Key) > 0 {
			key := hash(choice.Key)
			better = func(i int) bool {
				return score(key, members[i].hash, m.weights[i]) > score(key, members[got].hash, m.weights[got])
			}
		}
	}
	if i := slices.IndexFunc(candidates, better); i >= 0 {
		t.Fatalf("got member %d, but member %d is better", got, candidates[i])
	}
}

// checkWeights makes many choices while nothing changes. With round robin, each member
// receives its share, plus or minus two requests for its earlier credit.
func (m *model) checkWeights(t *rapid.T) {
	if m.g.table.Load().cfg.Algorithm != RoundRobin {
		return
	}
	choice := &Choice{}
	candidates := m.candidates(choice, nil)
	total := 0.0
	for _, i := range candidates {
		total += m.weights[i]
	}
	const rounds = 200
	got := map[int]float64{}
	for range rounds {
		got[m.pick(choice, nil)]++
	}
	for _, i := range candidates {
		if want := rounds * m.weights[i] / total; math.Abs(got[i]-want) > 2 {
			t.Fatalf("member %d got %v of %d requests, want %v", i, got[i], rounds, want)
		}
	}
}

// TestDrawnByWeight checks that each member has a part of [0, 1) in proportion to its weight.
func TestDrawnByWeight(t *testing.T) {
	const n = 8000
	members := []Member{{Name: "a", URL: "http://a", Weight: 1}, {Name: "b", URL: "http://b", Weight: 2}, {Name: "c", URL: "http://c", Weight: 5}}
	g := group(t, Config{Members: members, Algorithm: P2C})
	r := request{g: g, t: g.table.Load(), choice: &Choice{}}
	f := func(not int, want [3]int) {
		t.Helper()
		got := [3]int{}
		for i := range n {
			got[r.draw((float64(i)+0.5)/n, []int{0, 1, 2}, not, time.Now())]++
		}
		if got != want {
			t.Errorf("without %d: got %d, want %d", not, got, want)
		}
	}
	f(-1, [3]int{1000, 2000, 5000})
	f(1, [3]int{1333, 0, 6667})
	f(2, [3]int{2667, 5333, 0})
}
