package top

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kasoku/kasoku/internal/admin"
)

// TestPolls checks when sources are polled: each for itself, not while paused, and at once on request.
func TestPolls(t *testing.T) {
	a, b := &process{address: "a", report: reportAfter(1)}, &process{address: "b", report: reportAfter(1)}
	m := newModel(t.Context(), []Source{a, b}, time.Second)
	send := func(msg tea.Msg) tea.Cmd {
		t.Helper()
		_, cmd := m.Update(msg)
		return cmd
	}
	f := func(what string, cmd tea.Cmd, polled bool) {
		t.Helper()
		if (cmd != nil) != polled {
			t.Errorf("%s: polled is %v, want %v", what, cmd != nil, polled)
		}
	}
	refresh := tea.KeyPressMsg{Code: 'r', Text: "r"}
	pause := tea.KeyPressMsg{Code: 'p', Text: "p"}
	f("start", m.Init(), true)
	f("a refresh while all are polled", send(refresh), false)
	send(reported{source: 0, report: a.report})
	f("the time of the next poll", send(due{0, 1}), true)
	f("the same again", send(due{0, 1}), false)
	send(reported{source: 0, report: a.report})
	f("a refresh", send(refresh), true)
	f("a time before the refresh", send(due{0, 2}), false)
	f("a pause", send(pause), false)
	send(reported{source: 0, report: a.report})
	f("a time while paused", send(due{0, 3}), false)
	f("a refresh while paused", send(refresh), true)
	send(reported{source: 0, report: a.report})
	f("the end of the pause", send(pause), true)
	if msg, ok := m.poll(1)().(reported); !ok || msg.source != 1 || msg.report != b.report {
		t.Errorf("polled %+v", msg)
	}
}

// TestInterval checks that figures are of the time between two reports of the same process, and
// that counters may begin again.
func TestInterval(t *testing.T) {
	a := &process{address: "a", report: reportAfter(3, "users")}
	term := newTerminal(t, 80, 24, a)
	figures := func() *figures { return &term.state.sum.tables[0].figures }
	if f := figures(); f.timed || f.recent.requests() != 3067 {
		t.Errorf("first: %+v", f)
	}
	a.report = reportAfter(5, "users")
	term.poll()
	if f := figures(); !f.timed || f.rate != 2040/4. || f.recent.decisions["hit"] != 2000 || f.rates["miss"] != 10 || f.recent.hits.Count != 2000 {
		t.Errorf("interval: %+v", f)
	}
	a.report = reportAfter(6, "users")
	a.report.Services[0].Tables[0].Decisions["hit"] = 10
	term.poll()
	if f := figures(); f.recent.decisions["hit"] != 10 {
		t.Errorf("after the counter has begun again: %+v", f)
	}
	a.report = reportAfter(7, "users")
	a.report.Started = started.Add(time.Minute)
	term.poll()
	if f := figures(); f.timed {
		t.Errorf("another process: %+v", f)
	}
	a.err = errors.New("gone\x1b[2J")
	term.poll()
	term.has(`a: no answer: gone\x1b[2J`, "waiting for an answer")
	a.err, a.report = nil, reportAfter(8, "users", "late")
	a.report.BucketSeconds[0] = 1
	term.poll()
	if f := figures(); f.timed || f.recent.hits.Count != 0 || f.recent.requests() == 0 {
		t.Errorf("other buckets: %+v", f)
	}
}

