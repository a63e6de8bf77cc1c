package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kasoku/kasoku/internal/admin"
)

var names = []string{"users", "sessions", "a-table-with-a-name-that-is-much-longer-than-any-column-of-the-screen", "bad\x1b[2J\x9b\u202e", "加速加速加速加速加速加速加速加速加速加速"}

// TestScreens compares all screens with testdata, in a window of 80x24 and a larger one.
func TestScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		w, h := size[0], size[1]
		name := func(s string) string { return fmt.Sprintf("%s_%dx%d", s, w, h) }
		one := &process{address: "http://127.0.0.1:9090", report: reportAfter(5, names...)}
		term := newTerminal(t, w, h, one)
		term.golden(name("first"))
		one.report = reportAfter(6, names...)
		term.poll()
		term.golden(name("overview"))
		one.keys = map[string]*admin.TableKeys{"orders users": hotKeys(1), "site ": hotKeys(2)}
		term.press("enter")
		one.report = reportAfter(7, names...)
		term.poll()
		term.golden(name("table"))
		term.press("esc", "tab", "enter")
		term.golden(name("service"))
		term.press("?")
		term.golden(name("help"))
		term.press("esc", "esc")
		term.send(term.press("e", "ctrl+u", "GetItem users id=a", "enter")())
		term.golden(name("explain"))

		b := &process{address: "http://10.0.0.2:9090", report: inCluster(reportAfter(3, "users"), "b")}
		away := &process{address: "http://10.0.0.9:9090", err: errors.New("no answer from the admin API: connection refused")}
		a := &process{address: "http://10.0.0.1:9090", report: inCluster(reportAfter(3, "users", "sessions"), "a")}
		term = newTerminal(t, w, h, b, away, a)
		a.report, b.report = inCluster(reportAfter(4, "users", "sessions"), "a"), inCluster(reportAfter(4, "users"), "b")
		term.poll()
		term.golden(name("cluster"))
	}
}

// TestLayout checks that every screen has exactly the size of its window.
func TestLayout(t *testing.T) {
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("table-%03d", i))
	}
	a := &process{address: "http://10.0.0.1:9090", report: inCluster(reportAfter(3, many...), "a")}
	term := newTerminal(t, 80, 24, a)
	a.report = inCluster(reportAfter(4, many...), "a")
	term.poll()
	term.send(term.press("e", "enter")())
	term.press("esc")
	for _, size := range [][2]int{{1, 1}, {20, 5}, {60, 10}, {61, 11}, {79, 23}, {100, 24}, {133, 50}, {400, 100}} {
		term.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for _, keys := range [][]string{{"home"}, {"end"}, {"enter", "esc"}, {"?"}, {"esc"}, {"e"}, {strings.Repeat("長い", 300)}, {"esc"}, {"home", "down", "down", "enter"}, {"end", "esc"}, {"p"}, {"p"}} {
			term.press(keys...)
			term.screen()
		}
	}
	if term.state.page != overviewPage {
		t.Errorf("page %d", term.state.page)
	}
}

// TestSelection checks that the selected row is visible, and that it remains selected when rows
// change their order.
func TestSelection(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("table-%02d", i))
	}
	a := &process{address: "http://10.0.0.1:9090", report: reportAfter(3, many...)}
	term := newTerminal(t, 80, 24, a)
	term.has("> table-00", "(1-", "of 40)")
	term.press("end")
	term.has("> table-39", "-40 of 40)")
	term.press("up", "k")
	term.has("> table-37")
	a.report = reportAfter(4, append([]string{"new"}, many...)...)
	term.poll()
	term.has("> table-37")
	a.report = reportAfter(5, "new")
	term.poll()
	term.has("> new")
	term.state.chosen, term.state.selected = false, row{serviceRow, "orders", ""}
	term.poll()
	term.has("> new") // until the user selects something, the first table is selected
	term.press("tab")
	term.poll()
	term.has("> orders")
	term.press("j")
	term.has("> site")
}

// TestSort checks each column that tables can be sorted by, and the mark in its heading.
func TestSort(t *testing.T) {
	a := &process{address: "http://10.0.0.1:9090", report: reportAfter(3, "users", "b", "a")}
	term := newTerminal(t, 80, 24, a)
	a.report = reportAfter(5, "users", "b", "a")
	term.poll()
	f := func(title string, want ...string) {
		t.Helper()
		var got []string
		for i := range term.state.sum.tables {
			got = append(got, term.state.sum.tables[i].name)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("by %s: got %q, want %q", title, got, want)
		}
		term.has(title)
	}
	f("vREQ/S", "users", "b", "a")
	term.press("S")
	f("^REQ/S", "a", "b", "users")
	for _, c := range []struct {
		title string
		want  []string
	}{
		{"vHIT%", []string{"users", "b", "a"}}, {"vP99", []string{"a", "b", "users"}}, {"vP99", []string{"a", "b", "users"}}, {"vSENT/S", []string{"users", "b", "a"}},
		{"vLAG", []string{"users", "a", "b"}}, {"vTABLE", []string{"a", "b", "users"}}, {"vREQ/S", []string{"users", "b", "a"}},
	} {
		term.press("s")
		f(c.title, c.want...)
	}
}

// TestText checks texts of numbers, times and sizes.
func TestText(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(number(0), "0")
	f(number(0.25), "0.2")
	f(number(999_999), "999999")
	f(number(1_234_567), "1.23M")
	f(number(5e9), "5.00G")
	f(duration(31_240), "31.2us")
	f(duration(61*time.Second), "1m1s")
	f(bytes(1023), "1023B")
	f(bytes(1.5*(1<<30)), "1.5GiB")
	f(uptimeText(49*time.Hour), "2d1h")
	f(uptimeText(61*time.Minute), "1h1m")
	f(uptimeText(59*time.Second), "59s")
	f(cut("加速加速", 5), "加速…")
	f(left("加", 3), "加 ")
	f(right("abc", 2), "a…")
	f(shown("a\x1b[2J"), `"a\x1b[2J"`)
	f(shown("加 速"), "加 速")
	f(shown("\xff"), `"\xff"`)
}
