package differential

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// scene is a list of requests on tables of its own, which depends on nothing
// but the seed.
type scene struct {
	seed   uint64
	tables tables
	steps  []request
}

func newScene(seed uint64, steps int) *scene {
	g := newGenerator(seed)
	s := &scene{seed: seed}
	for i := range 2 {
		s.tables = append(s.tables, g.schema(fmt.Sprintf("differ-%s-%d-%d", side, seed, i)))
	}
	g.tables = s.tables
	for range steps {
		s.steps = append(s.steps, g.request())
	}
	return s
}

// pair is the two ends that are compared. The first is DynamoDB Local.
type pair struct {
	ends     [2]*endpoint
	tolerate []departure
	runs     int
	met      map[string]int  // how often each departure was met
	seen     map[string]int  // how often each operation had which outcome
	healed   map[string]bool // tables and keys of items removed since they differed
}

// newPair makes a pair of DynamoDB Local and another.
func newPair(local, other string, tolerate []departure) *pair {
	return &pair{
		ends:     [2]*endpoint{newEndpoint("left", local), newEndpoint("right", other)},
		tolerate: tolerate, met: map[string]int{}, seen: map[string]int{},
	}
}

// both sends a request to both ends at once.
func (p *pair) both(ctx context.Context, send func(*endpoint) (answer, error)) (a, b answer, err error) {
	var wg sync.WaitGroup
	var errA, errB error
	wg.Go(func() { a, errA = send(p.ends[0]) })
	wg.Go(func() { b, errB = send(p.ends[1]) })
	wg.Wait()
	if errA == nil {
		errA = errB
	}
	return a, b, errA
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

// run plays steps on fresh tables, and returns the differences that no departure
// explains.
func (p *pair) run(ctx context.Context, s *scene, steps []request) ([]*difference, error) {
	p.runs++
	p.healed = map[string]bool{}
	for _, e := range p.ends {
		e.side = fmt.Sprintf("%s-run%d", e.name, p.runs)
	}
	if err := p.eachTable(ctx, s, func(t *table) request { return t.create() }); err != nil {
		return nil, err
	}
	found, err := p.play(ctx, s, steps)
	if err != nil {
		return nil, err
	}
	return found, p.eachTable(ctx, s, func(t *table) request { return request{operation: "DeleteTable", body: object{"TableName": t.name}} })
}

// eachTable sends a request for each table that must succeed.
func (p *pair) eachTable(ctx context.Context, s *scene, make func(*table) request) error {
	for _, t := range s.tables {
		r := make(t)
		a, b, err := p.both(ctx, func(e *endpoint) (answer, error) { return e.ask(ctx, r) })
		if err != nil {
			return err
		}
		if a.status != http.StatusOK || b.status != http.StatusOK {
			return fmt.Errorf("%s\n  DynamoDB Local: %s\n  Kasoku:         %s", r, a, b)
		}
	}
	return nil
}

// mostDifferences is how many differences end a scene.
const mostDifferences = 5

func (p *pair) play(ctx context.Context, s *scene, steps []request) (found []*difference, err error) {
	for i, r := range steps {
		d, err := p.step(ctx, s, r)
		if err != nil {
			return nil, err
		}
		if d != nil {
			d.step = i
			if found = append(found, d); len(found) == mostDifferences {
				return found, nil
			}
		}
	}
	for _, last := range []func(context.Context, *scene) (*difference, error){p.compareIndexes, p.compareStreams} {
		d, err := last(ctx, s)
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
func (p *pair) step(ctx context.Context, s *scene, r request) (*difference, error) {
	a, b, err := p.both(ctx, func(e *endpoint) (answer, error) { return e.all(ctx, r) })
	if err != nil {
		return nil, err
	}
	p.seen[r.operation+" "+a.fault]++
	var found *difference
	excused := false
	what := s.tables.compare(r, a, b)
	if what == "" {
		what = abnormal(b.body)
	}
	if what != "" {
		if excused = p.excused(r, a, b); !excused {
			found = &difference{asked: r, what: what, first: a, second: b}
		}
	}
	if !r.writes() {
		return found, nil
	}
	d, err := p.compareTables(ctx, s)
	if d == nil || err != nil {
		return found, err
	}
	if found == nil && !excused && !p.excusedState(r) {
		found = &difference{asked: r, what: "what they then hold, and that is " + d.what, first: d.first, second: d.second}
	}
	return found, p.heal(ctx, s)
}

func (p *pair) excused(r request, a, b answer) bool {
	for _, d := range p.tolerate {
		if d.excuses != nil && d.excuses(r, a, b) {
			p.met[d.name]++
			return true
		}
	}
	return false
}

func (p *pair) excusedState(r request) bool {
	for _, d := range p.tolerate {
		if d.leaves != nil && d.leaves(r) {
			p.met[d.name]++
			return true
		}
	}
	return false
}

// compareTables compares all that the tables hold.
func (p *pair) compareTables(ctx context.Context, s *scene) (*difference, error) {
	for _, t := range s.tables {
		if d, err := p.compareScan(ctx, s, object{"TableName": t.name, "ConsistentRead": true}); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// compareIndexes compares all that the indexes hold.
func (p *pair) compareIndexes(ctx context.Context, s *scene) (*difference, error) {
	for _, t := range s.tables {
		for _, x := range t.indexes() {
			if d, err := p.compareScan(ctx, s, object{"TableName": t.name, "IndexName": x.name}); d != nil || err != nil {
				return d, err
			}
		}
	}
	return nil, nil
}

func (p *pair) compareScan(ctx context.Context, s *scene, body object) (*difference, error) {
	r := request{operation: "Scan", body: body}
	a, b, err := p.both(ctx, func(e *endpoint) (answer, error) { return e.all(ctx, r) })
	if err != nil {
		return nil, err
	}
	if what := s.tables.compare(r, a, b); what != "" {
		return &difference{asked: r, what: what, first: a, second: b}, nil
	}
	return nil, nil
}

// heal removes from both ends every item that they don't share.
func (p *pair) heal(ctx context.Context, s *scene) error {
	for _, t := range s.tables {
		scan := request{operation: "Scan", body: object{"TableName": t.name, "ConsistentRead": true}}
		a, b, err := p.both(ctx, func(e *endpoint) (answer, error) { return e.all(ctx, scan) })
		if err != nil {
			return err
		}
		seen := map[string]int{}
		keys := map[string]object{}
		for _, end := range []answer{a, b} {
			items, _ := end.body.(object)["Items"].(list)
			for _, item := range items {
				name := text(plain(item))
				seen[name]++
				keys[name] = t.keyOf(item.(object))
			}
		}
		for name, n := range seen {
			if n == 2 {
				continue
			}
			p.healed[t.name+text(plain(keys[name]))] = true
			remove := request{operation: "DeleteItem", body: object{"TableName": t.name, "Key": keys[name]}}
			if _, _, err := p.both(ctx, func(e *endpoint) (answer, error) { return e.ask(ctx, remove) }); err != nil {
				return err
			}
		}
	}
	d, err := p.compareTables(ctx, s)
	if err == nil && d != nil {
		err = fmt.Errorf("still different after removing what differed:\n%s", d)
	}
	return err
}

// keyOf is the key of an item.
func (t *table) keyOf(item object) object {
	out := object{}
	for _, k := range t.keys() {
		out[k.name] = item[k.name]
	}
	return out
}
