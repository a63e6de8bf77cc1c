package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

const (
	observedHit    = "GetItem hit, observed"
	nameUnobserved = "kasoku"
	nameObserved   = "kasoku, with all figures"
)

// observation returns the texts that add everything to a configuration which describes requests,
// except the access log, and comparisons of hits with the origin. collector is the URL for spans.
func observation(collector string) []string {
	return []string{
		"services:\n", fmt.Sprintf("ledger: {file: ledger}\ntracing: {otlp: %q}\nservices:\n", collector),
		"    item_ttl:", "    verify: {rate: 1/s, budget: 5 RCU, writes: through}\n    item_ttl:",
	}
}

// observedScenarios returns the only scenario. It does not require that the origin gets no requests,
// since it gets those of the comparisons.
func observedScenarios() []scenario {
	return []scenario{{name: observedHit, conns: 100, traffic: getHits}}
}

// compareObserved measures the cost that figures add to a hit.
func (l *lab) compareObserved() error {
	origin, err := l.startOrigin()
	if err != nil {
		return err
	}
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	var targets []target
	for _, c := range []struct {
		name, file string
		oldnew     []string
	}{{nameUnobserved, "unobserved", nil}, {nameObserved, "observed", observation(collector.URL)}} {
		k, err := l.startAltered(c.file, origin, c.oldnew...)
		if err != nil {
			return err
		}
		targets = append(targets, target{name: c.name, addr: k.Addr, proc: k.Process})
	}
	// The ratio is near 1, so more rounds are needed than elsewhere.
	defer func(p plan) { l.plan = p }(l.plan)
	l.plan.rounds *= 5
	for _, c := range chosen(observedScenarios(), "observed", l.only) {
		if err := l.contest(c, targets, origin); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// judgeObserved adds the goal of the figures.
func (r *report) judgeObserved(atMost func(name string, value, bound float64)) {
	atMost("CPU of a GetItem hit with all figures, in hits without", r.ratio(observedHit, nameObserved, cpu), 1.02)
}
