package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	loggedHit    = "GetItem hit with an access log"
	nameUnlogged = "kasoku, no log"
	nameToFile   = "kasoku, log to a file"
	nameToSink   = "kasoku, log to Fluentd"
)

func logScenarios() []scenario {
	return []scenario{{name: loggedHit, conns: 100, traffic: getHits, cached: true}}
}

// compareLogs measures the cost that an access log adds to a hit. The server that receives
// the records is a separate process, whose CPU time is not counted.
func (l *lab) compareLogs() error {
	if err := l.compile(filepath.Join(l.dir, "sink"), "./bench/loggers/sink"); err != nil {
		return err
	}
	origin, err := l.startOrigin()
	if err != nil {
		return err
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return err
	}
	s, err := l.startSink("sink", addr)
	if err != nil {
		return err
	}
	logs := []struct{ name, log string }{
		{nameUnlogged, "{to: none}"},
		{nameToFile, "{to: file, file: access.log}"},
		{nameToSink, fmt.Sprintf("{to: fluentd, fluentd: {servers: [%q]}}", "tcp://"+addr)},
	}
	var targets []target
	var nodes []*kasoku
	for i, log := range logs {
		k, err := l.startAltered(fmt.Sprint("logged-", i), origin, "access_log: {to: none}", "access_log: "+log.log)
		if err != nil {
			return err
		}
		nodes = append(nodes, k)
		targets = append(targets, target{name: log.name, addr: k.Addr, proc: k.Process})
	}
	// The ratio is near 1, so more rounds are needed than elsewhere.
	defer func(p plan) { l.plan = p }(l.plan)
	l.plan.rounds *= 3
	for _, c := range chosen(logScenarios(), "log", l.only) {
		if err := l.contest(c, targets, origin); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return allLogged(nodes[1:], s)
}

// allLogged fails if a record was dropped: a log that drops records costs less than one that
// keeps them.
func allLogged(nodes []*kasoku, s *sink) error {
	for _, k := range nodes {
		m, err := k.metrics()
		if err != nil {
			return err
		}
		if lost := m["kasoku_access_log_dropped_total"] + m["kasoku_access_log_failed_total"]; lost > 0 || m["kasoku_access_log_written_total"] == 0 {
			return fmt.Errorf("%.0f records of the access log were lost, %.0f written", lost, m["kasoku_access_log_written_total"])
		}
	}
	taken, err := s.taken()
	if err == nil && taken == 0 {
		err = fmt.Errorf("no record of the access log arrived")
	}
	return err
}

// startAltered starts a Kasoku with one service and with other texts in place of parts of its
// configuration, as in strings.NewReplacer.
func (l *lab) startAltered(name string, origin *proc.Process, oldnew ...string) (*kasoku, error) {
	var addrs [2]string
	for i := range addrs {
		var err error
		if addrs[i], err = proc.FreeAddr(); err != nil {
			return nil, err
		}
	}
	config := configText(addrs[1], "512MiB", []service{{name: "plain", listen: addrs[0], origin: origin.Addr, auth: authNone}})
	file := filepath.Join(l.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(oldnew...).Replace(string(config))), 0o600); err != nil {
		return nil, fmt.Errorf("configure %s: %w", name, err)
	}
	p, err := l.start(proc.Command{
		Name: name, Addr: addrs[0], Also: []string{addrs[1]},
		Args: []string{l.kasoku, "serve", "-c", file},
		Env: []string{
			"AWS_ACCESS_KEY_ID=" + dataset.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dataset.SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		},
	})
	return &kasoku{Process: p, admin: addrs[1]}, err
}

// judgeLogs adds the goal of the access log.
func (r *report) judgeLogs() {
	if cost, bound := r.ratio(loggedHit, nameToSink, cpu), 1.08; cost > 0 {
		r.Goals = append(r.Goals, goal{
			Name: "CPU of a GetItem hit with an access log to Fluentd, in hits without", Value: cost, Bound: bound, Pass: cost <= bound,
		})
	}
}
