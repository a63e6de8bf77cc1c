package protocol

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

var (
	simSeeds = flag.Int("seeds", 0, "number of simulated runs; by default 20,000, or fewer with -race or -short")
	simFirst = flag.Uint64("seed", 0, "first seed; with -seeds 1 -v, the run is printed")
)

// injectFault causes one fault of a random kind.
func (w *world) injectFault() {
	if w.chaos.kinds == nil {
		return // recovered
	}
	w.after(w.about(w.chaos.faults), nil, w.injectFault)
	w.injectAt(w.nodes[w.rng.IntN(len(w.nodes))])
}

// injectAt causes a fault at a node.
func (w *world) injectAt(n *simNode) {
	if w.chaos.kinds == nil {
		return
	}
	o := w.nodes[w.rng.IntN(len(w.nodes))]
	span := w.between(10*Millisecond, 3*w.cfg.Lease)
	kind := w.chaos.kinds[w.rng.IntN(len(w.chaos.kinds))]
	w.logf("%s at %s and %s for %d ms", kind, n.name, o.name, span/Millisecond)
	switch kind {
	case "crash":
		w.crash(n, span)
	case "power":
		for _, n := range w.nodes {
			w.crash(n, w.between(0, span))
		}
	case "pause":
		n.pausedUntil = w.now + span
	case "blind":
		n.blindUntil = w.now + span
	case "cut":
		w.disconnect(span, [][2]int{{n.place, o.place}, {o.place, n.place}})
	case "oneway":
		w.disconnect(span, [][2]int{{n.place, o.place}})
	case "isolate":
		var ways [][2]int
		for _, o := range w.nodes {
			ways = append(ways, [2]int{n.place, o.place}, [2]int{o.place, n.place})
		}
		w.disconnect(span, ways)
	case "store":
		w.absent = true
		w.after(span, nil, func() { w.absent = false })
	case "lost":
		if w.steps != nil && w.view.Rev > 0 {
			w.steps.Lose()
		}
		w.view = View{}
	case "evict":
		if n.alive && n.machine.Mode() == In {
			_, _ = n.machine.Evict(n.local(), o.name)
		}
	case "leave":
		w.leave(n, span)
	case "stop":
		for _, n := range w.nodes {
			w.after(w.between(0, 20*Millisecond), nil, func() { w.leave(n, span) })
		}
	default:
		w.fail("no fault %s", kind)
	}
}

// crash ends the process of a node, and starts it again.
func (w *world) crash(n *simNode, span Time) {
	n.alive = false
	w.after(span, nil, func() {
		if !n.alive {
			n.start()
		}
	})
}

// disconnect cuts directions of the network.
func (w *world) disconnect(span Time, ways [][2]int) {
	for _, way := range ways {
		w.cut[way] = true
	}
	w.after(span, nil, func() {
		for _, way := range ways {
			delete(w.cut, way)
		}
	})
}

// leave stops a node that has no writes in flight, and starts it again.
func (w *world) leave(n *simNode, span Time) {
	if !n.alive || w.now < n.pausedUntil || len(n.ops) > 0 {
		return
	}
	n.machine.Leave(n.local())
	w.after(span, nil, func() {
		if n.machine.Mode() == Left || n.machine.Mode() == Leaving {
			n.alive = false
			n.start()
		}
	})
}

// recover ends all faults.
func (w *world) recover() {
	w.chaos.loss, w.chaos.dup, w.chaos.slow, w.chaos.kinds = 0, 0, 0, nil
	w.absent = false
	clear(w.cut)
	for _, n := range w.nodes {
		n.pausedUntil, n.blindUntil = 0, 0
		if !n.alive || n.machine.Mode() == Left {
			n.alive = false
			n.start()
		}
	}
}

