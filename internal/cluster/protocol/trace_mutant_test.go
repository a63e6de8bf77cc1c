//go:build kasokutrace && kasokumutant

package protocol

import (
	"strings"
	"testing"
)

// tracedMutants are the rules whose absence the traces of TestMutantTraces have to show.
var tracedMutants = []rule{
	ruleAllAcknowledge, ruleOwner, ruleOpen, ruleProofDate, ruleSuspendedProof, ruleLost, ruleMarkFirst,
	ruleBooks, ruleBookWrites, ruleNewItem, ruleLeaving, hostWriters, hostSendEra,
}

// TestMutantTraces turns off rules, and writes the traces of runs in which a node would serve
// an old value of the item. specs/trace-runs.sh requires that they are rejected.
func TestMutantTraces(t *testing.T) {
	defer func() { mutant = 0 }()
	for _, mutant = range tracedMutants {
		name := strings.ReplaceAll(ruleNames[mutant], " ", "-")
		found := false
		for seed := uint64(0); seed < uint64(*mutantSeeds) && !found; seed++ {
			found = guarded(func() string {
				w, r := traced(seed)
				if !strings.Contains(w.problem, "of tag 0;") {
					return ""
				}
				t.Logf("%s: seed %d", name, seed)
				writeTrace(t, name, w, r)
				return w.problem
			}) != ""
		}
		if !found {
			t.Errorf("without the rule %s no run serves an old value", name)
		}
	}
}
