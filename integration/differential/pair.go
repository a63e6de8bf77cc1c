package differential

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// pair is the pair of compared servers. The first is DynamoDB Local. Several rounds may run
// at once: each has its own tables.
type pair struct {
	servers  [2]*server
	tolerate []departure
	alone    func(body any) string // finds faults in an answer of the second server, independently of the first
	rounds   atomic.Int64
	totals   statistics
}

// newPair makes a pair of DynamoDB Local and another server, without allowed differences.
func newPair(local, other string) *pair {
	return &pair{
		servers: [2]*server{newServer("left", local), newServer("right", other)},
		alone:   func(any) string { return "" }, totals: statistics{met: map[string]int{}, seen: map[string]int{}},
	}
}

// statistics counts the results of rounds.
type statistics struct {
	mu   sync.Mutex
	met  map[string]int // number of uses of each departure
	seen map[string]int // number of outcomes by operation
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
	reconciled map[string]bool // tables and keys of items removed because they differed
}

// difference is a difference between the two ends.
type difference struct {
	step   int
	req    request
	what   string
	first  answer
	second answer
}

func (d *difference) String() string {
	return fmt.Sprintf("%s\ndiffer in %s\n  DynamoDB Local: %.2000s\n  Kasoku:         %.2000s", d.req, d.what, d.first, d.second)
}

// run runs steps on fresh tables of a scene, and returns the differences that no departure
// explains.
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

// both sends a request to both ends concurrently.
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

// eachTable sends for each table a request that must succeed.
func (r *round) eachTable(ctx context.Context, make func(*table) request) error {
	for _, t := range r.scene.tables {
		req := make(t)
		a, b, err := r.both(func(e *endpoint) (answer, error) { return e.send(ctx, req) })
		if err != nil {
			return err
		}
		if a.status != http.StatusOK || b.status != http.StatusOK {
			return fmt.Errorf("%s\n  DynamoDB Local: %s\n  Kasoku:         %s", req, a, b)
		}
	}
	return nil
}

// maxDifferences is the number of differences that ends a round.
const maxDifferences = 5

func (r *round) play(ctx context.Context, steps []request) (found []*difference, err error) {
	for i, req := range steps {
		d, err := r.step(ctx, req)
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

// step sends a request, and compares the answers and the contents of the tables after it. If
// the contents differ, it reconciles them.
func (r *round) step(ctx context.Context, req request) (*difference, error) {
	var err error
	if req.removesNothing, err = r.removesNothing(ctx, req); err != nil {
		return nil, err
	}
	a, b, err := r.both(func(e *endpoint) (answer, error) { return e.sendAll(ctx, req) })
	if err != nil {
		return nil, err
	}
	r.totals.add(r.totals.seen, req.operation+" "+a.fault)
	var found *difference
	excused := false
	what := r.scene.tables.compare(req, a, b)
	if what == "" {
		what = r.alone(b.body)
	}
	if what != "" {
		if excused = r.excused(req, a, b); !excused {
			found = &difference{req: req, what: what, first: a, second: b}
		}
	}
	if req.changesTable() {
		return found, r.awaitSpare(ctx, found != nil || excused)
	}
	if !req.writes() {
		return found, nil
	}
	d, err := r.compareTables(ctx, req)
	if err != nil {
		return found, err
	}
	if d == nil {
		if b.fault != "" && r.excusedState(req, b) { // executed and reverted
			for _, t := range r.scene.tablesOf(req) {
				r.tainted[t.name] = true
			}
		}
		return found, nil
	}
	if found == nil && !excused && !r.excusedState(req, b) {
		found = &difference{req: req, what: "what they then hold, and that is " + d.what, first: d.first, second: d.second}
	}
	return found, r.reconcile(ctx, req)
}

// removesNothing reports whether a request has an update that only removes and whose item
// does not exist.
func (r *round) removesNothing(ctx context.Context, req request) (bool, error) {
	for _, update := range removals(req) {
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

// excused reports whether a departure explains the difference between two answers, or an
// earlier one does: only one end may remember a token.
func (r *round) excused(req request, a, b answer) bool {
	token := req.token()
	if r.tokens[token] {
		return true
	}
	for _, d := range r.tolerate {
		if d.excuses != nil && d.excuses(req, a, b) {
			r.totals.add(r.totals.met, d.name)
			r.tokens[token] = token != ""
			return true
		}
	}
	return false
}

func (r *round) excusedState(req request, b answer) bool {
	for _, d := range r.tolerate {
		if d.changesState != nil && d.changesState(req, b) {
			r.totals.add(r.totals.met, d.name)
			return true
		}
	}
	return false
}
