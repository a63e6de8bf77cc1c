package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

const (
	daxHit    = "GetItem hit by DAX"
	daxSigned = "GetItem hit by DAX, signed"
	daxQuery  = "Query hit by DAX, 10 items"
	daxBatch  = "BatchGetItem by DAX, 25 hits"
	daxMany   = "GetItem hit by DAX, 1,000 conns"
	daxPut    = "PutItem by DAX, 1 conn"
	daxPython = "GetItem hit from Python"

	nameHTTP = "kasoku, HTTP"
	nameDAX  = "kasoku, DAX"
)

// daxStage holds the servers that the DAX front end is compared with.
type daxStage struct {
	origin        *proc.Process // counts its requests
	dynamo        *proc.Process // may be nil
	kasoku        *proc.Process
	hits          string // DAX address of the service in front of the counting origin
	authenticated string // the same of a service that requires signatures
	signed        string // HTTP address of that service
	store         string // DAX address of the service in front of DynamoDB Local
	http          string // HTTP address of that service
}

func daxScenarios() []scenario {
	return []scenario{
		{name: daxHit, conns: 100, traffic: getHits, cached: true},
		{name: daxSigned, conns: 100, traffic: signedHits, cached: true},
		{name: daxQuery, conns: 100, traffic: queryHits, cached: true},
		{name: daxBatch, conns: 100, traffic: batchHits, cached: true},
		{name: daxMany, conns: 1000, traffic: getHits, cached: true},
		{name: daxPut, conns: 1, traffic: puts},
		{name: daxPython, conns: 1},
	}
}

