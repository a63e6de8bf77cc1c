package main

import (
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/load"
)

const stormScenario = "1,000 clients, one cold key"

// measureStorm requests the same cold key from many clients at once, in front of a slow
// origin, and counts the origin's requests.
func (l *lab) measureStorm() error {
	progress("%s", stormScenario)
	origin, err := l.startOrigin()
	if err != nil {
		return err
	}
	k, err := l.startKasoku("kasoku", "1GiB", origin, nil)
	if err != nil {
		return err
	}
	// Read another key first, so that Kasoku has the table's description.
	if err := l.fill(k.Addr, dataset.Even, 1); err != nil {
		return err
	}
	if _, err := get(origin.Addr, "/delay?for=300ms"); err != nil {
		return err
	}
	before, err := originReads(origin)
	if err != nil {
		return err
	}
	var samples []sample
	for round := range l.plan.storms {
		s, err := l.storm(k, 500_000+round*dataset.PerPartition)
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	after, err := originReads(origin)
	if err != nil {
		return err
	}
	each := float64(after-before) / float64(l.plan.storms)
	l.report.storm = each
	l.report.add(stormScenario, nameKasoku, nameKasoku, samples, samples,
		fmt.Sprintf("%.3g origin requests (it takes 300 ms)", each))
	return nil
}

// storm measures one round, on item i.
func (l *lab) storm(k *kasoku, i int) (sample, error) {
	request := dataset.AppendRequest(nil, "GetItem", dataset.Even.AppendGet(nil, i))
	before, cpuErr := k.CPU()
	result, err := load.Run(l.ctx, load.Config{
		Addr: k.Addr, Conns: stormClients, Count: stormClients, Check: ofLength(dataset.Even.GetAnswerLen(i)),
		Next: func(int, []byte) []byte { return request },
	})
	if err = errors.Join(err, result.Err); err != nil {
		return sample{}, err
	}
	var s sample
	s[throughput] = result.Throughput()
	s[p50], s[p99] = float64(result.Latency.Quantile(0.5)), float64(result.Latency.Quantile(0.99))
	if after, err := k.CPU(); err == nil && cpuErr == nil {
		s[cpu] = float64(after-before) / stormClients
	}
	if bytes, err := k.RSS(); err == nil {
		s[rss] = float64(bytes)
	}
	return s, nil
}
