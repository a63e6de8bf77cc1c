//go:build unix

package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/history"
)

// Limits for clients of nodes without a fault.
const (
	// A write waits for a member that died: about two seconds at the default lease.
	maxWrite = 4 * time.Second
	// A read waits for the origin, and for no other node.
	maxRead = 1500 * time.Millisecond
	// The time from which requests are recorded as slow.
	slow = 100 * time.Millisecond
	// One of so many requests may exceed the limits, or be refused, unless the run is strict:
	// on a machine that runs other tests too, a node may be suspended because it gets no CPU.
	maxShare = 200
)

// storm is a run of faults.
type storm struct {
	*scene
	rand   *rand.Rand
	strict bool // no request to a node without a fault may be refused or slow
	faults []interval
}

// interval is the time of a fault, until all nodes serve again.
type interval struct {
	node     int
	kind     string
	from, to time.Time
}

func (i interval) String() string {
	return fmt.Sprintf("%s node %d, from %s for %s", i.kind, i.node, i.from.Format("15:04:05.000"), i.to.Sub(i.from).Round(time.Millisecond))
}

// kinds are the faults of a node. Each returns when it has ended the fault.
var kinds = []struct {
	name string
	run  func(s *storm, n *node)
}{
	{"kill", func(s *storm, n *node) {
		n.Kill()
		s.wait(0, 4*time.Second)
		n.Restart(s.t)
	}},
	{"terminate", func(s *storm, n *node) {
		n.Terminate(s.t)
		s.wait(0, time.Second)
		n.Restart(s.t)
	}},
	{"suspend", func(s *storm, n *node) {
		n.signal(syscall.SIGSTOP)
		s.wait(500*time.Millisecond, 4*time.Second)
		n.signal(syscall.SIGCONT)
	}},
	{"suspend for long", func(s *storm, n *node) {
		n.signal(syscall.SIGSTOP)
		s.wait(8*time.Second, 10*time.Second)
		n.signal(syscall.SIGCONT)
	}},
	{"cut off from the others", func(s *storm, n *node) {
		s.each(n, s.net.Cut)
		s.wait(500*time.Millisecond, 6*time.Second)
		s.each(n, s.net.Heal)
	}},
	{"cut off from the others, lossy", func(s *storm, n *node) {
		s.each(n, s.net.Cut)
		s.wait(500*time.Millisecond, 6*time.Second)
		s.each(n, s.net.Reset)
		s.each(n, s.net.Heal)
	}},
	{"is not heard by the others", func(s *storm, n *node) {
		s.each(n, s.net.Hold)
		s.wait(500*time.Millisecond, 4*time.Second)
		s.each(n, s.net.Heal)
	}},
	{"does not hear the others", func(s *storm, n *node) {
		s.each(n, func(n, other string) { s.net.Hold(other, n) })
		s.wait(500*time.Millisecond, 4*time.Second)
		s.each(n, s.net.Heal)
	}},
	{"cut off from the origin", func(s *storm, n *node) {
		s.net.Cut(n.name, origin)
		s.wait(500*time.Millisecond, late)
		s.net.Heal(n.name, origin)
	}},
	{"has no answers of the origin", func(s *storm, n *node) {
		s.net.Hold(origin, n.name)
		s.wait(500*time.Millisecond, late)
		s.net.Heal(n.name, origin)
	}},
	{"routes reset", func(s *storm, n *node) {
		s.each(n, s.net.Reset)
		s.wait(500*time.Millisecond, time.Second) // they are open again at once
	}},
	{"routes delayed", func(s *storm, n *node) {
		s.each(n, func(n, other string) { s.net.Delay(n, other, 100*time.Millisecond) })
		s.wait(2*time.Second, 3*time.Second)
		s.each(n, func(n, other string) { s.net.Delay(n, other, 0) })
	}},
}

// each calls f with the names of n and each other node.
func (s *storm) each(n *node, f func(n, other string)) {
	for _, o := range s.others(n) {
		f(n.name, o)
	}
}

// wait waits for a time between two limits.
func (s *storm) wait(low, high time.Duration) { <-time.After(low + s.upTo(high-low)) }

func (s *storm) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rand.Int64N(int64(d) + 1))
}

// run injects one fault after the other until end is closed. Each kind occurs once before one
// occurs again.
func (s *storm) run(end <-chan struct{}) {
	var order []int
	for {
		s.wait(500*time.Millisecond, 2*time.Second)
		select {
		case <-end:
			return
		default:
		}
		if len(order) == 0 {
			order = s.rand.Perm(len(kinds))
		}
		k := kinds[order[0]]
		order = order[1:]
		i := s.rand.IntN(len(s.nodes))
		n := s.nodes[i]
		fault := interval{node: i, kind: k.name, from: time.Now()}
		k.run(s, n)
		ended := time.Now()
		harness.Await(s.t, "all nodes serve after: "+k.name, 20*time.Second, s.whole)
		fault.to = time.Now()
		s.faults = append(s.faults, fault)
		s.t.Logf("%s; all nodes serve %s after its end", fault, fault.to.Sub(ended).Round(time.Millisecond))
	}
}

// seed returns the seed of the run: KASOKU_SEED, by default a random one.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("KASOKU_SEED")
	switch text {
	case "":
		return 1 // so that a failure is due to a change
	case "random":
		return uint64(rand.Uint32())
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("KASOKU_SEED: %v", err)
	}
	return n
}

