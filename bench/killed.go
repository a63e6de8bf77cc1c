package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	nameAllThere  = "kasoku, all servers there"
	nameOneKilled = "kasoku, one killed"
)

const fallbackBody = `{"status":"fallback"}`

// killedScenario measures the keys of running servers while other requests are for keys of a
// killed server, which the fallback answers.
var killedScenario = scenario{name: "memcached hit at 2000/s", conns: 32, rate: 2000}

// measureKilled measures hits, kills a server, and measures the hits of the other servers, for
// several rounds. It reports the longest time from the server's restart until its keys are
// hits again.
func (l *lab) measureKilled(servers []*proc.Process) error {
	progress("%s", killedScenario.name)
	fallback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write([]byte(fallbackBody))
	}))
	defer fallback.Close()
	k, err := l.startService("counts-killed", func(listen, admin string) string {
		return countsText(listen, admin, servers, "0s", fallback.URL)
	})
	if err != nil {
		return err
	}
	own, others, err := splitKeys(servers)
	if err != nil {
		return err
	}
	t := target{addr: k.Addr, proc: k, load: others}
	b := loadSpec{conns: killedScenario.conns, rate: killedScenario.rate, round: l.plan.round}
	if err := l.warm(b, t); err != nil {
		return err
	}
	var there, away []sample
	back := time.Duration(0)
	for range l.plan.rounds {
		before, err := l.measureBeside(b, t, own)
		if err != nil {
			return err
		}
		servers[0].Kill()
		after, err := l.measureBeside(b, t, own)
		if err != nil {
			return err
		}
		took, err := l.awaitReturn(servers, k)
		if err != nil {
			return err
		}
		there, away, back = append(there, before), append(away, after), max(back, took)
	}
	l.report.back = float64(back)
	l.report.add(killedScenario.name, nameAllThere, nameAllThere, there, there, "")
	l.report.add(killedScenario.name, nameOneKilled, nameAllThere, away, there, fmt.Sprintf("hits again %v after its return", back.Round(time.Millisecond)))
	return nil
}

// splitKeys returns traffic for keys of the first server that it does not hold, which the
// fallback answers even while the server runs, and traffic for keys of the others.
func splitKeys(servers []*proc.Process) (own, others traffic, err error) {
	r, err := countRing(servers)
	if err != nil {
		return own, others, err
	}
	var requests [2][][]byte
	for k := range 2 * dataset.Counts {
		request := dataset.AppendCountRequest(nil, k, "")
		first := r.Find(dataset.AppendCountKey(nil, k)) == 0
		if there := k < dataset.Counts; first && !there {
			requests[0] = append(requests[0], request)
		} else if !first && there {
			requests[1] = append(requests[1], request)
		}
	}
	own, others = hits(requests[0], 0), hits(requests[1], 0)
	own.check = exactly(len(fallbackBody))
	others.check = exactly(len(dataset.AppendCount(nil, 0)))
	return own, others, nil
}

// measureBeside measures a target for one round, while another load sends other requests to it. Any
// error fails the measurement.
func (l *lab) measureBeside(b loadSpec, t target, other traffic) (sample, error) {
	var besides sync.WaitGroup
	var failed error
	besides.Go(func() {
		_, failed = l.measure(loadSpec{conns: 8, rate: b.rate / 4, round: b.round}, target{addr: t.addr, proc: t.proc, load: other})
	})
	s, err := l.measure(b, t)
	besides.Wait()
	if failed != nil {
		failed = fmt.Errorf("keys of the killed server: %w", failed)
	}
	return s, errors.Join(err, failed)
}

// awaitReturn restarts the killed server, and requests one of its keys until that is a hit.
func (l *lab) awaitReturn(servers []*proc.Process, k *proc.Process) (time.Duration, error) {
	s, err := l.startMemcached(servers[0].Addr)
	if err != nil {
		return 0, err
	}
	servers[0] = s
	began := time.Now()
	if err := fillCounts(servers, 0); err != nil {
		return 0, err
	}
	keys, err := countsOf(servers, 0)
	if err != nil {
		return 0, err
	}
	for {
		body, err := ask(k.Addr, dataset.AppendCountRequest(nil, keys[0], ""))
		if err != nil {
			return 0, err
		}
		if bytes.Equal(body, dataset.AppendCount(nil, keys[0])) {
			return time.Since(began), nil
		}
		select {
		case <-l.ctx.Done():
			return 0, l.ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