// TestNodes checks the figures of several nodes together, of one alone, and that a node without an
// answer changes nothing else.
func TestNodes(t *testing.T) {
	a, b := &process{address: "a", report: reportAfter(3, "users")}, &process{address: "b", report: reportAfter(3, "users", "b-only")}
	away := &process{address: "c", err: errors.New("refused")}
	term := newTerminal(t, 100, 30, a, b, away)
	a.report, b.report = reportAfter(4, "users"), reportAfter(4, "users", "b-only")
	term.poll()
	term.has("nodes 2/3", "20447 requests/s", "no answer: refused", "c: no answer: refused")
	for i, want := range []float64{10223.5, 10223.5, 0} {
		if got := term.state.sum.nodes[i].rate; got != want {
			t.Errorf("node %d has %v requests per second, want %v", i, got, want)
		}
	}
	if all := term.state.sum.tables; len(all) != 2 || all[0].rate != 1020 {
		t.Errorf("got the tables %+v", all)
	}
	for _, r := range []struct{ node, want string }{{"a", "only a"}, {"b", "only b"}} {
		term.state.selected, term.state.chosen = row{memberRow, "", r.node}, true
		term.press("enter")
		term.has(r.want, "10224 requests/s", "nodes 2/3")
		term.press("esc")
		term.has("20447 requests/s")
	}
	term.state.selected = row{memberRow, "", "c"}
	term.press("enter")
	if term.state.only != "" {
		t.Error("a node without an answer is shown alone")
	}
}

// TestExplain checks the prompt, its answer and its error.
func TestExplain(t *testing.T) {
	a := &process{address: "a", report: reportAfter(3, "users\x1b[2J")}
	term := newTerminal(t, 80, 24, a)
	term.press("e")
	term.has("explain for orders: GetItem users[2J")
	term.press("esc", "tab", "down", "e")
	term.has("explain for site: /")
	if v := term.View(); v.Cursor == nil || v.Cursor.X != 19 || v.Cursor.Y != 23 {
		t.Errorf("the cursor is at %+v", v.Cursor)
	}
	term.press("carts", "backspace", " qp")
	term.send(tea.PasteMsg{Content: "?\x1b[2J\n"})
	term.has("explain for site: /cart qp?[2J")
	term.press("ctrl+w")
	term.send(term.press("7", "enter")())
	term.has("/cart 7: hit", "operation     GetItem", `a\x1b[2J`)
	term.press("esc")
	term.has("SERVICE")
	term.send(term.press("e", "ctrl+u", "x y", "enter")())
	term.has("x is no operation")
	term.press("esc")
	if got := strings.Join(a.asked, ", "); got != "site: /cart 7, site: x y" || strings.Contains(term.screen(), "x is no") {
		t.Errorf("asked %q", got)
	}
	a.err = errors.New("gone")
	term.poll()
	if term.press("e"); term.state.prompt != nil {
		t.Error("there is a prompt without a service")
	}
}

// TestQuit checks the keys that end the program, also from the prompt.
func TestQuit(t *testing.T) {
	term := newTerminal(t, 80, 24, &process{address: "a", report: reportAfter(3)})
	for _, keys := range [][]string{{"q"}, {"ctrl+c"}, {"e", "ctrl+c"}} {
		cmd := term.press(keys...)
		if cmd == nil {
			t.Errorf("%q does nothing", keys)
		} else if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%q does not quit", keys)
		}
	}
}

// TestPrint checks the plain text of several polls, and the error if no node answers.
func TestPrint(t *testing.T) {
	a, away := &process{address: "a", report: reportAfter(3, names...)}, &process{address: "c", err: errors.New("refused")}
	var out strings.Builder
	if err := Print(t.Context(), []Source{a, away}, time.Millisecond, &out, 80, 2); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "TABLE") != 2 || strings.ContainsAny(text, "\x1b\u009b") || strings.Contains(text, "quit") || !strings.Contains(text, "no answer: refused") {
		t.Errorf("got\n%s", text)
	}
	err := Print(t.Context(), []Source{away}, time.Millisecond, &out, 80, 1)
	if err == nil || err.Error() != "c: refused" {
		t.Errorf("got %v", err)
	}
}

// TestBreakers checks that the worst state of all nodes is shown.
func TestBreakers(t *testing.T) {
	a, b := &process{address: "a", report: reportAfter(1)}, &process{address: "b", report: reportAfter(1)}
	b.report.Services[0].Origin.Breaker = "half-open"
	b.report.Services[1].Origin = admin.Origin{}
	newTerminal(t, 100, 24, a, b).has("breakers: orders half-open, site open")
	a.report.Services = a.report.Services[:1]
	newTerminal(t, 100, 24, a).has("breakers closed")
}
