package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// ab returns where ApacheBench is: below .tools, or the system's.
func (l *lab) ab() (string, error) {
	program := filepath.Join(l.root, ".tools", "ab", "ab")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	return exec.LookPath("ab")
}

// contestAB measures the targets in turn with ab -c 30, which opens a connection for
// each request. Where an answer is missing or of another length than the first the run
// fails.
func (l *lab) contestAB(name, path string, targets []target) error {
	program, err := l.ab()
	if err != nil {
		l.report.note("%s is left out: %v (scripts/setup-ab.sh fetches it)", name, err)
		return nil
	}
	progress("%s", name)
	samples := make([][]sample, len(targets))
	for range l.plan.rounds {
		for i, t := range targets {
			s, err := l.measureAB(program, path, t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	for i, t := range targets {
		l.report.add(name, t.name, targets[0].name, samples[i], samples[0], "")
	}
	return nil
}

func (l *lab) measureAB(program, path string, t target) (sample, error) {
	before, cpuErr := t.proc.CPU()
	seconds := max(1, int(l.plan.round/time.Second))
	out, err := exec.CommandContext(l.ctx, program, "-q", "-c", "30", "-t", strconv.Itoa(seconds), "-n", "1000000", "http://"+t.addr+path).CombinedOutput()
	if err = errors.Join(err, t.proc.Alive()); err != nil {
		return sample{}, fmt.Errorf("%w: %.500s", err, out)
	}
	r := readAB(out)
	if r.failed != 0 || r.complete == 0 {
		return sample{}, fmt.Errorf("%g of %g requests failed: %.1000s", r.failed, r.complete, out)
	}
	s := sample{throughput: r.rate, p50: r.p50 * 1e6, p99: r.p99 * 1e6}
	if after, err := t.proc.CPU(); err == nil && cpuErr == nil {
		s[cpu] = float64(after-before) / float64(r.complete)
	}
	if bytes, err := t.proc.RSS(); err == nil {
		s[rss] = float64(bytes)
	}
	return s, nil
}

// abReport is what ab prints. Latencies are whole milliseconds.
type abReport struct {
	complete, failed, rate, p50, p99 float64
}

// readAB reads ab's report. An answer of another status than 2xx has failed too.
func readAB(out []byte) (r abReport) {
	var refused float64
	for pattern, value := range map[string]*float64{
		`(?m)^Complete requests: +([\d.]+)`: &r.complete, `(?m)^Failed requests: +([\d.]+)`: &r.failed, `(?m)^Non-2xx responses: +([\d.]+)`: &refused,
		`(?m)^Requests per second: +([\d.]+)`: &r.rate, `(?m)^ +50% +([\d.]+)`: &r.p50, `(?m)^ +99% +([\d.]+)`: &r.p99,
	} {
		if m := regexp.MustCompile(pattern).FindSubmatch(out); m != nil {
			*value, _ = strconv.ParseFloat(string(m[1]), 64) // digits
		}
	}
	r.failed += refused
	return r
}
