package top

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

var rewrite = flag.Bool("rewrite", false, "write the actual screens to testdata")

// started is the start of the processes of tests.
var started = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// process is a Source with reports that a test makes.
type process struct {
	address string
	report  *admin.ReportJSON
	keys    map[string]*admin.TableKeys // by service and table
	err     error
	asked   []string // lines to explain
}

func (p *process) Address() string                                   { return p.address }
func (p *process) Report(context.Context) (*admin.ReportJSON, error) { return p.report, p.err }

func (p *process) Keys(_ context.Context, service, table string) (*admin.TableKeys, error) {
	return p.keys[service+" "+table], nil
}

func (p *process) Explain(_ context.Context, service, line string) (*admin.Explanation, error) {
	p.asked = append(p.asked, service+": "+line)
	if strings.HasPrefix(line, "x") {
		return nil, errors.New("x is no operation")
	}
	return &admin.Explanation{Decision: "hit", Steps: []admin.Step{
		{What: "operation", Value: "GetItem"},
		{What: "key", Value: "users {\"id\":{\"S\":\"a\x1b[2J\"}}", Note: "canonical: other spellings of the same request have the same key"},
		{What: "entry", Value: "hit", Note: strings.Repeat("a long reason ", 12)},
	}}, nil
}

// histogram returns n durations from zero to the longest one.
func histogram(n int, longest time.Duration) telemetry.Snapshot {
	h := telemetry.NewHistogram()
	for i := range n {
		h.Observe(longest * time.Duration(i) / time.Duration(n))
	}
	return h.Snapshot()
}

// reported returns the report of a process after n intervals of 2 s, with names of its tables.
func reportAfter(n int, tables ...string) *admin.ReportJSON {
	s := &fakeService{name: "orders", origin: admin.Origin{URL: "https://dynamodb.eu-west-1.amazonaws.com", Breaker: "closed", InFlight: 3, Requests: 1234}}
	s.counts = map[telemetry.Decision]uint64{telemetry.Hit: uint64(n * 20_000), telemetry.Miss: uint64(n * 400), telemetry.Write: uint64(n * 37)}
	s.streams = []admin.Stream{{Table: "users", Lag: new(0.21), Served: true}}
	site := &fakeService{name: "site", kind: "http", counts: map[telemetry.Decision]uint64{telemetry.Hit: uint64(n * 10), telemetry.HitStale: 5}, origin: admin.Origin{URL: "http://10.0.0.1:3000", Breaker: "open"}}
	site.ready = errors.New("the origin's breaker is open")
	o := admin.Overview{Version: "0.1.0", Started: started, Now: started.Add(time.Hour + time.Duration(n)*2*time.Second)}
	o.Services = []admin.Mounted{
		{Service: s, Listen: "127.0.0.1:8000", Accepting: true, Connections: 17,
			Times: func() (telemetry.Snapshot, telemetry.Snapshot) {
				return histogram(n*20_000, 80*time.Microsecond), histogram(n*437, 9*time.Millisecond)
			},
			Tables: func() (all []admin.Table) {
				for i, name := range tables {
					all = append(all, admin.NewTable(name, map[telemetry.Decision]uint64{telemetry.Hit: uint64(n * 1000 / (i + 1)), telemetry.Miss: uint64(n * 20), telemetry.HitNegative: 7},
						uint64(n*1_000_000/(i+1)), histogram(n*1000/(i+1), time.Duration(i+1)*100*time.Microsecond), histogram(n*20, time.Duration(i+1)*4*time.Millisecond)))
				}
				return all
			}},
		{Service: site, Listen: "127.0.0.1:8088", Accepting: true, Connections: 2},
	}
	j := o.JSON()
	j.AddHistograms()
	return &j
}

// inCluster adds the cluster as node sees it.
func inCluster(j *admin.ReportJSON, node string) *admin.ReportJSON {
	j.Cluster = &admin.ClusterStatus{Name: "shop", Node: node, State: admin.NodeServing, Members: []admin.ClusterMember{
		{Node: "a", State: admin.NodeServing}, {Node: "b", State: admin.NodeServing}, {Node: "c", Address: "10.0.0.3:7400", State: admin.NodeSuspended},
	}, Away: []admin.AwayNode{{Node: "d", Reason: "stopped"}}}
	return j
}

// fakeService is a service with fixed figures.
type fakeService struct {
	admin.Service
	name, kind string
	origin     admin.Origin
	counts     map[telemetry.Decision]uint64
	streams    []admin.Stream
	ready      error
}

func (s *fakeService) Name() string { return s.name }
func (s *fakeService) Ready() error { return s.ready }
func (s *fakeService) Report() admin.Report {
	r := admin.Report{Type: s.kind, Origin: s.origin, Decisions: s.counts, Streams: s.streams,
		Cache: admin.Usage{Entries: 123_456, Bytes: 300 << 20, Capacity: 512 << 20, Evictions: 12, Shared: true}}
	if r.Type == "" {
		r.Type = "dynamodb"
	}
	return r
}

// terminal is a model with the sources of a test.
type terminal struct {
	*testing.T
	*model
	sources []*process
}

// newTerminal returns a terminal after the first poll of its sources.
func newTerminal(t *testing.T, w, h int, sources ...*process) *terminal {
	var all []Source
	for _, s := range sources {
		all = append(all, s)
	}
	term := &terminal{t, newModel(t.Context(), all, 2*time.Second), sources}
	term.send(tea.WindowSizeMsg{Width: w, Height: h})
	term.poll()
	return term
}

func (t *terminal) send(msg tea.Msg) tea.Cmd {
	_, cmd := t.Update(msg)
	return cmd
}

// poll delivers the present reports and keys of all sources.
func (t *terminal) poll() {
	for i := range t.sources {
		t.send(t.model.poll(i)())
	}
}

// press presses keys. A name of several letters is a key, other text is typed.
func (t *terminal) press(keys ...string) (cmd tea.Cmd) {
	named := map[string]tea.Key{"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "down": {Code: tea.KeyDown}, "up": {Code: tea.KeyUp},
		"tab": {Code: tea.KeyTab}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome}, "pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl}}
	for _, text := range keys {
		if key, ok := named[text]; ok {
			cmd = t.send(tea.KeyPressMsg(key))
			continue
		}
		for _, r := range text {
			cmd = t.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return cmd
}

// screen returns the screen as text, after a check that nothing is wrapped.
func (t *terminal) screen() string {
	t.Helper()
	lines := strings.Split(t.View().Content, "\n")
	if len(lines) != t.height {
		t.Errorf("%d lines of %d", len(lines), t.height)
	}
	for i, line := range lines {
		if n := ansi.StringWidthWc(line); n != t.width {
			t.Errorf("line %d has %d columns of %d: %q", i, n, t.width, line)
		}
		lines[i] = strings.TrimRight(ansi.Strip(line), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// golden compares the screen with a file.
func (t *terminal) golden(name string) {
	t.Helper()
	file := fmt.Sprintf("testdata/%s.txt", name)
	got := t.screen()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// has checks that the screen has texts.
func (t *terminal) has(texts ...string) {
	t.Helper()
	screen := t.screen()
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			t.Errorf("the screen does not have %q:\n%s", text, screen)
		}
	}
}
