package top

import (
	"cmp"
	"slices"
	"strconv"
)

// column is a column of a grid.
type column struct {
	title string
	width int    // of its texts
	rest  bool   // takes the rest of the line too
	left  bool   // aligned to the left
	rank  int    // columns with greater ranks are left out first; 0: never
	key   string // title among orders, if it differs
}

// grid is a table on the screen. Its first column takes the place that the others leave.
type grid struct {
	columns []column
	rows    [][]string // cells
	alarms  []bool     // rows that need attention, by index; may be shorter
	marked  int        // index of the selected row; -1 for none
	sorted  string     // title among orders of the column that rows are sorted by
	up      bool       // in reverse
}

const (
	minName = 12 // columns of the first column
	maxName = 60
	marker  = 2 // columns before the first one
)

// names returns the width that the first column needs, with its title.
func (g *grid) names(title string) int {
	longest := width(title)
	for _, row := range g.rows {
		longest = max(longest, width(row[0]))
	}
	return min(longest, maxName)
}

// fit returns the columns that a window has place for, with the width of the first one. Columns of
// one rank are left out together.
func (g *grid) fit(w, want int) (columns []int, first int) {
	for i := range g.columns {
		columns = append(columns, i)
	}
	for {
		rest, worst := w-marker, 0
		for _, i := range columns[1:] {
			rest -= 1 + max(g.columns[i].width, width(g.columns[i].title))
			worst = max(worst, g.rank(i))
		}
		if rest >= max(minName, min(want, 24)) || worst == 0 {
			return columns, max(minName, min(rest, want))
		}
		columns = slices.DeleteFunc(columns, func(i int) bool { return g.rank(i) == worst })
	}
}

// rank returns the rank of a column; 0 for the one that rows are sorted by.
func (g *grid) rank(i int) int {
	if g.sorts(i) {
		return 0
	}
	return g.columns[i].rank
}

// lines returns the heading and the rows, of which at most n are visible: the selected one is.
func (g *grid) lines(w, n int) []string {
	from := max(0, min(g.marked-n+1, len(g.rows)-n))
	to := min(len(g.rows), from+n)
	title := g.columns[0].title
	if to-from < len(g.rows) {
		title += " (" + strconv.Itoa(from+1) + "-" + strconv.Itoa(to) + " of " + strconv.Itoa(len(g.rows)) + ")"
	}
	columns, first := g.fit(w, g.names(title))
	heading := make([]string, len(g.columns))
	for i, c := range g.columns {
		heading[i] = c.title
	}
	heading[0] = title
	lines := []string{bold.on(g.line(columns, first, w, "  ", heading, true))}
	for i := from; i < to; i++ {
		mark := "  "
		if i == g.marked {
			mark = "> "
		}
		line := g.line(columns, first, w, mark, g.rows[i], false)
		switch {
		case i == g.marked:
			line = reverse.on(line)
		case i < len(g.alarms) && g.alarms[i]:
			line = alarm.on(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// line returns one line of w columns.
func (g *grid) line(columns []int, first, w int, mark string, cells []string, heading bool) string {
	line := mark
	for at, i := range columns {
		c := g.columns[i]
		text, n := cells[i], max(c.width, width(c.title))
		if at == 0 {
			n = first
		} else {
			line += " "
		}
		if c.rest {
			n = w - width(line)
		}
		if heading && g.sorts(i) {
			text = sortMark(text, g.up)
		}
		if at == 0 || c.left || c.rest {
			line += left(text, n)
		} else {
			line += right(text, n)
		}
	}
	return left(line, w)
}

// sorts reports whether the rows are sorted by a column.
func (g *grid) sorts(i int) bool {
	return g.sorted != "" && cmp.Or(g.columns[i].key, g.columns[i].title) == g.sorted
}

// sortMark returns a heading with a mark for the direction.
func sortMark(title string, up bool) string {
	if up {
		return "^" + title
	}
	return "v" + title
}
