package history

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
)

// bound is the time after which a write past Kasoku must be seen. The promise is a second
// more than a feed takes to announce it, which depends on the machine.
const bound = 5 * time.Second

// scene is two nodes, the proxies in front of them that inject faults, a Kasoku in front of these,
// and a run of clients.
type scene struct {
	*testing.T
	nodes   [2]*couch.Node
	proxies [2]*couch.Proxy
	run     *Run

	probes int
}

func newScene(t *testing.T, cfg Config) *scene {
	t.Helper()
	s := &scene{T: t, nodes: [2]*couch.Node{couch.Disk(t), couch.Disk(t)}}
	a, b := s.nodes[0], s.nodes[1]
	var service []string
	if cfg.Spread {
		a.Must(t, "PUT", "/history", "")
		b.Must(t, "PUT", "/history", "")
		service = []string{"writes: any", "replicate: {databases: [history], direction: both}"}
	} else {
		couch.Pair(t, a, b, "history")
	}
	s.proxies = [2]*couch.Proxy{couch.NewProxy(t, a), couch.NewProxy(t, b)}
	k := harness.Start(t, harness.Options{Type: "couchdb", Origin: s.proxies[0].URL + ", " + s.proxies[1].URL, Service: service})
	if err := Prepare(t.Context(), a.URL, "history"); err != nil {
		t.Fatal(err)
	}
	couch.Await(t, "the design document on the other node", func() bool { return b.Do(t, "GET", "/history/_design/h", "").Status == 200 })
	cfg.Through, cfg.First, cfg.Other = k.URL, a.URL, b.URL
	cfg.DB, cfg.Clients, cfg.Bound = "history", 8, bound
	s.run = Start(t.Context(), cfg)
	return s
}

// stage waits for the end of the present busy and quiet period, and returns the numbers of
// failed and odd reads in it.
func (s *scene) stage(name string) (failed, invalid int64) {
	s.Helper()
	before, until := s.run.Counts(), s.run.Cycles()+1
	couch.Await(s, name, func() bool { return s.run.Cycles() >= until })
	after := s.run.Counts()
	failed, invalid = after.Failed-before.Failed, after.Invalid-before.Invalid
	s.Logf("%-26s %5d reads, %5d from memory, %4d writes, %3d past; %d reads failed, %d odd, %d writes unanswered",
		name, after.Reads+after.Results-before.Reads-before.Results, after.Hits-before.Hits, after.Writes-before.Writes, after.Past-before.Past,
		failed, invalid, after.Unanswered-before.Unanswered)
	return failed, invalid
}

// awaitSeen waits until Kasoku shows writes to a node itself again.
func (s *scene) awaitSeen(node int) {
	s.Helper()
	s.probes++
	path := fmt.Sprint("/history/probe-", s.probes)
	s.nodes[node].Must(s, "PUT", path, "{}")
	by := &couch.Node{URL: s.run.cfg.Through}
	couch.Await(s, path, func() bool { return by.Do(s, "GET", path, "").Status == 200 })
	s.stage("it is back")
}

// healthy is a stage in which no read may fail.
func (s *scene) healthy(name string) {
	s.Helper()
	if failed, invalid := s.stage(name); failed > 0 || invalid > 0 {
		c := s.run.Counts()
		s.Errorf("%s: %d reads failed, the first of all: %s; %d were odd, the first of all: %s", name, failed, c.FirstFailed, invalid, c.FirstInvalid)
	}
}

// end continues to read for longer than the bound, and then checks the result of the run.
func (s *scene) end() {
	s.Helper()
	s.run.StopWrites()
	until := s.run.now() + bound + cycle
	couch.Await(s, "the end", func() bool { return s.run.now() > until })
	result := s.run.Stop()
	report(s.T, &result)
	if result.Hits*20 < result.Reads+result.Results {
		s.Errorf("only %d of %d reads were answered from memory: the run hardly tests the cache", result.Hits, result.Reads+result.Results)
	}
	for _, v := range result.Violations {
		s.Error(v)
	}
	if more := result.Violated - int64(len(result.Violations)); more > 0 {
		s.Errorf("and %d more", more)
	}
}

// rounds returns how often a test repeats its faults: KASOKU_COUCH_ROUNDS.
func rounds(t *testing.T, usually int) int {
	text := os.Getenv("KASOKU_COUCH_ROUNDS")
	if text == "" {
		return usually
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KASOKU_COUCH_ROUNDS: %v", err)
	}
	return n
}

// reads returns faults in answers to reads. Each kind affects one in oneIn.
func reads(oneIn int, kinds ...fault.Kind) fault.Plan {
	p := fault.Plan{OneIn: map[fault.Kind]int{}, Only: []string{"read"}, DelayFor: 300 * time.Millisecond}
	for _, k := range kinds {
		p.OneIn[k] = oneIn
	}
	return p
}
