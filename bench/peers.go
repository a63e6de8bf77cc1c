package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kasoku/kasoku/bench/internal/proc"
)

// Names of the targets in the table.
const (
	nameFloor    = "floor"
	nameKasoku   = "kasoku"
	nameDynamo   = "DynamoDB Local"
	nameDynoxide = "dynoxide"
	nameOrigin   = "origin alone"
	nameRelay    = "bare relay"
)

// Names of the scenarios with goals.
const (
	getHit    = "GetItem hit"
	getSigned = "GetItem hit, SigV4"
	getPaced  = "GetItem hit, 2,000/s"
	queryHit  = "Query hit, 10 items"
	batchHit  = "BatchGetItem, 25 hits"
	getMiss   = "GetItem miss"
	putOne    = "PutItem, 1 conn"
	putEight  = "PutItem, 8 conns"
)

// scenario is one kind of request and the targets compared on it. The first target that
// takes part is the reference.
type scenario struct {
	name    string
	conns   int
	rate    float64
	traffic func(items int) (traffic, error)
	targets func(s *stage) []target
	cached  bool // Kasoku must answer without requests to the origin
}

// stage holds the servers for comparing peers.
type stage struct {
	floor, origin, originRelay *proc.Process
	dynamo, dynamoRelay        *proc.Process // may be nil
	kasoku                     *kasoku
}

func peerScenarios() []scenario {
	unsigned := func(s *stage) []target { return s.readers(s.kasoku.Addr) }
	signed := func(s *stage) []target { return s.readers(s.kasoku.signed) }
	return []scenario{
		{name: getHit, conns: 100, traffic: getHits, targets: unsigned, cached: true},
		{name: getSigned, conns: 100, traffic: signedHits, targets: signed, cached: true},
		{name: getPaced, conns: 32, rate: 2000, traffic: getHits, targets: unsigned, cached: true},
		{name: queryHit, conns: 100, traffic: queryHits, targets: unsigned, cached: true},
		{name: batchHit, conns: 100, traffic: batchHits, targets: unsigned, cached: true},
		{name: getMiss, conns: 100, traffic: misses(), targets: func(s *stage) []target {
			return []target{
				{name: nameOrigin, addr: s.origin.Addr, proc: s.origin},
				{name: nameRelay, addr: s.originRelay.Addr, proc: s.originRelay},
				{name: nameKasoku, addr: s.kasoku.Addr, proc: s.kasoku.Process},
			}
		}},
		{name: putOne, conns: 1, traffic: puts, targets: (*stage).writers},
		{name: putEight, conns: 8, traffic: puts, targets: (*stage).writers},
	}
}

// readers returns the targets of requests that a cache answers.
func (s *stage) readers(kasoku string) []target {
	t := []target{
		{name: nameFloor, addr: s.floor.Addr, proc: s.floor},
		{name: nameKasoku, addr: kasoku, proc: s.kasoku.Process},
	}
	if s.dynamo != nil {
		t = append(t, target{name: nameDynamo, addr: s.dynamo.Addr, proc: s.dynamo})
	}
	return t
}

// writers returns the targets of requests that must reach a store.
func (s *stage) writers() []target {
	if s.dynamo == nil {
		return nil
	}
	return []target{
		{name: nameDynamo, addr: s.dynamo.Addr, proc: s.dynamo},
		{name: nameRelay, addr: s.dynamoRelay.Addr, proc: s.dynamoRelay},
		{name: nameKasoku, addr: s.kasoku.store, proc: s.kasoku.Process},
	}
}

func (l *lab) comparePeers() error {
	s, err := l.setStage()
	if err != nil {
		return err
	}
	for _, c := range chosen(peerScenarios(), "peers", l.only) {
		if err := l.compare(s, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// setStage starts the servers and checks that they give the same answers.
func (l *lab) setStage() (*stage, error) {
	var s stage
	var err error
	if s.floor, err = l.startFloor("floor"); err != nil {
		return nil, err
	}
	if s.origin, err = l.startOrigin(); err != nil {
		return nil, err
	}
	if s.originRelay, err = l.startFloor("origin-relay", "-relay", s.origin.Addr); err != nil {
		return nil, err
	}
	if s.dynamo, err = l.startDynamo(); errors.Is(err, errNoDynamo) {
		l.report.note("%s is left out, and with it the cost of writes: %v", nameDynamo, err)
	} else if err != nil {
		return nil, err
	} else if s.dynamoRelay, err = l.startFloor("dynamo-relay", "-relay", s.dynamo.Addr); err != nil {
		return nil, err
	}
	if s.kasoku, err = l.startKasoku("kasoku", "1GiB", s.origin, s.dynamo); err != nil {
		return nil, err
	}
	addrs := []string{s.origin.Addr, s.kasoku.Addr, s.kasoku.signed}
	if s.dynamo != nil {
		addrs = append(addrs, s.dynamo.Addr, s.kasoku.store)
	}
	for _, addr := range addrs {
		for range 2 { // the second answer may be served from a cache
			if err := probe(addr, l.plan.items); err != nil {
				return nil, fmt.Errorf("answers differ: %w", err)
			}
		}
	}
	return &s, nil
}

func (l *lab) compare(s *stage, c scenario) error {
	targets := c.targets(s)
	if len(targets) == 0 {
		return nil
	}
	return l.contest(c, targets, s.origin)
}

// contest measures the targets of a scenario in turn, with the scenario's requests unless
// they have their own. If origin is not nil, it counts the requests that reach it meanwhile.
func (l *lab) contest(c scenario, targets []target, origin *proc.Process) error {
	progress("%s", c.name)
	requests, err := c.traffic(l.plan.items)
	if err != nil {
		return err
	}
	targets = provided(targets, requests)
	b := loadSpec{conns: c.conns, rate: c.rate, rounds: l.plan.rounds, round: l.plan.round}
	for _, t := range targets {
		if err := l.warm(b, t); err != nil {
			return err
		}
	}
	before, err := originReads(origin)
	if err != nil {
		return err
	}
	samples, err := l.interleave(b, targets)
	if err != nil {
		return err
	}
	after, err := originReads(origin)
	if err != nil {
		return err
	}
	if c.cached && after != before {
		return fmt.Errorf("the origin received %d requests for items that should be cached", after-before)
	}
	for i, t := range targets {
		l.report.add(c.name, t.name, targets[0].name, samples[i], samples[0], "")
	}
	return nil
}

// provided returns the targets, with requests for those that have none. It copies them: the
// next scenario has other requests for them.
func provided(targets []target, requests traffic) []target {
	targets = slices.Clone(targets)
	for i := range targets {
		if targets[i].load.next == nil {
			targets[i].load = requests
		}
	}
	return targets
}
