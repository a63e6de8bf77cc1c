package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progressBar shows on a terminal how far a command has got. On anything else it shows nothing.
type progressBar struct {
	out   io.Writer // nil if it is no terminal
	start time.Time
	last  time.Time
	shown int // length of the line that is shown
}

// newProgressBar returns a bar on standard error.
func newProgressBar(env *Environment) *progressBar {
	b := &progressBar{start: time.Now()}
	if f, ok := env.Stderr.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.out = f
		}
	}
	return b
}

const (
	barWidth    = 30
	barInterval = 100 * time.Millisecond
)

// show shows the number of entries that are done, and the part of all, from 0 to 1; 0 if that is
// unknown.
func (b *progressBar) show(done uint64, part float64) {
	b.draw(barText(done, part, time.Since(b.start)))
}

// showText shows a text about the work that is done, in place of the number of entries.
func (b *progressBar) showText(text string, part float64) { b.draw(framed(text, part)) }

// draw shows a line, unless the last one is too recent.
func (b *progressBar) draw(line string) {
	if b.out == nil || time.Since(b.last) < barInterval {
		return
	}
	b.last = time.Now()
	fmt.Fprintf(b.out, "\r%-*s", b.shown, line)
	b.shown = len(line)
}

// clear removes the bar, so that something else can be printed.
func (b *progressBar) clear() {
	if b.out == nil || b.shown == 0 {
		return
	}
	fmt.Fprintf(b.out, "\r%*s\r", b.shown, "")
	b.shown, b.last = 0, time.Time{}
}

// barText returns the bar after a time.
func barText(done uint64, part float64, after time.Duration) string {
	rate := float64(done) / max(after.Seconds(), 0.001)
	return framed(fmt.Sprintf("%d entries, %.0f/s", done, rate), part)
}

// framed returns a text with the bar before it.
func framed(text string, part float64) string {
	if part <= 0 {
		return text
	}
	n := int(min(part, 1) * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%% %s", strings.Repeat("#", n), strings.Repeat(" ", barWidth-n), 100*min(part, 1), text)
}