// compareDAX compares the DAX front end with the HTTP front end of the same service, and
// with DynamoDB Local itself.
func (l *lab) compareDAX() error {
	s, err := l.setDAXStage()
	if err != nil {
		return err
	}
	for _, c := range chosen(daxScenarios(), "dax", l.only) {
		run := l.contestDAXHits
		switch c.name {
		case daxSigned:
			run = l.contestDAXSigned
		case daxPut:
			run = l.contestDAXPuts
		case daxPython:
			run = l.contestPython
		}
		if err := run(s, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (l *lab) setDAXStage() (*daxStage, error) {
	var s daxStage
	var err error
	if s.origin, err = l.startOrigin(); err != nil {
		return nil, err
	}
	if s.dynamo, err = l.startDynamo(); errors.Is(err, errNoDynamo) {
		l.report.note("%s is left out, and with it the cost of writes by DAX: %v", nameDynamo, err)
	} else if err != nil {
		return nil, err
	}
	return &s, l.startDAX(&s)
}

// startDAX starts a Kasoku with a service in front of each origin, both with a DAX address.
func (l *lab) startDAX(s *daxStage) error {
	var addrs [7]string
	for i := range addrs {
		var err error
		if addrs[i], err = proc.FreeAddr(); err != nil {
			return err
		}
	}
	s.hits, s.http, s.store, s.signed, s.authenticated = addrs[1], addrs[2], addrs[3], addrs[5], addrs[6]
	services := []service{
		{name: "hits", listen: addrs[0], origin: s.origin.Addr, auth: authNone + daxListener(s.hits)},
		{name: "signed", listen: s.signed, origin: s.origin.Addr, auth: authSigned + daxListener(s.authenticated)},
	}
	also := []string{s.hits, addrs[4], s.signed, s.authenticated}
	if s.dynamo != nil {
		services = append(services, service{name: "store", listen: addrs[2], origin: s.dynamo.Addr, auth: authNone + daxListener(s.store)})
		also = append(also, addrs[2], s.store)
	}
	file := filepath.Join(l.dir, "dax.yaml")
	if err := os.WriteFile(file, configText(addrs[4], "1GiB", services), 0o600); err != nil {
		return fmt.Errorf("configure kasoku: %w", err)
	}
	var err error
	s.kasoku, err = l.start(proc.Command{
		Name: "dax", Addr: addrs[0], Also: also, Args: []string{l.kasoku, "serve", "-c", file},
		Env: []string{"AWS_ACCESS_KEY_ID=" + dataset.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dataset.SecretKey, "AWS_EC2_METADATA_DISABLED=true", "BENCH_SECRET=" + dataset.SecretKey},
	})
	return err
}

// daxListener returns a service's dax key. It allows one client all connections of a
// scenario.
func daxListener(addr string) string {
	return fmt.Sprintf("\n    dax: {listen: %q, limits: {connections: %d, connections_per_client: %[2]d}}", addr, scenarioConns)
}

// overDAX returns traffic of prepared DAX requests.
func overDAX(requests [][]byte, check func(body []byte) bool) traffic {
	t := hits(requests, 0)
	t.greeting, t.frame = dataset.DAXGreeting(), dataset.DAXFrame
	t.check = func(_, _ int, body []byte) error {
		if !check(body) {
			return fmt.Errorf("a wrong answer: %.200x", body)
		}
		return nil
	}
	return t
}

// daxReads returns the requests of a scenario of cached reads in DAX's form. Only the length of
// the answers is checked.
func (l *lab) daxReads(scenario string) traffic {
	set := dataset.Even
	longer := func(n int) func(body []byte) bool {
		return func(body []byte) bool { return body[0] == 0x80 && len(body) > n }
	}
	switch scenario {
	case daxQuery:
		return overDAX(prepare(l.plan.items/dataset.PerPartition, func(k int) []byte {
			return set.AppendDAXQuery(nil, k*dataset.PerPartition)
		}), longer(dataset.PerPartition*set.Min))
	case daxBatch:
		step := l.plan.items / dataset.BatchSize
		t := overDAX(prepare(step, func(k int) []byte {
			return set.AppendDAXBatchGet(nil, k, dataset.BatchSize, step)
		}), longer(dataset.BatchSize*set.Min))
		t.frame = dataset.DAXBatchFrame
		return t
	}
	return l.daxHits()
}

// daxHits returns reads of cached items. Only the length of the answers is checked.
func (l *lab) daxHits() traffic {
	set := dataset.Even
	return overDAX(prepare(l.plan.items, func(i int) []byte { return set.AppendDAXGet(nil, i) }), func(body []byte) bool {
		return body[0] == 0x80 && len(body) > set.Min
	})
}

// contestDAXSigned measures clients that authenticate: over HTTP each request is signed, in
// DAX the connection.
func (l *lab) contestDAXSigned(s *daxStage, c scenario) error {
	dax := l.daxHits()
	dax.greeting = dataset.AppendDAXAuth(dax.greeting, time.Now())
	return l.contest(c, []target{
		{name: nameHTTP, addr: s.signed, proc: s.kasoku},
		{name: nameDAX, addr: s.authenticated, proc: s.kasoku, load: dax},
	}, s.origin)
}

func (l *lab) contestDAXHits(s *daxStage, c scenario) error {
	dax := l.daxReads(c.name)
	return l.contest(c, []target{
		{name: nameHTTP, addr: s.kasoku.Addr, proc: s.kasoku},
		{name: nameDAX, addr: s.hits, proc: s.kasoku, load: dax},
	}, s.origin)
}

func (l *lab) contestDAXPuts(s *daxStage, c scenario) error {
	if s.dynamo == nil {
		return nil
	}
	list, err := defineList(s.store)
	if err != nil {
		return err
	}
	set := dataset.Even
	dax := overDAX(prepare(l.plan.items, func(i int) []byte { return set.AppendDAXPut(nil, i, list) }), func(body []byte) bool {
		return string(body) == "\x80\xf6"
	})
	return l.contest(c, []target{
		{name: nameDynamo, addr: s.dynamo.Addr, proc: s.dynamo},
		{name: nameHTTP, addr: s.http, proc: s.kasoku},
		{name: nameDAX, addr: s.store, proc: s.kasoku, load: dax},
	}, nil)
}

// defineList requests the number of the list of an item's attributes.
func defineList(addr string) (uint64, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return 0, fmt.Errorf("query %s: %w", addr, err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write(dataset.AppendDAXLists(dataset.DAXGreeting())); err != nil {
		return 0, fmt.Errorf("query %s: %w", addr, err)
	}
	var answer []byte
	for {
		var buf [512]byte
		n, err := c.Read(buf[:])
		answer = append(answer, buf[:n]...)
		if _, whole, bad := dataset.DAXFrame(answer); whole {
			break
		} else if err = errors.Join(err, bad); err != nil {
			return 0, fmt.Errorf("answer of %s: %w", addr, err)
		}
	}
	r := cbor.NewReader(answer)
	if r.Array() != 0 {
		return 0, fmt.Errorf("answer of %s: an error: %.300q", addr, answer)
	}
	list, _ := r.Uint()
	return list, r.Close()
}

// errNoDAXClient reports that a DAX client is not installed. It is left out, which is not a
// failure.
var errNoDAXClient = errors.New("its DAX client is not installed below .tools (make tools fetches it)")

// contestPython compares the latencies of a Python program: its DAX client with Kasoku, and
// boto3 with DynamoDB Local, each on one connection.
func (l *lab) contestPython(s *daxStage, c scenario) error {
	if s.dynamo == nil {
		return nil
	}
	targets := []target{{name: nameDynamo, addr: s.dynamo.Addr, proc: s.dynamo}, {name: nameDAX, addr: s.store, proc: s.kasoku}}
	samples := make([][]sample, len(targets))
	progress("%s", c.name)
	for range l.plan.rounds {
		for i, t := range targets {
			got, err := l.measurePython(t, i == 1)
			if errors.Is(err, errNoDAXClient) {
				l.report.note("Python is left out: %v", err)
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			samples[i] = append(samples[i], got)
		}
	}
	for i, t := range targets {
		l.report.add(c.name, t.name, targets[0].name, samples[i], samples[0], "")
	}
	return nil
}

// measurePython runs the program that reads items, one after the other, for one round.
func (l *lab) measurePython(t target, dax bool) (s sample, err error) {
	python := filepath.Join(l.root, ".tools", "python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		return s, errNoDAXClient
	}
	endpoint := "http://" + t.addr
	if dax {
		endpoint = "dax://" + t.addr
	}
	run := exec.CommandContext(l.ctx, python, filepath.Join(l.root, "bench", "getitem.py"), endpoint, dataset.Even.Table,
		strconv.Itoa(l.plan.items), strconv.FormatFloat(l.plan.round.Seconds(), 'f', -1, 64))
	run.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+dataset.AccessKey, "AWS_SECRET_ACCESS_KEY="+dataset.SecretKey, "AWS_DEFAULT_REGION="+dataset.Region)
	var text io.Reader
	if text, err = run.StdoutPipe(); err != nil {
		return s, err
	}
	run.Stderr = os.Stderr
	before, cpuErr := t.proc.CPU()
	if err := run.Start(); err != nil {
		return s, err
	}
	var seen struct{ Requests, Seconds, P50, P99 float64 }
	err = json.NewDecoder(text).Decode(&seen)
	if err = errors.Join(err, run.Wait(), t.proc.Alive()); err != nil {
		return s, err
	}
	s[throughput], s[p50], s[p99] = seen.Requests/seen.Seconds, seen.P50*1e9, seen.P99*1e9
	if after, err := t.proc.CPU(); err == nil && cpuErr == nil {
		s[cpu] = float64(after-before) / seen.Requests
	}
	if bytes, err := t.proc.RSS(); err == nil {
		s[rss] = float64(bytes)
	}
	return s, nil
}

// judgeDAX adds the goals of the DAX front end.
func (r *report) judgeDAX(atMost func(name string, value, bound float64)) {
	atMost("CPU of a GetItem hit by DAX, in hits by HTTP", r.ratio(daxHit, nameDAX, cpu), 0.8)
	atMost("CPU of a Query hit by DAX, in hits by HTTP", r.ratio(daxQuery, nameDAX, cpu), 0.8)
	atMost("CPU of a BatchGetItem hit by DAX, in hits by HTTP", r.ratio(daxBatch, nameDAX, cpu), 0.8)
	atMost("p50 of a GetItem hit from Python by DAX, in direct ones", r.ratio(daxPython, nameDAX, p50), 0.2)
	atMost("p50 of PutItem by DAX on 1 connection, in direct ones", r.ratio(daxPut, nameDAX, p50), 1.2)
}
