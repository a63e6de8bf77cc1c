package accel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected output in testdata's scripts with the current one")

// TestScripts runs the scripts in testdata: see testdata/README.md.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(t, string(text)) })
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			differ(t, string(text), got)
		})
	}
}

// differ reports the first line in which the expected output differs from the current one.
func differ(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "(end)", "(end)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Fatalf("line %d\nwant %s\n got %s\n(go test -run TestScripts -rewrite writes the current output)", i+1, a, b)
		}
	}
}

// play runs a script and returns it with the current output.
func play(t *testing.T, script string) string {
	s := newScript(t)
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(script), "\n\n") {
		command, _, answered := strings.Cut(block, "\n----")
		out.WriteString(command)
		if answered {
			out.WriteString("\n----\n" + s.run(command))
		}
		out.WriteString("\n\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// script is the state of a script that is being run.
type script struct {
	t       *testing.T
	cfg     Config
	svc     *Service
	origin  *scriptOrigin
	fields  []http1.Field // of the next request, in addition to the usual ones
	timeout time.Duration // of the next request; 0 for none
	probes  []probe       // reads whose freshness is reported after each request
}

// probe is a read whose freshness is checked after each step.
type probe struct{ name, op, body string }

func newScript(t *testing.T) *script {
	s := &script{t: t, origin: &scriptOrigin{model: newModel()}}
	var d struct{ Table json.RawMessage }
	if err := json.Unmarshal([]byte(describeT), &d); err != nil {
		t.Fatal(err)
	}
	s.origin.model.create(d.Table)
	s.cfg = Config{
		Name: "orders", Region: "us-east-1", Origin: origin.Config{URL: "http://origin.test"}, Open: true,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		ItemTTL:     5 * time.Minute, QueryTTL: 5 * time.Minute, NegativeTTL: time.Minute,
		Connect: func(oc origin.Config) (Origin, error) { s.origin.classify = oc.Classify; return s.origin, nil },
	}
	return s
}

// start creates the service when its configuration is complete.
func (s *script) start() {
	c, err := cache.New(cache.Config{Memory: 64 << 20, Generations: 1 << 16, Settle: settleOf(s)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.svc, err = New(s.cfg, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler)); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.svc.Close)
	time.Sleep(10 * time.Second) // of the bubble: after the start, when everything counts as recently written
}

// second creates another service in the same process, for the same origin in another spelling.
func (s *script) second(change func(*Config)) *Service {
	cfg := s.cfg
	cfg.Name, cfg.Origin.URL = "audit", "HTTP://Origin.Test:80/"
	change(&cfg)
	space, err := s.svc.cache.NewSpace(0)
	if err != nil {
		s.t.Fatal(err)
	}
	svc, err := New(cfg, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(svc.Close)
	return svc
}

// settleOf returns the maximum replication lag of the script's origin, 0 unless the script
// sets it.
func settleOf(s *script) time.Duration {
	if s.origin.settle > 0 {
		return s.origin.settle
	}
	return time.Nanosecond
}

// run executes one command and returns its output.
func (s *script) run(command string) string {
	var lines []string
	for line := range strings.SplitSeq(command, "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	word, rest, _ := strings.Cut(strings.Join(lines, "\n"), " ")
	if s.svc == nil && word != "config" {
		s.start()
	}
	if f, ok := commands[word]; ok {
		return f(s, rest)
	}
	fields, timeout := s.fields, s.timeout
	s.fields, s.timeout = nil, 0
	before := s.fresh()
	s.fields, s.timeout = fields, timeout
	out := s.request(word, rest)
	s.fields, s.timeout = nil, 0
	return out + s.dropped(before)
}

var lastMoved = regexp.MustCompile(`last moved \S+ ago`)

// commands are the script's commands other than DynamoDB's operations.
var commands = map[string]func(s *script, arg string) string{
	"config": (*script).config,
	"wait": func(s *script, arg string) string {
		d, err := time.ParseDuration(arg)
		if err != nil {
			s.t.Fatal(err)
		}
		before := s.fresh()
		time.Sleep(d) // of the bubble
		synctest.Wait()
		return s.origin.requests() + "ok" + s.dropped(before)
	},
	"origin": (*script).setOrigin,
	"past":   (*script).past,
	"probe":  (*script).addProbe,
	"warm": func(s *script, _ string) string {
		for _, p := range s.probes {
			s.send(p.op, p.body)
		}
		s.origin.requests()
		return "fresh: " + strings.Join(s.fresh(), " ")
	},
	"header": func(s *script, arg string) string {
		name, value, _ := strings.Cut(arg, ": ")
		s.fields = []http1.Field{{Name: []byte(name), Value: []byte(value)}}
		return "for the next request"
	},
	"request_timeout": func(s *script, arg string) string {
		d, err := time.ParseDuration(arg)
		if err != nil {
			s.t.Fatal(err)
		}
		s.timeout = d
		return "for the next request"
	},
	"reload": func(s *script, arg string) string {
		before := s.fresh()
		s.config(arg)
		if err := s.svc.Reconfigure(s.cfg); err != nil {
			return "refused: " + err.Error()
		}
		return "ok" + s.dropped(before)
	},
	"explain": func(s *script, arg string) string {
		op, body, _ := strings.Cut(arg, " ")
		got, err := s.svc.Explain(s.t.Context(), admin.ExplainRequest{Headers: map[string]string{"x-amz-target": op}, Body: []byte(body)})
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		out.WriteString(s.origin.requests())
		for _, step := range got.Steps {
			if step.What == "tag" || step.What == "stream" {
				step.Value = "#"
			}
			if s.cfg.Streams != StreamsOff { // polls are not at regular times
				step.Note = lastMoved.ReplaceAllString(step.Note, "last moved # ago")
			}
			fmt.Fprintf(&out, "%s %s: %s\n", step.What, step.Value, step.Note)
		}
		return out.String() + "= " + got.Decision
	},
	"removed": func(s *script, arg string) string {
		before := s.fresh()
		name, item, _ := strings.Cut(arg, " ")
		s.svc.ItemRemoved()(name, []byte(item))
		return s.origin.requests() + "ok" + s.dropped(before)
	},
	"metrics": func(s *script, arg string) string {
		return fmt.Sprintf("faults %d, denied %d", s.svc.metrics.faults.Value(), s.svc.metrics.denied.Value())
	},
}

// config sets fields of the configuration: item=5m query=5m negative=1m
// refresh=0.2 expire=pattern settle=5s off=pattern.
func (s *script) config(arg string) string {
	for field := range strings.FieldsSeq(arg) {
		name, value, _ := strings.Cut(field, "=")
		d, _ := time.ParseDuration(value)
		switch name {
		case "item":
			s.cfg.ItemTTL = d
		case "query":
			s.cfg.QueryTTL = d
		case "negative":
			s.cfg.NegativeTTL = d
		case "settle":
			s.origin.settle = d
		case "refresh":
			s.cfg.RefreshAhead, _ = strconv.ParseFloat(value, 64)
		case "streams":
			s.cfg.Streams = map[string]StreamMode{"off": StreamsOff, "on": StreamsOn, "auto": StreamsAuto}[value]
			s.cfg.StreamsMaxLag, s.cfg.FollowedItemTTL = time.Second, 24*time.Hour
		case "enable":
			s.cfg.StreamsEnable = value == "true"
		case "expire":
			s.cfg.ExpireItems = []string{value}
		case "off":
			no := false
			s.cfg.Tables = []TableRule{{Pattern: value, Cache: &no}}
		case "url":
			s.cfg.Origin.URL = value
		default:
			s.t.Fatalf("unknown configuration name %q", name)
		}
	}
	return "ok"
}

// setOrigin changes how the origin behaves: up, down, lag, catch-up, or once:
// <status> <body>, <fault kind>, after <duration>, do-then-<fault kind>.
func (s *script) setOrigin(arg string) string {
	o := s.origin
	o.mu.Lock()
	defer o.mu.Unlock()
	word, rest, _ := strings.Cut(arg, " ")
	switch word {
	case "up", "down":
		o.down = word == "down"
	case "lag", "catch-up":
		o.model.lag(word == "lag")
	case "stall", "flow":
		o.stalled = word == "stall"
	case "roll":
		o.model.tables["t"].stream.roll()
	case "after":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		o.next = append(o.next, func(context.Context, string, []byte) (*origin.Response, error) { time.Sleep(d); return nil, nil }) // of the bubble
	case "dial", "timeout", "reset", "done-then-reset", "panic":
		o.next = append(o.next, o.fault(word))
	default:
		status, err := strconv.Atoi(word)
		if err != nil {
			s.t.Fatalf("unknown state of the origin: %q", arg)
		}
		o.next = append(o.next, func(context.Context, string, []byte) (*origin.Response, error) {
			return o.respond(status, []byte(rest)), nil
		})
	}
	return "ok"
}

// past executes a request at the origin, without the service.
func (s *script) past(arg string) string {
	op, body, _ := strings.Cut(arg, " ")
	status, reply := s.origin.execute(op, []byte(body))
	return fmt.Sprintf("%d %s", status, tidy(reply))
}

func (s *script) addProbe(arg string) string {
	name, rest, _ := strings.Cut(arg, " ")
	op, body, _ := strings.Cut(rest, " ")
	s.probes = append(s.probes, probe{name, op, body})
	return "ok"
}

// fresh returns the names of the probes that are served from the cache, using an origin that
// answers only DescribeTable.
func (s *script) fresh() (names []string) {
	was, log := s.origin.probe(true, nil)
	for _, p := range s.probes {
		if d := s.send(p.op, p.body).Record.Decision; d == telemetry.Hit || d == telemetry.HitNegative {
			names = append(names, p.name)
		}
	}
	s.origin.probe(was, log)
	return names
}

// probe makes requests fail, or not any more, and exchanges the log.
func (o *scriptOrigin) probe(on bool, log []string) (was bool, former []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, former = o.probing, o.log
	o.probing, o.log = on, log
	return was, former
}

// dropped lists the probes that are no longer fresh.
func (s *script) dropped(before []string) string {
	if len(s.probes) == 0 {
		return ""
	}
	now := s.fresh()
	gone := slices.DeleteFunc(before, func(name string) bool { return slices.Contains(now, name) })
	if len(gone) == 0 {
		gone = []string{"nothing"}
	}
	return "\ndropped: " + strings.Join(gone, " ")
}

func (s *script) send(op, body string) *edge.Exchange {
	r := request(op)
	r.Fields = append(r.Fields, s.fields...)
	ctx := s.t.Context()
	if s.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		ctx = limited
	}
	x := edge.Detached(ctx, r, []byte(body), time.Now())
	s.svc.Serve(x)
	synctest.Wait() // for refreshes
	return x
}

// request sends a client's request and returns the requests to the origin and the client's
// reply.
func (s *script) request(op, body string) string {
	s.origin.requests()
	x := s.send(op, body)
	out := s.origin.requests()
	stored := ""
	head := string(x.Reply.Head())
	if strings.Contains(head, "; stored") {
		stored = ", stored"
	}
	if crc := headerIn(head, "x-amz-crc32"); crc != "" && crc != fmt.Sprint(crc32.ChecksumIEEE(x.Reply.Body)) {
		s.t.Errorf("%s %s: wrong checksum of %s", op, body, x.Reply.Body)
	}
	return out + fmt.Sprintf("%d %s%s %s", x.Reply.Status, x.Record.Decision, stored, tidy(x.Reply.Body))
}

func headerIn(head, name string) string {
	for line := range strings.SplitSeq(head, "\r\n") {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			return v
		}
	}
	return ""
}

// tidy returns JSON with its members in order, and other text quoted.
func tidy(body []byte) string {
	var v any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return strconv.Quote(string(body))
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(b.String())
}

// scriptOrigin is an origin that executes requests with a model, with injected faults.
type scriptOrigin struct {
	classify func(int, http1.Fields, []byte) origin.Class

	mu      sync.Mutex // refreshes and descriptions run concurrently with the client's request
	model   *model
	log     []string
	down    bool
	stalled bool // requests to the streams API fail
	probing bool // fail all requests except Describe*, to find out which probes are cached
	settle  time.Duration
	next    []func(ctx context.Context, op string, body []byte) (*origin.Response, error) // faults for the next requests
}

var errRefused = errors.New("connection refused")

func (o *scriptOrigin) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	op := string(r.Header.Get("X-Amz-Target"))
	op = op[strings.IndexByte(op, '.')+1:]
	fault, err := o.note(op, r.Body)
	if err != nil {
		return nil, err
	}
	if fault != nil {
		if resp, err := fault(ctx, op, r.Body); resp != nil || err != nil {
			return resp, err
		}
		if err := ctx.Err(); err != nil {
			return nil, &origin.Fault{Kind: origin.Timeout, Reached: true, Err: err}
		}
	}
	return o.respond(o.execute(op, r.Body)), nil
}

// note records a request and returns the fault injected into it, nil if there is none.
func (o *scriptOrigin) note(op string, body []byte) (fault func(context.Context, string, []byte) (*origin.Response, error), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op == "DescribeStream" || op == "GetShardIterator" || op == "GetRecords" {
		if o.down || o.stalled {
			err = &origin.Fault{Kind: origin.Dial, Err: errRefused}
		}
		return nil, err
	}
	o.log = append(o.log, "> "+op+" "+tidy(body))
	if o.down || o.probing && !strings.HasPrefix(op, "Describe") {
		return nil, &origin.Fault{Kind: origin.Dial, Err: errRefused}
	}
	if len(o.next) > 0 && op != "DescribeTable" {
		fault, o.next = o.next[0], o.next[1:]
	}
	return fault, nil
}

func (o *scriptOrigin) execute(op string, body []byte) (status int, reply []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.model.serve(op, body)
}

func (o *scriptOrigin) respond(status int, body []byte) *origin.Response {
	h := http1.FieldsOf("Content-Type", jsonType, fieldID, "ORIGIN", fieldCRC, fmt.Sprint(crc32.ChecksumIEEE(body)))
	return &origin.Response{Status: status, Header: h, Body: body, Class: o.classify(status, h, body), Attempts: 1}
}

// fault returns a fault of a kind.
func (o *scriptOrigin) fault(kind string) func(context.Context, string, []byte) (*origin.Response, error) {
	return func(_ context.Context, op string, body []byte) (*origin.Response, error) {
		switch kind {
		case "panic":
			panic("injected")
		case "dial":
			return nil, &origin.Fault{Kind: origin.Dial, Err: errRefused}
		case "timeout":
			return nil, &origin.Fault{Kind: origin.Timeout, Reached: true, Err: context.DeadlineExceeded}
		case "done-then-reset":
			o.execute(op, body)
		}
		return nil, &origin.Fault{Kind: origin.Reset, Reached: true, Err: errors.New("connection reset")}
	}
}

func (o *scriptOrigin) State() origin.State { return origin.State{} }
func (o *scriptOrigin) Close()              {}

// requests returns the requests to the origin since the last call: first those about tables,
// which may have run beside the client's request.
func (o *scriptOrigin) requests() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := func(line string) int {
		if strings.HasPrefix(line, "> Describe") || strings.HasPrefix(line, `> UpdateTable {"StreamSpecification"`) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(o.log, func(a, b string) int { return cmp.Compare(own(a), own(b)) })
	out := strings.Join(o.log, "\n")
	o.log = nil
	if out != "" {
		out += "\n"
	}
	return out
}
