package protocol

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	simSeeds = flag.Int("seeds", 20_000, "number of simulated runs")
	simFirst = flag.Uint64("seed", 0, "first seed; with -seeds 1 -v, the run is printed")
)

// injectFault causes one fault of a random kind.
func (w *world) injectFault() {
	if w.chaos.kinds == nil {
		return // recovered
	}
	w.after(w.about(w.chaos.faults), nil, w.injectFault)
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	span := w.between(20*Millisecond, 900*Millisecond)
	switch kind := w.chaos.kinds[w.rng.IntN(len(w.chaos.kinds))]; kind {
	case "crash":
		if n.alive {
			w.logf("%s crashes", n.name)
			n.alive = false
			w.after(span, nil, func() { n.start() })
		}
	case "pause":
		w.logf("%s pauses for %d ms", n.name, span/Millisecond)
		n.pausedUntil = w.now + span
	case "cut", "oneway":
		o := w.nodes[w.rng.IntN(len(w.nodes))]
		w.logf("%s %s %s for %d ms", kind, n.name, o.name, span/Millisecond)
		ways := [][2]int{{n.place, o.place}}
		if kind == "cut" {
			ways = append(ways, [2]int{o.place, n.place})
		}
		for _, way := range ways {
			w.cut[way] = true
		}
		w.after(span, nil, func() {
			for _, way := range ways {
				delete(w.cut, way)
			}
		})
	case "isolate":
		w.logf("%s is cut off for %d ms", n.name, span/Millisecond)
		for _, o := range w.nodes {
			w.cut[[2]int{n.place, o.place}], w.cut[[2]int{o.place, n.place}] = true, true
		}
		w.after(span, nil, func() { clear(w.cut) })
	case "store":
		w.logf("the view can't be reached for %d ms", span/Millisecond)
		w.absent = true
		w.after(span, nil, func() { w.absent = false })
	case "lost":
		w.logf("the view is lost")
		w.view = View{}
	case "leave":
		if n.alive && n.machine.Mode() == In && len(n.ops) == 0 {
			w.logf("%s leaves", n.name)
			n.machine.Leave(n.local())
			w.after(span, nil, func() {
				if n.machine.Mode() == Left || n.machine.Mode() == Leaving {
					n.alive = false
					n.start()
				}
			})
		}
	}
}

// recover ends all faults.
func (w *world) recover() {
	w.chaos.loss, w.chaos.dup, w.chaos.slow, w.chaos.kinds = 0, 0, 0, nil
	w.absent = false
	clear(w.cut)
	for _, n := range w.nodes {
		n.pausedUntil = 0
		if !n.alive || n.machine.Mode() == Left {
			n.alive = false
			n.start()
		}
	}
}

// simulate runs a seed.
func simulate(seed uint64, trace func(string, ...any)) *world {
	pick := seed
	c := chaos{
		nodes: 2 + int(pick%4), length: 1500 * Millisecond, ops: 12 * Millisecond, faults: 250 * Millisecond, drift: 0.01,
		kinds: []string{"crash", "pause", "cut", "oneway", "isolate", "store", "leave", "pause", "crash"},
	}
	if pick%3 > 0 {
		c.loss, c.dup, c.slow = 0.02, 0.05, 0.02
	}
	if pick%17 == 0 {
		c.kinds = append(c.kinds, "lost")
	}
	w := newWorld(seed, c)
	w.trace = trace
	w.after(800*Millisecond+w.about(c.faults), nil, w.injectFault)
	w.run(800*Millisecond + c.length)
	w.recover()
	w.chaos.ops = 30 * Millisecond
	w.run(w.now + 2*Second)
	w.settled()
	return w
}

// settled checks that a cluster without faults serves, and that nothing is fenced for ever.
func (w *world) settled() {
	if w.problem != "" {
		return
	}
	for _, n := range w.nodes {
		m := n.machine
		switch {
		case m.Mode() != In || n.local() >= n.lease:
			w.fail("%s does not serve long after the last fault: %s, %s", n.name, m.Mode(), m.Obstacle())
		case len(m.View().Members) != len(w.nodes):
			w.fail("%s has a view of %d members", n.name, len(m.View().Members))
		}
	}
}

func TestSimulation(t *testing.T) {
	if *simSeeds == 1 {
		if w := simulate(*simFirst, t.Logf); w.problem != "" {
			t.Fatal(w.problem)
		}
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	var next atomic.Uint64
	next.Store(*simFirst)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var hits, acks, refusals, unsure, epochs int
	failed := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *simFirst+uint64(*simSeeds) {
					return
				}
				w := simulate(seed, nil)
				mu.Lock()
				hits, acks, refusals, unsure = hits+w.counts.hits, acks+w.counts.acks, refusals+w.counts.refusals, unsure+w.counts.unknown
				epochs += int(w.view.Rev)
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
	t.Log(fmt.Sprintf("%d hits, %d writes acknowledged, %d refused, %d with unknown outcome, %d changes of the view", hits, acks, refusals, unsure, epochs))
	if hits == 0 || acks == 0 || unsure == 0 {
		t.Error("the simulation does nothing")
	}
}
