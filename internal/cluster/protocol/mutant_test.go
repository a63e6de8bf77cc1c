//go:build kasokumutant

package protocol

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	mutantSeeds = flag.Int("mutantseeds", 3000, "maximum number of runs for each rule")
	mutantEvery = flag.Bool("every", false, "simulate all rules, also the rare ones")
	mutantNames = flag.String("rules", "", "only the rules with this in their names")
)

// ruleNames has the rules, for messages.
var ruleNames = map[rule]string{
	ruleAllAcknowledge: "AllAcknowledge", ruleJoinersAcknowledge: "JoinersAcknowledge", ruleLeaseAtRound: "LeaseAtRound",
	ruleFormerAcks: "FormerAcks", ruleRounds: "Rounds", ruleExtend: "Extend", ruleApplyFirst: "ApplyFirst", ruleResend: "Resend", ruleNoGap: "NoGap",
	ruleOwner: "Owner", ruleOpen: "Open", ruleOpenEnds: "OpenEnds", ruleUnknown: "Unknown", ruleUnknownOpen: "UnknownOpen",
	ruleDropped: "Dropped", ruleProofDate: "ProofDate", ruleSuspendedProof: "SuspendedProof", ruleLost: "Lost",
	ruleNewNumber: "NewNumber", ruleMarkFirst: "MarkFirst", ruleExpelled: "Expelled", ruleAbandon: "Abandon", ruleBooks: "Books", ruleBookWrites: "BookWrites",
	ruleBookQuarantines: "BookQuarantines", ruleBookPayload: "BookPayload", ruleCold: "Cold", ruleNewItem: "NewItem",
	ruleFreshOnce: "FreshOnce", ruleFreshEnds: "FreshEnds", ruleCleanQuiet: "CleanQuiet", ruleCleanServed: "CleanServed", ruleEmpty: "Empty",
	ruleSettle: "Settle", ruleLeaving: "Leaving",
	hostLeaseOnHit: "host LeaseOnHit", hostLeaseOnJoin: "host LeaseOnJoin", hostLeaseAtSend: "host LeaseAtSend",
	hostCreator: "host Creator", hostSendEra: "host SendEra", hostPeerLease: "host PeerLease", hostNote: "host Note", hostFillEra: "host FillEra",
	hostPutAlone: "host PutAlone", hostWriters: "host Writers", hostQuarantine: "host Quarantine", hostStrong: "host Strong",
	hostPurgePeers: "host PurgePeers",
}

// rare has the rules that the simulation seldom needs, and that no script covers.
var rare = []rule{hostLeaseAtSend, hostFillEra, hostCreator, hostPeerLease}

// guarded returns the problem that run finds. A mutant may panic.
func guarded(run func() string) (problem string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *failure:
			problem = p.text
		default:
			problem = fmt.Sprintf("panic: %v", p)
		}
	}()
	return run()
}

// bySeed runs seeds until one breaks a promise.
func bySeed(seeds int) (problem string, ran int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				mu.Lock()
				stop := problem != "" || seed >= int64(seeds)
				mu.Unlock()
				if stop {
					return
				}
				found := guarded(func() string { return simulate(uint64(seed), nil).problem })
				mu.Lock()
				if ran++; found != "" && problem == "" {
					problem = fmt.Sprintf("seed %d: %s", seed, found)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return problem, ran
}

// failure is the reporter of a script that may fail.
type failure struct{ text string }

func (f *failure) Helper() {}

func (f *failure) Errorf(format string, args ...any) {
	if f.text == "" {
		f.text = fmt.Sprintf(format, args...)
	}
}

func (f *failure) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(f)
}

// byScript runs the scripts until one fails.
func byScript() string {
	for _, s := range scripts {
		f := &failure{}
		problem := guarded(func() string { s.run(f); return f.text })
		if problem != "" {
			return fmt.Sprintf("script %s: %s", s.name, strings.Join(strings.Fields(problem), " "))
		}
	}
	return ""
}

// TestMutants turns off each rule of the protocol, and of a host. A script or the simulation
// has to fail then. With -every, the simulation runs for all rules, also for the rare ones.
func TestMutants(t *testing.T) {
	defer func() { mutant = 0 }()
	for r := rule(1); r < hostRulesEnd; r++ {
		name := ruleNames[r]
		if r == rulesEnd || !strings.Contains(name, *mutantNames) || !*mutantEvery && slices.Contains(rare, r) {
			continue
		}
		if name == "" {
			t.Errorf("rule %d has no name", r)
		}
		mutant = r
		start := time.Now()
		script, problem, ran := byScript(), "", 0
		if script == "" || *mutantEvery {
			problem, ran = bySeed(*mutantSeeds)
		}
		line := fmt.Sprintf("%-20s %6d seeds %6.2f s  ", name, ran, time.Since(start).Seconds())
		if script == "" && problem == "" {
			t.Error(line + "not found")
		} else {
			t.Logf("%s%s\n%s", line, problem, script)
		}
	}
}
