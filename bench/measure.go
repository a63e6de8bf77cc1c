package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kasoku/kasoku/bench/internal/load"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

// sample is one measurement of one server, by column. A value that can't be measured is 0.
type sample [columns]float64

const (
	throughput = iota // answers a second
	p50               // nanoseconds
	p99               // nanoseconds
	cpu               // nanoseconds a request
	rss               // bytes
	columns
)

// target is a server in a scenario.
type target struct {
	name string
	addr string
	proc *proc.Process
	load traffic
}

// loadSpec describes the load on the targets of a scenario.
type loadSpec struct {
	conns  int
	rate   float64
	rounds int
	round  time.Duration
}

// interleave measures the targets in turn, in several rounds, so that other activity on the
// machine affects all of them.
func (l *lab) interleave(b loadSpec, targets []target) ([][]sample, error) {
	samples := make([][]sample, len(targets))
	for range b.rounds {
		for i, t := range targets {
			s, err := l.measure(b, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	return samples, nil
}

// measure measures one target for one round.
func (l *lab) measure(b loadSpec, t target) (sample, error) {
	before, cpuErr := t.proc.CPU()
	result, err := load.Run(l.ctx, load.Config{
		Addr: t.addr, Conns: b.conns, Duration: b.round, Rate: b.rate, Next: t.load.next, Check: t.load.check,
		Greeting: t.load.greeting, Frame: t.load.frame, TLS: t.load.secure, Nagle: t.load.nagle,
	})
	if err = errors.Join(err, result.Err, t.proc.Alive(), l.ctx.Err()); err != nil {
		return sample{}, err
	}
	if result.Requests == 0 {
		return sample{}, errors.New("there were no answers")
	}
	var s sample
	group := float64(max(1, t.load.group))
	s[throughput] = result.Throughput() * group
	s[p50] = float64(result.Latency.Quantile(0.5))
	s[p99] = float64(result.Latency.Quantile(0.99))
	if after, err := t.proc.CPU(); err == nil && cpuErr == nil {
		s[cpu] = float64(after-before) / (float64(result.Requests) * group)
	}
	if bytes, err := t.proc.RSS(); err == nil {
		s[rss] = float64(bytes)
	}
	return s, nil
}

// warm sends every request of a target's traffic once, and then sends requests for a while,
// to fill caches and finish compilation.
func (l *lab) warm(b loadSpec, t target) error {
	if len(t.load.all) > 0 {
		result, err := load.Run(l.ctx, load.Config{
			Addr: t.addr, Conns: 8, Count: uint64(len(t.load.all)), Check: t.load.check,
			Greeting: t.load.greeting, Frame: t.load.frame, TLS: t.load.secure, Nagle: t.load.nagle,
			Next: numbered(func(_ []byte, k int) []byte { return t.load.all[k%len(t.load.all)] }),
		})
		if err = errors.Join(err, result.Err); err != nil {
			return fmt.Errorf("warm %s: %w", t.name, err)
		}
	}
	if _, err := l.measure(loadSpec{conns: b.conns, round: b.round}, t); err != nil {
		return fmt.Errorf("warm %s: %w", t.name, err)
	}
	return nil
}

// medians combines the rounds of a target by the median of each column.
func medians(rounds []sample) sample {
	var m sample
	for c := range m {
		m[c] = medianOf(rounds, func(s sample) float64 { return s[c] })
	}
	return m
}

// ratios returns the median, over the rounds, of a target's value divided by the reference's
// value in the same round.
func ratios(rounds, reference []sample) sample {
	var m sample
	for c := range m {
		quotients := make([]float64, 0, len(rounds))
		for i := range rounds {
			if reference[i][c] > 0 && rounds[i][c] > 0 {
				quotients = append(quotients, rounds[i][c]/reference[i][c])
			}
		}
		m[c] = median(quotients)
	}
	return m
}

func medianOf(rounds []sample, f func(sample) float64) float64 {
	values := make([]float64, len(rounds))
	for i, s := range rounds {
		values[i] = f(s)
	}
	return median(values)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
