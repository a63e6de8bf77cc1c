package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The smallest window that has place for a screen.
const (
	minWidth  = 60
	minHeight = 10
)

const headLines = 3 // at the top of every screen

// screen returns h lines of w columns.
func screen(s *state, w, h int) []string {
	if w < minWidth || h < minHeight {
		lines := []string{left(fmt.Sprintf("The window is smaller than %dx%d.", minWidth, minHeight), w)}
		return filled(lines, w, h)
	}
	lines := head(s, w)
	body := h - headLines - 1
	switch s.page {
	case overviewPage:
		lines = append(lines, overview(s, w, body)...)
	case detailPage:
		lines = append(lines, scrolled(detail(s, w), s.scroll, body)...)
	case explainPage:
		lines = append(lines, scrolled(explanation(s.answer, w), s.scroll, body)...)
	case helpPage:
		lines = append(lines, scrolled(helpLines(w), s.scroll, body)...)
	}
	return append(filled(lines, w, h-1), foot(s, w))
}

// filled returns h lines of w columns that begin with the given ones.
func filled(lines []string, w, h int) []string {
	lines = lines[:min(len(lines), h)]
	for len(lines) < h {
		lines = append(lines, strings.Repeat(" ", w))
	}
	return lines
}

// scrolled returns at most n lines, from the given one on if there are more.
func scrolled(lines []string, from, n int) []string {
	from = max(0, min(from, len(lines)-n))
	return lines[from:min(len(lines), from+n)]
}

// head returns the lines at the top of every screen.
func head(s *state, w int) []string {
	sum := s.sum
	first := "kasoku"
	if sum.answered > 0 {
		first += " " + sum.version + "  up " + uptimeText(sum.uptime)
	}
	if len(sum.nodes) > 1 {
		first += fmt.Sprintf("  nodes %d/%d", sum.answered, len(sum.nodes))
	}
	if s.only != "" {
		first += "  only " + s.only
	}
	clock := "every " + s.interval.String()
	if sum.seconds > 0 {
		clock = fmt.Sprintf("last %.1fs", sum.seconds)
	} else if sum.answered > 0 {
		clock = "since the start"
	}
	if !sum.now.IsZero() {
		clock += "  " + sum.now.Format("15:04:05") + " UTC"
	}
	if s.paused {
		clock = "PAUSED  " + clock
	}
	second := "waiting for an answer"
	if sum.answered > 0 {
		second = fmt.Sprintf("%s requests/s  hit %s  p50 %s p99 %s  %s", sum.all.rateText(), strings.Replace(sum.all.recent.hitText()+"%", "-%", "-", 1),
			quantile(&sum.all.recent.hits, 0.5), quantile(&sum.all.recent.hits, 0.99), sum.breakers)
	}
	third := ""
	if len(sum.notices) > 0 {
		third = shown(sum.notices[0])
	}
	if more := len(sum.notices) - 1; more > 0 {
		tail := " (" + strconv.Itoa(more) + " more)"
		third = cut(third, w-width(tail)) + tail
	}
	lines := []string{bold.on(left(shown(first), w-width(clock)-1) + " " + clock), left(second, w), left(third, w)}
	if third != "" {
		lines[2] = alarm.on(lines[2])
	}
	return lines
}

// foot returns the last line: the keys, or the line that is being typed.
func foot(s *state, w int) string {
	switch {
	case s.plain:
		return strings.Repeat(" ", w)
	case s.prompt != nil:
		return left(s.prompt.line(w), w)
	case s.problem != "":
		return alarm.on(left(shown(s.problem), w))
	case s.page == overviewPage && s.only != "":
		return left("enter open  s/S sort  e explain  p pause  r refresh  esc all nodes  ? help  q quit", w)
	case s.page == overviewPage:
		return left("enter open  s/S sort  e explain  p pause  r refresh  ? help  q quit", w)
	case s.page == detailPage:
		return left("esc back  e explain  p pause  r refresh  ? help  q quit", w)
	}
	return left("esc back  j/k scroll  e explain  q quit", w)
}

// line returns the prompt. Of a line that is too long it shows the end.
func (p *prompt) line(w int) string {
	head := "explain for " + shown(p.service) + ": "
	text := p.text
	for width(head)+width(text) >= w && text != "" {
		_, text, _ = cutRune(text)
	}
	return head + text
}

