package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/bench/internal/proc"
	"github.com/kasoku/kasoku/bench/loggers"
)

// Names of the Fluentd clients in the table.
const (
	nameOfficial = "fluent-logger-golang"
	nameAsync    = "fluent-logger-golang, async"
	nameIBM      = "fluent-forward-go"
	nameFluent   = "fluent"
	nameUnasked  = "fluent, no acknowledgements"
	nameCaller   = "the caller alone"
)

// Names of the scenarios of Fluentd clients.
const (
	postPrefix = "Post "
	postAcked  = "Post count, acknowledged"
	postNormal = "Post access, 20,000/s"
	postAway   = "Post access, 20,000/s, server away"
)

// client is a Fluentd client under measurement.
type client struct {
	name    string
	program string // below the scratch folder
	args    []string
	maps    bool // accepts only maps
}

var clients = []client{
	{name: nameOfficial, program: "official"},
	{name: nameAsync, program: "official", args: []string{"-mode", "async"}},
	{name: nameIBM, program: "ibm", maps: true},
	{name: nameFluent, program: "fluent", args: []string{"-ack"}},
	{name: nameUnasked, program: "fluent"},
	{name: nameCaller, program: "fluent", args: []string{"-mode", "none"}},
}

// kinds are the kinds of records that all clients post, in the table's order.
var kinds = []string{"count", "struct", "nested", "access", "access map"}

func loggerScenarios() []scenario {
	var list []scenario
	for _, kind := range kinds {
		list = append(list, scenario{name: postPrefix + kind})
	}
	return append(list, scenario{name: postAcked}, scenario{name: postNormal}, scenario{name: postAway})
}

// sink is a server that discards records.
type sink struct {
	*proc.Process
	counts string
}

func (l *lab) startSink(name, addr string) (*sink, error) {
	counts, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	p, err := l.start(proc.Command{Name: name, Addr: addr, Also: []string{counts}, Args: []string{filepath.Join(l.dir, "sink"), "-addr", addr, "-counts", counts}})
	return &sink{p, counts}, err
}

// taken returns the number of records received since the last call.
func (s *sink) taken() (int, error) {
	text, err := get(s.counts, "/")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("count of the sink: %w", err)
	}
	return n, nil
}

