package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/kasoku/kasoku/bench/internal/dataset"
)

const (
	h2Many = "HTTP/2 hit of 1.5 KB, 10 streams"
	h2One  = "HTTP/2 hit of 1.5 KB, 1 stream"
)

// h2Scenario is a scenario whose clients have so many requests in flight on each connection.
type h2Scenario struct {
	scenario
	streams int
}

func h2Scenarios() []h2Scenario {
	return []h2Scenario{
		{scenario{name: h2Many, conns: 16, cached: true}, 10},
		{scenario{name: h2One, conns: 64, cached: true}, 1},
	}
}

// plainH2Scenarios returns the scenarios for their names.
func plainH2Scenarios() (list []scenario) {
	for _, s := range h2Scenarios() {
		list = append(list, s.scenario)
	}
	return list
}

// load returns the requests of s: groups of one for each stream, which are sent together. A
// connection sends the next group when all of its streams have ended.
func (s *h2Scenario) load(roots *x509.CertPool) traffic {
	const (
		objects = 200
		update  = 1000 // requests after which the window of a connection is opened again
	)
	blocks := prepare(objects, func(k int) []byte { return dataset.H2Block(dataset.SmallObject, k) })
	var streams [maxConns]struct {
		next uint32
		_    [15]uint32 // one cache line each
	}
	draw := hits(blocks, 0).next
	frame := dataset.H2Answers(s.streams)
	return traffic{
		secure:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}},
		greeting: dataset.H2Greeting(),
		frame:    frame,
		group:    s.streams,
		next: func(conn int, dst []byte) []byte {
			id := &streams[conn].next
			for range s.streams {
				if *id++; *id%update == 0 {
					dst = dataset.AppendH2Window(dst, update*dataset.SmallObject)
				}
				dst = dataset.AppendH2Request(dst, 2**id+1, draw(conn, nil))
			}
			return dst
		},
		check: func(_, _ int, body []byte) error {
			return dataset.CheckH2Answers(body, s.streams, dataset.SmallObject)
		},
	}
}

// compareH2 compares services of type http with nginx as servers of HTTP/2.
func (l *lab) compareH2() error {
	origin, roots, targets, err := l.secureTargets()
	if err != nil {
		return err
	}
	wanted := chosen(plainH2Scenarios(), "h2", l.only)
	if len(wanted) == 0 {
		return nil
	}
	fill := tlsScenario{secure: &tls.Config{}}
	for _, t := range targets {
		t.load = fill.load(roots)
		if err := l.warm(loadSpec{conns: 8, round: l.plan.round}, t); err != nil {
			return err
		}
	}
	for _, s := range h2Scenarios() {
		for _, c := range wanted {
			if c.name != s.name {
				continue
			}
			c.traffic = func(int) (traffic, error) { return s.load(roots), nil }
			if err := l.contest(c, targets, origin); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// judgeH2 adds the goals of HTTP/2.
func (r *report) judgeH2(atMost func(name string, value, bound float64)) {
	for _, scenario := range []string{h2Many, h2One} {
		if nginx := r.ratio(scenario, nameNginx, cpu); nginx > 0 {
			atMost("CPU: "+scenario+", in nginx's", 1/nginx, 1) // Kasoku is the reference
		}
	}
}