func cutRune(text string) (first rune, rest string, ok bool) {
	for i, r := range text {
		if i > 0 {
			return first, text[i:], true
		}
		first, ok = r, true
	}
	return first, "", ok
}

// overview returns at most n lines about services, tables and nodes.
func overview(s *state, w, n int) []string {
	grids := []*grid{serviceGrid(s)}
	if len(s.sum.tables) > 0 {
		grids = append(grids, tableGrid(s))
	}
	if s.showsNodes() {
		grids = append(grids, nodeGrid(s))
	}
	wants := make([]int, len(grids))
	for i, g := range grids {
		wants[i] = len(g.rows)
	}
	var lines []string
	for i, rows := range share(n-2*len(grids)+1, wants) {
		if i > 0 {
			lines = append(lines, strings.Repeat(" ", w))
		}
		lines = append(lines, grids[i].lines(w, rows)...)
	}
	return lines
}

// share distributes n lines to grids: one each in turn, while they want more.
func share(n int, wants []int) []int {
	got := make([]int, len(wants))
	for given := true; given; {
		given = false
		for i := range wants {
			if n > 0 && got[i] < wants[i] {
				got[i]++
				n--
				given = true
			}
		}
	}
	return got
}

// timeColumns are the columns that all grids of the overview have after the first ones.
var timeColumns = []column{
	{title: "REQ/S", width: 7}, {title: "HIT%", width: 5}, {title: "HIT P50", width: 6}, {title: "P99", width: 6, key: "HIT P99"},
	{title: "ORIG P50", width: 6, rank: 4}, {title: "P99", width: 6, rank: 4, key: "ORIG P99"},
}

func timeCells(f *figures) []string {
	r := &f.recent
	return []string{
		f.rateText(), r.hitText(), quantile(&r.hits, 0.5), quantile(&r.hits, 0.99), quantile(&r.origin, 0.5), quantile(&r.origin, 0.99),
	}
}

func serviceGrid(s *state) *grid {
	g := &grid{marked: s.index(serviceRow), columns: slices.Concat([]column{{title: "SERVICE"}, {title: "TYPE", width: 9, left: true, rank: 9}}, timeColumns,
		[]column{{title: "CONNS", width: 5, rank: 8}, {title: "BREAKER", width: 9, left: true}})}
	for i := range s.sum.services {
		o := &s.sum.services[i]
		g.rows = append(g.rows, slices.Concat([]string{shown(o.name), o.kind}, timeCells(&o.figures), []string{strconv.Itoa(o.connections), orDash(o.breaker)}))
		g.alarms = append(g.alarms, o.breaker == "open")
	}
	return g
}

func tableGrid(s *state) *grid {
	rank := 7
	if len(s.sum.services) < 2 {
		rank = 10
	}
	g := &grid{marked: s.index(tableRow), sorted: orders[s.by].title, up: s.reverse,
		columns: slices.Concat([]column{{title: "TABLE"}, {title: "SERVICE", width: 9, left: true, rank: rank}}, timeColumns,
			[]column{{title: "SENT/S", width: 9, rank: 8}, {title: "LAG", width: 6}})}
	for i := range s.sum.tables {
		t := &s.sum.tables[i]
		sent := "-"
		if t.timed {
			sent = bytes(t.figures.sent)
		}
		g.rows = append(g.rows, slices.Concat([]string{shown(t.name), shown(t.service)}, timeCells(&t.figures), []string{sent, seconds(t.lag)}))
	}
	return g
}

func nodeGrid(s *state) *grid {
	g := &grid{marked: s.index(memberRow), columns: slices.Concat([]column{{title: "NODE"}}, timeColumns,
		[]column{{title: "LAG", width: 6}, {title: "UP", width: 6, rank: 9}, {title: "STATE", width: 24, rest: true}})}
	for i := range s.sum.nodes {
		n := &s.sum.nodes[i]
		cells := slices.Repeat([]string{"-"}, len(timeColumns)+2)
		if n.answered {
			cells = append(timeCells(&n.figures), seconds(n.lag), uptimeText(n.uptime.Round(time.Second)))
		}
		g.rows = append(g.rows, slices.Concat([]string{shown(n.name)}, cells, []string{shown(n.state)}))
		g.alarms = append(g.alarms, n.polled && !n.answered)
	}
	return g
}