// extent returns how long a run takes, and its maximum number of requests:
// KASOKU_CLUSTER_OPS for a long run without a limit of time and without pauses.
func extent(t *testing.T, usual time.Duration) (d time.Duration, ops int, pause time.Duration) {
	t.Helper()
	text := os.Getenv("KASOKU_CLUSTER_OPS")
	if text == "" {
		return usual, 1 << 30, 40 * time.Millisecond
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KASOKU_CLUSTER_OPS: %v", err)
	}
	return 0, n, 0
}

// TestStorm injects one fault after the other into a cluster while clients use all nodes, and
// checks the record of the clients: each item is linearizable across the nodes, no query or
// scan is older than an acknowledged write, and clients of nodes without a fault get answers
// in time.
func TestStorm(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { runStorm(t, store(t), 20*time.Second, false) })
	// DynamoDB Local loses a put that overlaps a delete of the same item, for example.
	t.Run("local", func(t *testing.T) { runStorm(t, harness.DynamoDBLocal(t), 12*time.Second, true) })
}

// TestBrokenRule checks that the check works: it must refute a build whose writes wait for one
// of two other members only.
func TestBrokenRule(t *testing.T) {
	const waitForAll = "1" // its number in internal/cluster/protocol/rules.go
	s := start(t, store(t), 3, func(o *harness.Options) {
		o.Tags = "kasokumutant"
		o.Env = append(o.Env, "KASOKU_MUTANT="+waitForAll)
	}, logSteps)
	// Otherwise most messages arrive before the origin has executed the write.
	s.net.Delay("a", "c", 50*time.Millisecond)
	s.net.Delay("b", "c", 50*time.Millisecond)
	result, err := history.Run(t.Context(), history.Config{Nodes: s.targets(), Ops: 5_000, Clients: 12, KeyTime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Violations) == 0 {
		t.Fatalf("no violation was found among %d requests", result.Requests)
	}
	t.Logf("%d violations, the first: %s", len(result.Violations), result.Violations[0])
}

// broken turns off the rule with the number KASOKU_MUTANT, if that is set.
func broken(o *harness.Options) {
	if number := os.Getenv("KASOKU_MUTANT"); number != "" {
		o.Tags = "kasokumutant"
		o.Env = append(o.Env, "KASOKU_MUTANT="+number)
	}
}

// logSteps lets nodes log the steps of the protocol into a folder, for specs/trace-storm.sh.
func logSteps(o *harness.Options) {
	if dir := os.Getenv("KASOKU_TRACE"); dir != "" {
		o.Tags = strings.TrimPrefix(o.Tags+",kasokutrace", ",")
		o.Env = append(o.Env, "KASOKU_TRACE="+dir)
	}
}

// runStorm checks the nodes before the store at url.
func runStorm(t *testing.T, url string, usual time.Duration, serial bool) {
	random := seed(t)
	s := &storm{rand: rand.New(rand.NewPCG(random, 2))}
	count := 3
	if random%4 == 0 {
		count = 5
	}
	t.Logf("KASOKU_SEED=%d: %d nodes", random, count)
	s.scene = start(t, url, count, broken, logSteps)
	d, ops, pause := extent(t, usual)
	s.strict = d == 0
	ended := make(chan struct{})
	var result *history.Result
	var err error
	go func() {
		defer close(ended)
		result, err = history.Run(t.Context(), history.Config{
			Nodes: s.targets(), Ops: ops, For: d, Pause: pause, Clients: 6 * count, Abort: 200, Seed: random, Serial: serial,
			ReadTimeout: 5 * time.Second, Slow: slow, KeyTime: time.Minute,
		})
	}()
	s.run(ended)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests in %s, %d answered, %d from memory, %d by DAX",
		result.Requests, result.Elapsed.Round(time.Millisecond), result.Answered, result.Hits, result.DAX)
	s.verdict(result)
}

// verdict fails the test for violations, and for troubles that no fault excuses.
func (s *storm) verdict(r *history.Result) {
	t := s.t
	report := func(list []string) {
		for i, v := range list {
			if i == 10 {
				t.Errorf("and %d more", len(list)-i)
				break
			}
			t.Error(v)
		}
	}
	report(r.Violations)
	if r.Hits*20 < r.Requests {
		t.Errorf("only %d of %d requests were hits: the run hardly tests the cache", r.Hits, r.Requests)
	}
	if r.Answered*2 < r.Requests {
		t.Errorf("only %d of %d requests were answered", r.Answered, r.Requests)
	}
	var inexcusable []string
	var slowest [2]*history.Trouble // read and write of nodes without a fault
	for i := range r.Troubles {
		x := &r.Troubles[i]
		if s.excused(x) {
			continue
		}
		kind, limit := 0, maxRead
		if x.Write {
			kind, limit = 1, maxWrite
		}
		if x.Err != nil || x.Took() >= limit {
			inexcusable = append(inexcusable, x.String())
		}
		if slowest[kind] == nil || x.Took() > slowest[kind].Took() {
			slowest[kind] = x
		}
	}
	if s.strict || int64(len(inexcusable))*maxShare > r.Requests {
		report(inexcusable)
	}
	t.Logf("%d requests to nodes without a fault were refused or slow; the ones:\n%v\n%v", len(inexcusable), slowest[0], slowest[1])
	if t.Failed() {
		var all strings.Builder
		for _, f := range s.faults {
			fmt.Fprintln(&all, f)
		}
		t.Logf("the faults:\n%s", &all)
	}
}

// excused reports whether a request was sent to a node with a fault, or was in flight when a
// fault began. A write may be refused then, because the node has lost its lease.
func (s *storm) excused(x *history.Trouble) bool {
	for _, f := range s.faults {
		if f.node == x.Node && x.Call.Before(f.to) && x.Return.After(f.from) {
			return true
		}
	}
	return false
}
