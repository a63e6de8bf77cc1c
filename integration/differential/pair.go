package differential

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// pair is the two servers that are compared. The first is DynamoDB Local. Rounds
// on it may run side by side: each has tables of its own.
type pair struct {
	servers  [2]*server
	tolerate []departure
	alone    func(body any) string // what is wrong with an answer of the second's, whatever the first says
	rounds   atomic.Int64
	tally    statistics
}

// newPair makes a pair of DynamoDB Local and another, which may differ in nothing.
func newPair(local, other string) *pair {
	return &pair{
		servers: [2]*server{newServer("left", local), newServer("right", other)},
		alone:   func(any) string { return "" }, tally: statistics{met: map[string]int{}, seen: map[string]int{}},
	}
}

// statistics counts what rounds come upon.
type statistics struct {
	mu   sync.Mutex
	met  map[string]int // how often each departure was met
	seen map[string]int // how often each operation had which outcome
}

func (t *statistics) add(counts map[string]int, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts[what]++
}

// round is one run of requests on fresh tables of a scene.
type round struct {
	*pair
	scene      *scene
	ends       [2]*endpoint
	tainted    map[string]bool // tables whose streams may differ
	tokens     map[string]bool // of transactions that only one end may have executed
	reconciled map[string]bool // tables and keys of items removed since they differed
}

// difference is where the two ends went apart.
type difference struct {
	step   int
	asked  request
	what   string
	first  answer
	second answer
}

func (d *difference) String() string {
	return fmt.Sprintf("%s\ndiffer in %s\n  DynamoDB Local: %.2000s\n  Kasoku:         %.2000s", d.asked, d.what, d.first, d.second)
}

// run plays steps on fresh tables of a scene, and returns the differences that no
// departure explains.
func (p *pair) run(ctx context.Context, s *scene, steps []request) ([]*difference, error) {
	r := &round{pair: p, scene: s, reconciled: map[string]bool{}, tokens: map[string]bool{}, tainted: map[string]bool{}}
	n := p.rounds.Add(1)
	for i, to := range p.servers {
		r.ends[i] = &endpoint{server: to, side: fmt.Sprintf("%s-run%d-", to.name, n)}
	}
	if err := r.eachTable(ctx, func(t *table) request { return t.create() }); err != nil {
		return nil, err
	}
	found, err := r.play(ctx, steps)
	if err != nil {
		return nil, err
	}
	if err := r.awaitSpare(ctx, true); err != nil {
		return nil, err
	}
	return found, r.eachTable(ctx, func(t *table) request { return request{operation: "DeleteTable", body: object{"TableName": t.name}} })
}

// both sends a request to both ends at once.
func (r *round) both(send func(*endpoint) (answer, error)) (a, b answer, err error) {
	var wg sync.WaitGroup
	var errA, errB error
	wg.Go(func() { a, errA = send(r.ends[0]) })
	wg.Go(func() { b, errB = send(r.ends[1]) })
	wg.Wait()
	if errA == nil {
		errA = errB
	}
	return a, b, errA
}

// eachTable sends a request for each table that must succeed.
func (r *round) eachTable(ctx context.Context, make func(*table) request) error {
	for _, t := range r.scene.tables {
		asked := make(t)
		a, b, err := r.both(func(e *endpoint) (answer, error) { return e.send(ctx, asked) })
		if err != nil {
			return err
		}
		if a.status != http.StatusOK || b.status != http.StatusOK {
			return fmt.Errorf("%s\n  DynamoDB Local: %s\n  Kasoku:         %s", asked, a, b)
		}
	}
	return nil
}

// maxDifferences is how many differences end a round.
const maxDifferences = 5

func (r *round) play(ctx context.Context, steps []request) (found []*difference, err error) {
	for i, asked := range steps {
		d, err := r.step(ctx, asked)
		if err != nil {
			return nil, err
		}
		if d != nil {
			d.step = i
			if found = append(found, d); len(found) == maxDifferences {
				return found, nil
			}
		}
	}
	for _, last := range []func(context.Context) (*difference, error){r.compareIndexes, r.compareStreams} {
		d, err := last(ctx)
		if err != nil {
			return nil, err
		}
		if d != nil {
			d.step = len(steps)
			found = append(found, d)
		}
	}
	return found, nil
}

// step sends a request, and compares the answers and what the tables then hold.
// When they hold different items they are made the same again.
func (r *round) step(ctx context.Context, asked request) (*difference, error) {
	var err error
	if asked.removesNothing, err = r.removesNothing(ctx, asked); err != nil {
		return nil, err
	}
	a, b, err := r.both(func(e *endpoint) (answer, error) { return e.sendAll(ctx, asked) })
	if err != nil {
		return nil, err
	}
	r.tally.add(r.tally.seen, asked.operation+" "+a.fault)
	var found *difference
	excused := false
	what := r.scene.tables.compare(asked, a, b)
	if what == "" {
		what = r.alone(b.body)
	}
	if what != "" {
		if excused = r.excused(asked, a, b); !excused {
			found = &difference{asked: asked, what: what, first: a, second: b}
		}
	}
	if asked.changesTable() {
		return found, r.awaitSpare(ctx, found != nil || excused)
	}
	if !asked.writes() {
		return found, nil
	}
	d, err := r.compareTables(ctx, asked)
	if err != nil {
		return found, err
	}
	if d == nil {
		if b.fault != "" && r.excusedState(asked, b) { // done and undone
			for _, t := range r.scene.tablesOf(asked) {
				r.tainted[t.name] = true
			}
		}
		return found, nil
	}
	if found == nil && !excused && !r.excusedState(asked, b) {
		found = &difference{asked: asked, what: "what they then hold, and that is " + d.what, first: d.first, second: d.second}
	}
	return found, r.reconcile(ctx, asked)
}

// removesNothing tells whether a request has an update that only removes and whose item
// is not there.
func (r *round) removesNothing(ctx context.Context, asked request) (bool, error) {
	for _, update := range removals(asked) {
		key, ok := update["Key"].(object)
		if !ok {
			continue
		}
		a, err := r.ends[0].send(ctx, request{operation: "GetItem", body: object{"TableName": update["TableName"], "Key": key, "ConsistentRead": true}})
		if err != nil {
			return false, err
		}
		if o, _ := a.body.(object); a.status == http.StatusOK && o["Item"] == nil {
			return true, nil
		}
	}
	return false, nil
}

// excused tells whether a departure explains how two answers differ, or one that
// was met before did: one end may remember a token that the other doesn't.
func (r *round) excused(asked request, a, b answer) bool {
	token := asked.token()
	if r.tokens[token] {
		return true
	}
	for _, d := range r.tolerate {
		if d.excuses != nil && d.excuses(asked, a, b) {
			r.tally.add(r.tally.met, d.name)
			r.tokens[token] = token != ""
			return true
		}
	}
	return false
}

func (r *round) excusedState(asked request, b answer) bool {
	for _, d := range r.tolerate {
		if d.changesState != nil && d.changesState(asked, b) {
			r.tally.add(r.tally.met, d.name)
			return true
		}
	}
	return false
}
