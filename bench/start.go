package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const startScenario = "kasoku serve in an empty folder"

// standardAddrs are the addresses that kasoku listens on without a configuration.
var standardAddrs = []string{"127.0.0.1:8000", "127.0.0.1:9090"}

// measureStart starts Kasoku in an empty folder without a configuration, and reports the CPU
// time until the answer to its first request.
func (l *lab) measureStart() error {
	for _, addr := range standardAddrs {
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			l.report.note("%s is left out: %v", startScenario, err)
			return nil
		}
		listener.Close()
	}
	progress("%s", startScenario)
	var samples []sample
	for round := range l.plan.rounds {
		s, err := l.firstAnswer(round)
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	binary, err := os.Stat(l.kasoku)
	if err != nil {
		return fmt.Errorf("size of the binary: %w", err)
	}
	l.report.start = medians(samples)[cpu]
	l.report.add(startScenario, nameKasoku, nameKasoku, samples, samples, fmt.Sprintf("to the first answer; the binary has %.1f MiB", float64(binary.Size())/(1<<20)))
	return nil
}

// firstAnswer measures one start.
func (l *lab) firstAnswer(round int) (sample, error) {
	folder := filepath.Join(l.dir, fmt.Sprint("empty-", round))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return sample{}, fmt.Errorf("make an empty folder: %w", err)
	}
	p, err := l.start(proc.Command{Name: fmt.Sprint("first-", round), Addr: standardAddrs[0], Args: []string{l.kasoku, "serve"}, Folder: folder})
	if err != nil {
		return sample{}, err
	}
	defer l.stopAll()
	if _, err := ask(p.Addr, dataset.AppendRequest(nil, "ListTables", []byte("{}"))); err != nil {
		return sample{}, err
	}
	var s sample
	if spent, err := p.CPU(); err == nil {
		s[cpu] = float64(spent)
	}
	if bytes, err := p.RSS(); err == nil {
		s[rss] = float64(bytes)
	}
	return s, nil
}
