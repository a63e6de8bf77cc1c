// Command bench compares Kasoku with its alternatives on this machine and in one run:
// DynamoDB Local itself, and a floor, which is a bare HTTP server that sends the same bytes.
// It prints one table, and the project's goals with their results. See docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/bench/internal/proc"
)

// plan is the extent of the measurements.
type plan struct {
	rounds int
	round  time.Duration // length of one measurement
	jit    time.Duration // time to warm up DynamoDB Local
	items  int           // for comparing peers
	sizes  []int         // numbers of cached items
	stored int           // items in a store whose memory is measured
	idle   int           // idle connections
	storms int
	tweets int           // documents on CouchDB-like nodes
	posts  int           // records for a Fluentd client
	away   time.Duration // time without a Fluentd server
	limit  time.Duration // of the whole run
}

var (
	full  = plan{rounds: 5, round: 2 * time.Second, jit: 15 * time.Second, items: 10_000, sizes: []int{10_000, 1_000_000, 5_000_000}, stored: 1_000_000, idle: 10_000, storms: 5, tweets: 5000, posts: 200_000, away: time.Minute, limit: time.Hour}
	quick = plan{rounds: 3, round: 300 * time.Millisecond, jit: 2 * time.Second, items: 2_000, sizes: []int{10_000, 100_000}, stored: 50_000, idle: 2_000, storms: 2, tweets: 700, posts: 50_000, away: 3 * time.Second, limit: 5 * time.Minute}
)

// stormClients is how many clients request the same cold key at once.
const stormClients = 1000

func main() {
	var (
		isQuick = flag.Bool("quick", false, "measure less of everything: a smoke test of about a minute")
		only    = flag.String("only", "", "measure only groups or scenarios with these `names`, separated by commas: "+strings.Join(groupNames(), ", ")+", or part of a scenario's name")
		asJSON  = flag.Bool("json", false, "print JSON instead of the table")
		binary  = flag.String("kasoku", "", "measure this `binary` instead of building one")
		cpus    = flag.Int("cpus", 2, "confine all processes, the load generator included, to this number of CPUs (Linux)")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "bench: unknown argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	names := splitNames(*only)
	for _, name := range names {
		if !slices.ContainsFunc(groups, func(g group) bool { return g.wanted([]string{name}) }) {
			fmt.Fprintf(os.Stderr, "bench: no group or scenario matches %q; there are the groups %s, and the scenarios %s\n", name, strings.Join(groupNames(), ", "), strings.Join(scenarioNames(), ", "))
			os.Exit(2)
		}
	}
	p := full
	if *isQuick {
		p = quick
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, p.limit, fmt.Errorf("not done within %v", p.limit))
	defer cancel()
	report, err := run(ctx, p, names, *binary, *cpus)
	if report != nil {
		err = errors.Join(err, report.print(os.Stdout, *asJSON))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// group is a group of measurements with the same servers, which it starts itself.
type group struct {
	name      string
	run       func(*lab) error
	scenarios []scenario // those that can be selected by parts of their names; may be empty
}

var groups = []group{
	{"peers", (*lab).comparePeers, peerScenarios()},
	{"plain", (*lab).comparePlain, plainScenarios()},
	{"dax", (*lab).compareDAX, daxScenarios()},
	{"http", (*lab).compareCaches, cacheScenarios()},
	{"through", (*lab).compareThrough, throughScenarios()},
	{"tls", (*lab).compareTLS, plainTLSScenarios()},
	{"h2", (*lab).compareH2, plainH2Scenarios()},
	{"couch", (*lab).compareCouch, couchScenarios()},
	{"memcached", (*lab).compareMemcached, memcachedScenarios()},
	{"log", (*lab).compareLogs, logScenarios()},
	{"observed", (*lab).compareObserved, observedScenarios()},
	{"cluster", (*lab).compareCluster, clusterScenarios()},
	{"stores", (*lab).compareStores, storeScenarios()},
	{"memory", (*lab).measureMemory, nil},
	{"start", (*lab).measureStart, nil},
	{"startmemory", (*lab).measureMemoryStart, nil},
	{"suite", (*lab).compareSuites, nil},
	{"size", (*lab).measureSizes, nil},
	{"storm", (*lab).measureStorm, nil},
	{"idle", (*lab).measureIdle, nil},
	{"loggers", (*lab).compareLoggers, loggerScenarios()},
}

// splitNames returns the names in -only; none means everything.
func splitNames(only string) (names []string) {
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// wanted reports whether -only selects the group or a scenario of it.
func (g *group) wanted(only []string) bool {
	return len(only) == 0 || slices.Contains(only, g.name) || len(chosen(g.scenarios, g.name, only)) > 0
}

// chosen returns the scenarios of a group that -only selects.
func chosen(all []scenario, group string, only []string) []scenario {
	if len(only) == 0 || slices.Contains(only, group) {
		return all
	}
	var list []scenario
	for _, s := range all {
		if slices.ContainsFunc(only, func(part string) bool { return strings.Contains(strings.ToLower(s.name), strings.ToLower(part)) }) {
			list = append(list, s)
		}
	}
	return list
}

func groupNames() []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

func scenarioNames() []string {
	var names []string
	for _, g := range groups {
		for _, s := range g.scenarios {
			names = append(names, s.name)
		}
	}
	return names
}

// run runs the selected measurements, in groups that each start and stop their own servers.
func run(ctx context.Context, p plan, only []string, binary string, cpus int) (*report, error) {
	r := &report{Machine: fmt.Sprintf("%s/%s, %d CPUs used", runtime.GOOS, runtime.GOARCH, min(cpus, runtime.NumCPU()))}
	if err := proc.Confine(cpus); err != nil {
		r.note("not confined to %d CPUs: %v", cpus, err)
	}
	files, err := raiseFiles()
	if err != nil {
		return nil, err
	}
	if limit := files*2/5 - spareFiles; p.idle > limit { // each client connection may need one to an origin
		r.note("%d idle connections instead of %d: a process may open only %d files", limit, p.idle, files)
		p.idle = limit
	}
	l, err := newLab(ctx, p, only, binary, r)
	if err != nil {
		return nil, err
	}
	defer l.close()
	for _, g := range groups {
		if !g.wanted(only) {
			continue
		}
		if err := g.run(l); err != nil {
			if ctx.Err() != nil { // the interrupt may have stopped the servers too
				err = context.Cause(ctx)
			}
			return r, fmt.Errorf("%s: %w", g.name, err)
		}
		l.stopAll()
	}
	r.judge()
	return r, nil
}

// spareFiles is the number of files that a process needs in addition to its idle
// connections.
const spareFiles = 300