// chaosOf returns what happens in the run of a seed.
func chaosOf(seed uint64) chaos {
	rng := rand.New(rand.NewPCG(seed, 2))
	c := chaos{
		nodes: 2 + rng.IntN(4), cold: rng.IntN(5) == 0, coded: rng.IntN(16) == 0,
		length: 1000 * Millisecond, ops: 5 * Millisecond, writes: [...]float64{0.04, 0.1, 0.25}[rng.IntN(3)],
		faults: 200 * Millisecond, drift: [...]float64{0.01, 0.04}[rng.IntN(2)], late: 0.02,
		timeout: [...]Time{40 * Millisecond, 120 * Millisecond, 300 * Millisecond}[rng.IntN(3)],
		purges:  [...]float64{0.1, 0.4}[rng.IntN(2)],
		lag:     [...]float64{0, 0.08}[rng.IntN(2)],
	}
	c.reach = c.timeout + [...]Time{60 * Millisecond, 400 * Millisecond}[rng.IntN(2)]
	if rng.IntN(3) > 0 {
		c.loss, c.dup, c.slow = 0.02, 0.05, 0.02
	}
	switch rng.IntN(8) {
	case 0:
		c.kinds = []string{"lost", "lost", "blind", "pause", "crash"}
		c.cold = false
	case 1:
		c.kinds = []string{"power", "stop", "leave", "crash", "store"}
		c.late = 0.1
	case 2:
		c.kinds = []string{"stop", "leave"}
		c.late = 0.1
	case 3, 4:
		c.kinds = []string{"pause", "pause", "cut", "oneway", "isolate", "blind", "evict", "evict"} // the nodes stay
	default:
		c.kinds = []string{"crash", "pause", "cut", "oneway", "isolate", "store", "leave", "pause", "crash", "evict", "blind"}
	}
	return c
}

// simulate runs a seed.
func simulate(seed uint64, trace func(string, ...any)) *world {
	w := newWorld(seed, chaosOf(seed), nil)
	w.trace = trace
	w.simulate()
	return w
}

// simulate runs a world with its faults, and ends them.
func (w *world) simulate() {
	w.after(w.between(0, 150*Millisecond), nil, w.injectFault)
	w.run(w.chaos.length)
	w.recover()
	w.run(w.now + 50*Millisecond)
	w.chaos.ops = 0
	why := ""
	for limit := w.now + 4*Second; w.now < limit && w.problem == ""; {
		w.run(w.now + 10*Millisecond)
		if why = w.unsettled(); why == "" {
			break
		}
	}
	if why != "" {
		w.fail("long after the last fault %s", why)
	}
	w.counts.epochs = int(w.view.Rev)
}

// unsettled returns what a cluster without faults and clients has to complete: all nodes
// serve, and nothing is fenced. It returns "" if that is so.
func (w *world) unsettled() string {
	for _, n := range w.nodes {
		m := n.machine
		switch {
		case m.Mode() != In || n.local() >= n.lease:
			return fmt.Sprintf("%s does not serve: %s, %s", n.name, m.Mode(), m.Obstacle())
		case len(m.View().Members) != len(w.nodes):
			return fmt.Sprintf("%s has a view of %d members", n.name, len(m.View().Members))
		case len(m.View().Suspended) > 0:
			return fmt.Sprintf("%s has a view with suspensions", n.name)
		case len(n.ops) > 0 || len(m.writes) > 0:
			return n.name + " has writes in flight"
		case len(n.holds) > 0 || len(m.held) > 0:
			return n.name + " fences members' writes"
		}
		for tag := range simTags {
			if n.tags[tag].writers != 0 {
				return fmt.Sprintf("%s fences tag %d", n.name, tag)
			}
		}
	}
	return ""
}

// seedCount returns the number of runs.
func seedCount() int {
	switch {
	case *simSeeds > 0:
		return *simSeeds
	case race.Enabled || testing.Short():
		return 500
	}
	return 20_000
}

// TestSimulation runs the protocol under faults. make soak runs ten million seeds.
func TestSimulation(t *testing.T) {
	seeds := uint64(seedCount())
	if seeds == 1 {
		if w := simulate(*simFirst, t.Logf); w.problem != "" {
			t.Fatal(w.problem)
		}
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(8000))
	var next atomic.Uint64
	next.Store(*simFirst)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var counts simCounts
	failed := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *simFirst+seeds {
					return
				}
				w := simulate(seed, nil)
				mu.Lock()
				counts.add(w.counts)
				if w.problem != "" {
					if failed++; failed <= 5 {
						t.Errorf("seed %d, %d nodes: %s\nrepeat it with: go test ./internal/cluster/protocol -run TestSimulation -seeds 1 -seed %d -v", seed, w.chaos.nodes, w.problem, seed)
					}
				}
				stop := failed > 5
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%+v", counts)
	if counts.hits == 0 || counts.acks == 0 || counts.unknown == 0 || counts.peers == 0 || counts.purges == 0 {
		t.Error("the simulation does nothing")
	}
}
