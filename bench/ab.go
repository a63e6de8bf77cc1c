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

// ab returns the path of ApacheBench: below .tools, or the system's.
func (l *lab) ab() (string, error) {
	program := filepath.Join(l.root, ".tools", "ab", "ab")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	return exec.LookPath("ab")
}

// contestAB measures the targets in turn with ab -c 30, which opens a connection for each
// request. It fails if an answer is missing or has another length than the first.
func (l *lab) contestAB(name, path string, targets []target) error {
	program, err := l.ab()
	if err != nil {
		l.report.note("%s is left out: %v (scripts/setup-ab.sh fetches it)", name, err)
		return nil
	}
	progress("%s", name)
	samples := make([][]sample, len(targets))
	own := make([]time.Duration, len(targets)) // over all rounds
	for range l.plan.rounds {
		for i, t := range targets {
			s, spent, err := l.measureAB(program, path, t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			samples[i] = append(samples[i], s)
			own[i] += spent
		}
	}
	for i, t := range targets {
		l.report.add(name, t.name, targets[0].name, samples[i], samples[0], fmt.Sprintf("ab itself %d us", own[i].Microseconds()/int64(l.plan.rounds)))
	}
	return nil
}

// measureAB measures one target for one round. spent is ab's own CPU time for each request:
// it has one thread, which limits the throughput of any server.
func (l *lab) measureAB(program, path string, t target) (s sample, spent time.Duration, err error) {
	before, cpuErr := t.proc.CPU()
	seconds := max(1, int(l.plan.round/time.Second))
	run := exec.CommandContext(l.ctx, program, "-q", "-c", "30", "-t", strconv.Itoa(seconds), "-n", "1000000", "http://"+t.addr+path)
	out, err := run.CombinedOutput()
	if err = errors.Join(err, t.proc.Alive()); err != nil {
		return sample{}, 0, fmt.Errorf("%w: %.500s", err, out)
	}
	r := readAB(out)
	if r.failed != 0 || r.complete == 0 {
		return sample{}, 0, fmt.Errorf("%g of %g requests failed: %.1000s", r.failed, r.complete, out)
	}
	s = sample{throughput: r.rate, p50: r.p50 * 1e6, p99: r.p99 * 1e6}
	if after, err := t.proc.CPU(); err == nil && cpuErr == nil {
		s[cpu] = float64(after-before) / float64(r.complete)
	}
	if bytes, err := t.proc.RSS(); err == nil {
		s[rss] = float64(bytes)
	}
	spent = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	return s, spent / time.Duration(r.complete), nil
}

// abReport is the output of ab. Latencies are in whole milliseconds.
type abReport struct {
	complete, failed, rate, p50, p99 float64
}

// readAB parses ab's output. An answer with another status than 2xx counts as failed.
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
