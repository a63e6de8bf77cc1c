//go:build unix

package top

import (
	"fmt"
	"html"
	"strings"

	"github.com/hinshun/vt10x"
)

// The size of a cell of the picture, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 14
)

// Modes of a cell of vt10x.
const (
	reversed = 1 << 0
	bold     = 1 << 2
)

// picture returns the screen as SVG: a text element for each run of cells that look the same.
func (s *screen) picture() string {
	w, h := s.vt.Size()
	var b strings.Builder
	width, height := 2*margin+int(cellWidth*float64(w)), 2*margin+cellHeight*h
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#161b22"/>`+"\n", width, height)
	s.vt.Lock()
	defer s.vt.Unlock()
	for y := range h {
		for x := 0; x < w; {
			from, cell := x, s.vt.Cell(x, y)
			var text strings.Builder
			for ; x < w && alike(s.vt.Cell(x, y), cell); x++ {
				text.WriteRune(s.vt.Cell(x, y).Char)
			}
			b.WriteString(run(from, y, text.String(), cell))
		}
	}
	return b.String() + "</svg>\n"
}

func alike(a, b vt10x.Glyph) bool { return a.Mode == b.Mode && a.FG == b.FG && a.BG == b.BG }

// run returns the elements of cells that look the same.
func run(x, y int, text string, cell vt10x.Glyph) string {
	left, columns := margin+cellWidth*float64(x), len([]rune(text))
	color, out := "#c9d1d9", ""
	if cell.Mode&reversed != 0 {
		color = "#161b22"
		out = fmt.Sprintf(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#c9d1d9"/>`+"\n", left, margin+cellHeight*y, cellWidth*float64(columns), cellHeight)
	} else if cell.Mode&bold != 0 && cell.FG != vt10x.DefaultFG {
		color = "#ff7b72"
	}
	if strings.TrimSpace(text) == "" {
		return out
	}
	weight := ""
	if cell.Mode&bold != 0 {
		weight = ` font-weight="bold"`
	}
	return out + fmt.Sprintf(`<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s xml:space="preserve">%s</text>`+"\n",
		left, margin+cellHeight*y+14, cellWidth*float64(columns), color, weight, html.EscapeString(text))
}
