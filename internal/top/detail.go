package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wide is the width from which on the panes of a detail are in two columns.
const wide = 110

// pane is a part of a detail: a function of the width that it has.
type pane func(w int) []string

// detail returns the lines about a service or a table.
func detail(s *state, w int) []string {
	title, panes := "", []pane(nil)
	if t := s.table(s.detail); t != nil {
		title, panes = fmt.Sprintf("table %s of service %s", shown(t.name), shown(t.service)), tablePanes(t)
	} else if o := s.service(s.detail); s.detail.kind == serviceRow && o != nil {
		title, panes = fmt.Sprintf("service %s of type %s", shown(o.name), o.kind), servicePanes(o)
	} else {
		return []string{left(shown(s.detail.service+" "+s.detail.name)+" has no figures now.", w)}
	}
	panes = append(panes, func(w int) []string { return keyLines(s.keys, w) })
	lines := []string{bold.on(left(title, w)), strings.Repeat(" ", w)}
	if w < wide {
		return append(lines, stacked(panes, w)...)
	}
	half := w/2 - 1
	return append(lines, beside(stacked(panes[:1], half), stacked(panes[1:], w-half-2), half, w)...)
}

// tablePanes returns the parts of the detail of a table. The first one is on the left in a wide
// window, the others are on the right.
func tablePanes(t *table) []pane {
	return []pane{
		func(w int) []string { return decisionLines(&t.figures, w) },
		func(w int) []string { return timeLines(&t.figures, w) },
		func(w int) []string { return []string{left(sentText(&t.figures), w)} },
		func(w int) []string { return streamLines(t, w) },
	}
}

// servicePanes returns the parts of the detail of a service.
func servicePanes(o *service) []pane {
	return []pane{
		func(w int) []string { return decisionLines(&o.figures, w) },
		func(w int) []string { return timeLines(&o.figures, w) },
		func(w int) []string { return originLines(o, w) },
	}
}

// stacked returns panes one below the other.
func stacked(panes []pane, w int) (lines []string) {
	for _, p := range panes {
		part := p(w)
		if len(lines) > 0 && len(part) > 0 {
			lines = append(lines, strings.Repeat(" ", w))
		}
		lines = append(lines, part...)
	}
	return lines
}

// beside returns two lists of lines beside each other: one of w columns, and the other in the rest of
// all columns.
func beside(a, b []string, w, all int) []string {
	lines := make([]string, max(len(a), len(b)))
	for i := range lines {
		one, other := strings.Repeat(" ", w), strings.Repeat(" ", all-w-2)
		if i < len(a) {
			one = a[i]
		}
		if i < len(b) {
			other = b[i]
		}
		lines[i] = one + "  " + other
	}
	return lines
}

