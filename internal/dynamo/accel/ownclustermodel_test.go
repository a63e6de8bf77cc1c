package accel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// Faults of clusterRule. Each makes it mistake a foreign record.
const (
	clusterFaultNone   = iota
	clusterKeepGap     // a batch that is not the next one of its shard resets nothing
	clusterKeepShard   // the first batch of a shard resets nothing
	clusterKeepRun     // batches of all runs are numbered together
	clusterKeepReader  // a node that begins to read resets nothing
	clusterKeepMissed  // a reader that has missed records does not begin a run
	clusterKeepRefused // a batch that is lost counts as taken
	clusterFaults
)

var clusterFaultNames = [clusterFaults]string{"none", "keep gap", "keep shard", "keep run", "keep reader", "keep missed", "keep refused"}

// clusterRule is the rule of a cluster for one item. One node reads the records, and asks the others.
// Questions and answers are lost, repeated and delayed, shards end, and the reader changes.
type clusterRule struct {
	fault   int
	rng     *rand.Rand
	nodes   []*ruleNode
	reader  *ruleNode
	former  *ruleNode // it may still read too
	shard   int
	calm    int // the inverse of the rate of disturbances
	losses  int // questions lost of 8
	writes  []*ownWrite
	log     []recordBatch // what was delivered; without numbers
	delayed []recordBatch
	helped  int // records that only other nodes than the reader recognize
}

// ruleNode is a node. The last two fields are those of a batchTaker with a fault.
type ruleNode struct {
	own     *ownWrites
	taker   batchTaker
	batches batchNumbers
	run     uint64
	last    map[string]uint64
}

func newClusterRule(fault int, seed uint64) *clusterRule {
	r := &clusterRule{fault: fault, rng: rand.New(rand.NewPCG(seed, 7))}
	r.calm, r.losses = 4+r.rng.IntN(12), 1+r.rng.IntN(4)
	for range 2 + seed%2 {
		own := newOwnWrites()
		r.nodes = append(r.nodes, &ruleNode{own: own, taker: batchTaker{own: own}})
	}
	r.reader, r.former = r.nodes[0], r.nodes[0]
	return r
}

func (r *clusterRule) one(in int) bool { return r.rng.IntN(in) == 0 }

func (r *clusterRule) node() *ruleNode { return r.nodes[r.rng.IntN(len(r.nodes))] }

func (r *clusterRule) begin() int {
	r.writes = append(r.writes, r.node().own.begin(7, 0))
	return len(r.writes) - 1
}

func (r *clusterRule) end(write int, old, new string, moves indexMoves) {
	r.writes[write].movesIndexes(moves)
	r.writes[write].end(imageNamed(old), imageNamed(new))
}

func (r *clusterRule) endUpdate(write int, to string) { r.writes[write].endUpdate(valueUpdate(to)) }

func (r *clusterRule) drop(write int) { r.writes[write].drop() }

func (r *clusterRule) take(old, new string) (own, exact bool) {
	b := recordBatch{table: "t", records: []recordHashes{hashRecord(7, imageNamed(old), imageNamed(new))}}
	b.records[0].remains = remainsIn(old, new)
	r.disturb()
	b.shard = fmt.Sprint(r.shard)
	r.log = append(r.log, b)
	if r.one(4) {
		r.deliver(r.former, b) // it reads what the reader reads too
	}
	if r.one(8) {
		r.deliver(r.reader, b) // the reader can't invalidate then
	}
	return r.deliver(r.reader, b)
}

// disturb lets the shard end, or the reader change, or a delayed batch arrive.
func (r *clusterRule) disturb() {
	switch r.rng.IntN(r.calm) {
	case 0:
		r.shard++
	case 1:
		r.former, r.reader = r.reader, r.node()
		if r.fault != clusterKeepReader {
			r.reader.own.reset()
		}
		r.reader.batches.restart()
		for _, b := range r.log[max(0, len(r.log)-r.rng.IntN(4)):] {
			r.deliver(r.reader, b) // again
		}
	case 2:
		if len(r.delayed) > 0 {
			r.ask(r.node(), r.delayed[r.rng.IntN(len(r.delayed))])
		}
	}
}

// deliver lets a node read a record. It returns the verdict of all nodes.
func (r *clusterRule) deliver(reader *ruleNode, b recordBatch) (own, exact bool) {
	list := make([]feedRecord, 1)
	own, exact = reader.own.takeHashes(b.records[0])
	b.run, b.number = reader.batches.next(b.shard)
	for _, n := range r.nodes {
		if n == reader {
			continue
		}
		fate := r.rng.IntN(8)
		if fate < r.losses {
			if r.delayed = append(r.delayed, b); r.fault == clusterKeepRefused && n.last != nil {
				n.last[b.shard] = b.number
			}
			continue
		}
		if v := r.ask(n, b); fate > r.losses {
			v.mark(list)
		}
	}
	if list[0].own && !own {
		r.helped++
	}
	return own || list[0].own, exact || list[0].exact
}

// ask gives a batch to a node and returns its verdict.
func (r *clusterRule) ask(n *ruleNode, b recordBatch) verdicts {
	if r.fault == clusterFaultNone {
		parsed, ok := parseRecordBatch(b.append(nil))
		v, taken := n.taker.take(&parsed, 0)
		if !ok || !taken {
			panic("a batch was not taken")
		}
		return v
	}
	if n.last == nil || n.run != b.run && r.fault != clusterKeepRun {
		n.last = map[string]uint64{}
	}
	n.run = b.run
	switch last, seen := n.last[b.shard]; {
	case !seen && r.fault != clusterKeepShard, seen && b.number != last+1 && r.fault != clusterKeepGap:
		n.own.reset()
	}
	n.last[b.shard] = b.number
	v := newVerdicts(1)
	own, exact := n.own.takeHashes(b.records[0])
	v.set(0, own, exact)
	return v
}

// reset implements ownRule: the reader has missed records.
func (r *clusterRule) reset() {
	for _, n := range []*ruleNode{r.former, r.reader} {
		n.own.reset()
		if r.fault != clusterKeepMissed {
			n.batches.restart()
		}
	}
}

// TestOwnModelOfCluster runs random histories of a cluster: no entry remains valid after the record of
// a foreign change that it lacks.
func TestOwnModelOfCluster(t *testing.T) {
	answers, helped := map[string]int{}, 0
	for seed := range ownHistories() {
		rule := newClusterRule(clusterFaultNone, seed)
		m := newOwnModel(rule, seed)
		if !m.run() {
			t.Fatalf("seed %d: an entry is stale:\n%s", seed, strings.Join(m.history, "\n"))
		}
		for _, a := range m.answers {
			answers[a]++
		}
		helped += rule.helped
	}
	t.Log(answers, helped)
	if helped < int(ownHistories()/4) || answers["foreign"] < int(ownHistories()) {
		t.Errorf("got %v, %d of them by other nodes than the reader", answers, helped)
	}
}

// TestOwnModelOfClusterFaults checks that each reset is needed: without it, an entry is stale in some
// history.
func TestOwnModelOfClusterFaults(t *testing.T) {
	const histories = 40_000
	if race.Enabled {
		return
	}
	for fault := clusterFaultNone + 1; fault < clusterFaults; fault++ {
		seed := uint64(0)
		for seed < histories && newOwnModel(newClusterRule(fault, seed), seed).run() {
			seed++
		}
		t.Logf("%s: history %d", clusterFaultNames[fault], seed)
		if seed == histories {
			t.Errorf("%s: no entry is stale", clusterFaultNames[fault])
		}
	}
}