// compareLoggers runs each client in a process of its own with the same sink.
func (l *lab) compareLoggers() error {
	for _, b := range [][3]string{{"sink", ".", "./bench/loggers/sink"}, {"fluent", ".", "./bench/loggers/fluent"},
		{"official", "integration", "./loggers/official"}, {"ibm", "integration", "./loggers/ibm"}} {
		if err := l.compileIn(filepath.Join(l.root, b[1]), filepath.Join(l.dir, b[0]), b[2]); err != nil {
			return err
		}
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return err
	}
	s, err := l.startSink("sink", addr)
	if err != nil {
		return err
	}
	wanted := chosen(loggerScenarios(), "loggers", l.only)
	for _, w := range wanted {
		progress("%s", w.name)
		switch w.name {
		case postAcked:
			err = l.compareAcked(s)
		case postNormal:
			err = l.pacePosts(s)
		case postAway:
			err = l.measureAway()
		default:
			err = l.comparePosts(s, w.name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// warmPosts is the number of records posted before each measurement, which the sink counts
// too.
const warmPosts = 1000

// drive runs a client once and returns the number of its records that the sink received.
func (l *lab) drive(c client, s *sink, args ...string) (r loggers.Result, delivered int, err error) {
	args = append(append([]string{"-addr", s.Addr, "-warmup", strconv.Itoa(warmPosts)}, c.args...), args...)
	cmd := exec.CommandContext(l.ctx, filepath.Join(l.dir, c.program), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return r, 0, fmt.Errorf("%s: %w: %s", c.name, err, errs.String())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, 0, fmt.Errorf("%s: %w", c.name, err)
	}
	if delivered, err = l.awaitDelivery(s, r.Posted+warmPosts); err != nil {
		return r, 0, err
	}
	return r, delivered - warmPosts, nil
}

// awaitDelivery polls the sink until it has received all posted records, or no more arrive.
func (l *lab) awaitDelivery(s *sink, want int) (taken int, err error) {
	for still := 0; taken < want && still < 20; {
		n, err := s.taken()
		if err != nil {
			return taken, err
		}
		if taken += n; n > 0 {
			still = 0
			continue
		}
		still++
		select {
		case <-l.ctx.Done():
			return taken, l.ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return taken, nil
}

// posts holds the rounds of a client.
type posts struct {
	samples                     []sample
	refused, delivered, offered int
	allocs                      float64
}

func (p *posts) add(r loggers.Result, delivered int) error {
	p.samples = append(p.samples, sample{
		throughput: float64(delivered) / r.Elapsed.Seconds(),
		p50:        float64(r.Elapsed) / float64(r.Posted+r.Refused),
		cpu:        float64(r.CPU) / float64(max(1, delivered)),
		rss:        float64(r.Peak),
	})
	p.refused, p.delivered, p.offered = p.refused+r.Refused, p.delivered+delivered, p.offered+r.Posted+r.Refused
	p.allocs = r.Allocs
	if delivered < r.Posted {
		return fmt.Errorf("%d records were accepted and %d delivered", r.Posted, delivered)
	}
	return nil
}

func (p *posts) also() string {
	text := fmt.Sprintf("%.1f allocations a call", p.allocs)
	if p.refused > 0 {
		text += fmt.Sprintf(", %.1f %% refused", 100*float64(p.refused)/float64(p.offered))
	}
	return text
}

// comparePosts compares all clients on one kind of record.
func (l *lab) comparePosts(s *sink, name string) error {
	kind := strings.TrimPrefix(name, postPrefix)
	var able []client
	for _, c := range clients {
		if !c.maps || kind == "count" || kind == "nested" || kind == "access map" {
			able = append(able, c)
		}
	}
	return l.compareClients(s, name, able, "-record", kind, "-n", strconv.Itoa(l.plan.posts))
}

// compareAcked measures acknowledged records, or batches of records. The reference has no
// acknowledgements.
func (l *lab) compareAcked(s *sink) error {
	return l.compareClients(s, postAcked, []client{
		{name: nameAsync, program: "official", args: []string{"-mode", "async"}},
		{name: nameAsync + ", acknowledged", program: "official", args: []string{"-mode", "async", "-ack"}},
		{name: nameFluent, program: "fluent", args: []string{"-ack"}},
	}, "-record", "count", "-n", strconv.Itoa(l.plan.posts))
}

// compareClients measures clients in turn, in several rounds.
func (l *lab) compareClients(s *sink, name string, list []client, args ...string) error {
	found := make([]posts, len(list))
	for range l.plan.rounds {
		for i, c := range list {
			r, delivered, err := l.drive(c, s, args...)
			if err != nil {
				return err
			}
			if c.name == nameCaller {
				delivered = r.Posted
			}
			if err := found[i].add(r, delivered); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	for i, c := range list {
		l.report.add(name, c.name, list[0].name, found[i].samples, found[0].samples, found[i].also())
	}
	return nil
}

// pacePosts measures single calls at a moderate rate.
func (l *lab) pacePosts(s *sink) error {
	r, delivered, err := l.drive(client{name: nameFluent, program: "fluent", args: []string{"-ack", "-mode", "spill=" + filepath.Join(l.dir, "spill-normal")}}, s, l.paceArgs()...)
	if err == nil {
		l.addPaced(postNormal, r, delivered)
	}
	return err
}

const pacedRate = 20_000

func (l *lab) paceArgs() []string {
	n := int(l.plan.away.Seconds()) * pacedRate
	return []string{"-record", "access", "-rate", strconv.Itoa(pacedRate), "-n", strconv.Itoa(n)}
}

func (l *lab) addPaced(name string, r loggers.Result, delivered int) {
	s := sample{throughput: float64(delivered) / r.Elapsed.Seconds(), p50: float64(r.P50), p99: float64(r.P999), cpu: float64(r.CPU) / float64(max(1, delivered)), rss: float64(r.Peak)}
	reference := []sample{s}
	if row := l.report.find(postNormal, nameFluent); row != nil {
		for c := range columns {
			reference[0][c] = row.Columns[c].Value
		}
	}
	l.report.add(name, nameFluent, nameFluent+" ", []sample{s}, reference,
		fmt.Sprintf("p99 is p99.9; longest call %v; %d accepted, %d refused, %d delivered", r.Longest.Round(time.Microsecond), r.Posted, r.Refused, delivered))
}

// measureAway posts without a server, for as long as pacePosts, and then starts the server.
func (l *lab) measureAway() error {
	addr, err := proc.FreeAddr()
	if err != nil {
		return err
	}
	type outcome struct {
		s   *sink
		err error
	}
	started := make(chan outcome, 1)
	go func() {
		select {
		case <-l.ctx.Done():
			started <- outcome{nil, l.ctx.Err()}
		case <-time.After(l.plan.away + time.Second):
			s, err := l.startSink("sink-late", addr)
			started <- outcome{s, err}
		}
	}()
	args := append([]string{"-addr", addr, "-warmup", strconv.Itoa(warmPosts), "-ack", "-mode", "spill=" + filepath.Join(l.dir, "spill-away")}, l.paceArgs()...)
	cmd := exec.CommandContext(l.ctx, filepath.Join(l.dir, "fluent"), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	late := <-started
	if err := errors.Join(err, late.err); err != nil {
		return fmt.Errorf("%w: %s", err, errs.String())
	}
	var r loggers.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}
	delivered, err := l.awaitDelivery(late.s, r.Posted+warmPosts)
	if err != nil {
		return err
	}
	l.addPaced(postAway, r, delivered-warmPosts)
	if delivered < r.Posted+warmPosts {
		return fmt.Errorf("%d records were accepted and %d delivered", r.Posted+warmPosts, delivered)
	}
	return nil
}

// judgeLoggers adds the goals for Fluentd clients. The bounds for kinds that are measured
// with other clients too are half of the time of the fastest of five clients, relative to
// the official one.
func (r *report) judgeLoggers(atMost, atLeast func(name string, value, bound float64)) {
	bounds := map[string]float64{"count": 0.15, "struct": 0.092, "nested": 0.333, "access": 0.141, "access map": 0.153}
	for _, kind := range kinds {
		atMost("time of a call with record "+kind+", in the official client's", r.ratio(postPrefix+kind, nameFluent, p50), bounds[kind])
	}
	atLeast("records delivered with acknowledgements, in the official asynchronous client's without", r.ratio(postAcked, nameFluent, throughput), 3)
	atMost("CPU of a record delivered with acknowledgements, in the official asynchronous client's without", r.ratio(postAcked, nameFluent, cpu), 0.333)
	if row := r.find(postAway, nameFluent); row != nil {
		atMost("milliseconds of a call at p99.9 with the server away", row.Columns[p99].Value/1e6, 1)
	}
}
