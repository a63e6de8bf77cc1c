//go:build kasokutrace

package protocol

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var (
	traceDir   = flag.String("traces", "", "folder for traces")
	traceFirst = flag.Uint64("tracefirst", 0, "first seed of TestTraces")
	traceSeeds = flag.Int("traceseeds", 10, "number of seeds of TestTraces")
)

// traceChaos returns what happens in the run of a seed: the faults of the simulation, with so
// few nodes and writes that TLC checks the trace in seconds.
func traceChaos(seed uint64) chaos {
	c := chaosOf(seed)
	c.nodes = 2 + int(seed%2)
	c.ops, c.writes = 20*Millisecond, 0.2
	if c.slow > 0 {
		c.slow = 0.06
	}
	return c
}

// traced runs a seed and returns the steps that concern itemA.
func traced(seed uint64) (*world, *Recorder) {
	w := (*world)(nil)
	r := NewRecorder(
		func() int64 {
			if w == nil {
				return 0
			}
			return int64(w.now / Millisecond)
		},
		func(tags []uint64, payload []byte) bool {
			return len(tags) > 0 && tags[0] == itemA || len(payload) > 0 && payload[0] == itemA
		})
	w = newWorld(seed, traceChaos(seed), r)
	w.simulate()
	return w, r
}

// header returns the settings of a run. Its clocks differ by the drift.
func (w *world) header() Header {
	longest := func(d Time) int64 { return int64(float64(d/Millisecond)/(1-w.chaos.drift)) + 1 }
	return Header{
		Action: "Start", Tick: 1, Fresh: !w.chaos.cold,
		Lease: longest(w.cfg.Lease), Reach: longest(w.cfg.Reach), Quarantine: longest(w.cfg.Quarantine),
		Wait: int64(float64(w.cfg.Wait/Millisecond) / (1 + w.chaos.drift)),
	}
}

// TestTraces writes the traces of runs, for specs/trace-runs.sh.
func TestTraces(t *testing.T) {
	for i := range *traceSeeds {
		seed := *traceFirst + uint64(i)
		w, r := traced(seed)
		if w.problem != "" {
			t.Errorf("seed %d: %s", seed, w.problem)
		}
		writeTrace(t, fmt.Sprintf("seed-%d", seed), w, r)
	}
}

// tracedActions are the steps that traces have.
var tracedActions = []string{
	"ReadView", "GotView", "AdoptView", "Join", "JoinDone", "HandOver", "GotBooks", "Suspend", "Clear", "Evict", "Leave",
	"LoseItem", "Begin", "RecvInv", "RoundDone", "Send", "Apply", "Answer", "GiveUp", "Refuse", "RecvVal", "Serve",
}

// TestTracedActions requires that all steps occur in traces, and that epochs increase.
func TestTracedActions(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(100) {
		_, r := traced(seed)
		epoch := uint64(0)
		for i, l := range r.lines {
			counts[l.Action]++
			switch l.Action {
			case "Join", "Leave", "Evict":
				if l.Epoch <= epoch && !l.Same {
					t.Fatalf("seed %d, line %d: epoch %d follows %d", seed, i, l.Epoch, epoch)
				}
				epoch = l.Epoch
			}
		}
	}
	for _, action := range tracedActions {
		if counts[action] == 0 {
			t.Errorf("the traces have no step %s: %v", action, counts)
		}
	}
}

// writeTrace writes the trace of a run to a file.
func writeTrace(t *testing.T, name string, w *world, r *Recorder) {
	t.Helper()
	saveTrace(t, name, r, w.header())
}

// saveTrace writes a trace to a file.
func saveTrace(t *testing.T, name string, r *Recorder, header Header) {
	t.Helper()
	dir := *traceDir
	if dir == "" {
		dir = t.TempDir()
	}
	f, err := os.Create(filepath.Join(dir, name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	if err := r.Write(out, header); err != nil {
		t.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}