// decisionLines returns the requests by how they were answered, the most frequent first.
func decisionLines(f *figures, w int) []string {
	g := &grid{marked: -1, columns: []column{
		{title: "DECISION"}, {title: "PER SECOND", width: 10}, {title: "SHARE", width: 6}, {title: "SINCE START", width: 11}, {title: "SHARE", width: 6},
	}}
	names := slices.SortedFunc(maps.Keys(f.total.decisions), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.recent.decisions[b], f.recent.decisions[a]), cmp.Compare(f.total.decisions[b], f.total.decisions[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		rate := "-"
		if f.timed {
			rate = number(f.rates[name])
		}
		g.rows = append(g.rows, []string{name, rate, part(&f.recent, name), count(f.total.decisions[name]), part(&f.total, name)})
	}
	return g.lines(w, len(g.rows))
}

// part returns the share of a decision.
func part(c *counts, name string) string {
	if c.requests() == 0 {
		return "-"
	}
	return percent(float64(c.decisions[name])/float64(c.requests())) + "%"
}

// timeLines returns the times of hits and at the origin.
func timeLines(f *figures, w int) []string {
	g := &grid{marked: -1, columns: []column{{title: "TIMES"}, {title: "P50", width: 7}, {title: "P99", width: 7}, {title: "START P50", width: 9}, {title: "P99", width: 7}}}
	g.rows = [][]string{
		{"hits", quantile(&f.recent.hits, 0.5), quantile(&f.recent.hits, 0.99), quantile(&f.total.hits, 0.5), quantile(&f.total.hits, 0.99)},
		{"origin", quantile(&f.recent.origin, 0.5), quantile(&f.recent.origin, 0.99), quantile(&f.total.origin, 0.5), quantile(&f.total.origin, 0.99)},
	}
	return g.lines(w, len(g.rows))
}

// sentText returns the bytes of answers.
func sentText(f *figures) string {
	total := "sent " + bytes(float64(f.total.sent)) + " since the start"
	if !f.timed {
		return total
	}
	return total + ", " + bytes(f.sent) + "/s"
}

func streamLines(t *table, w int) []string {
	st := t.stream
	if st == nil {
		return nil
	}
	reader := "this process"
	if st.Reader != "" {
		reader = "node " + shown(st.Reader)
	}
	served := "its answers are cached"
	if !st.Served {
		served = "its answers are not cached now"
	}
	lines := []string{left(fmt.Sprintf("stream: lag %s, read by %s,", seconds(t.lag), reader), w), left("  "+served, w)}
	if st.Trouble != "" {
		lines = append(lines, alarm.on(left(shown(st.Trouble), w)))
	}
	return lines
}

func originLines(o *service, w int) []string {
	memory := ""
	if o.cache.Shared {
		memory = ", shared with other services"
	}
	return []string{
		left("origin "+shown(o.origin.URL), w),
		left(fmt.Sprintf("  breaker %s, %d in flight, %d queued, %s requests, %s retries", orDash(o.breaker), o.origin.InFlight, o.origin.Queued,
			count(o.origin.Requests), count(o.origin.Retries)), w),
		left("memory"+memory, w),
		left(fmt.Sprintf("  %s entries, %s of %s, %s evictions", count(uint64(o.cache.Entries)), bytes(float64(o.cache.Bytes)), bytes(float64(o.cache.Capacity)),
			count(o.cache.Evictions)), w),
		left(sentText(&o.figures)+" about tables", w),
	}
}

// explanation returns the lines of an explanation. Long texts take several lines.
func explanation(e *explained, w int) []string {
	const whatWidth = 14
	var lines []string
	for i, line := range wrap(shown(e.line)+": "+e.Decision, w) {
		if line = left(line, w); i == 0 {
			line = bold.on(line)
		}
		lines = append(lines, line)
	}
	lines = append(lines, strings.Repeat(" ", w))
	for _, step := range e.Steps {
		texts := wrap(shown(step.Value), w-whatWidth-2)
		if step.Note != "" {
			texts = append(texts, wrap(shown(step.Note), w-whatWidth-2)...)
		}
		for i, text := range texts {
			name := ""
			if i == 0 {
				name = shown(step.What)
			}
			lines = append(lines, left("  "+left(name, whatWidth)+text, w))
		}
	}
	return lines
}

// helpLines returns the keys and the meaning of columns.
func helpLines(w int) []string {
	lines := []string{bold.on(left("Keys", w))}
	for _, key := range [][2]string{
		{"up, down, j, k", "select a row; also page up and down, home and end"},
		{"tab", "select the first row of the services, tables or nodes"},
		{"enter", "open a service or a table; show the figures of one node alone"},
		{"esc", "back"},
		{"s", "sort the tables by the next column; v is the greatest first"},
		{"S", "reverse the order"},
		{"e", "explain how a request would be answered now"},
		{"p", "pause, and continue"},
		{"r", "refresh at once"},
		{"q, ctrl-c", "quit"},
	} {
		lines = append(lines, left("  "+left(key[0], 16)+key[1], w))
	}
	lines = append(lines, strings.Repeat(" ", w))
	for _, text := range []string{
		"Figures are of the time between two polls, and of all nodes that answer. HIT% is the share of cacheable reads that were answered from the cache; " +
			"HIT P50 and P99 are times of requests that were served from memory, ORIG P50 and P99 times that requests waited for the origin. " +
			"LAG is the time since the stream of a table was known to be read to its end.",
	} {
		for _, line := range wrap(text, w) {
			lines = append(lines, left(line, w))
		}
	}
	return lines
}
