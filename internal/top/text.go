package top

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// shown returns text of a client without effect on a terminal: in quotes if it has characters that
// are not printable.
func shown(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// width returns the number of columns of text.
func width(text string) int { return ansi.StringWidthWc(text) }

// cut returns text in at most n columns, with an ellipsis in place of its end.
func cut(text string, n int) string {
	if n <= 0 {
		return ""
	}
	return ansi.TruncateWc(text, n, "…")
}

// left returns text in exactly n columns, followed by spaces.
func left(text string, n int) string {
	text = cut(text, n)
	return text + strings.Repeat(" ", max(0, n-width(text)))
}

// right returns text in exactly n columns, after spaces.
func right(text string, n int) string {
	text = cut(text, n)
	return strings.Repeat(" ", max(0, n-width(text))) + text
}

// wrap returns text as lines of at most n columns, broken between words where that is possible.
func wrap(text string, n int) []string {
	return strings.Split(ansi.WrapWc(text, max(n, 1), ""), "\n")
}

// style is an escape sequence that changes how text looks.
type style string

const (
	bold    style = "\x1b[1m"
	reverse style = "\x1b[7m"
	alarm   style = "\x1b[1;31m"
	faint   style = "\x1b[2m"
)

// on returns text in the style.
func (s style) on(text string) string { return string(s) + text + "\x1b[m" }

// number returns a count or a rate in at most seven columns.
func number(f float64) string {
	switch {
	case f >= 1e9:
		return strconv.FormatFloat(f/1e9, 'f', 2, 64) + "G"
	case f >= 1e6:
		return strconv.FormatFloat(f/1e6, 'f', 2, 64) + "M"
	case f >= 10 || f == 0:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// count returns a count in at most seven columns.
func count(n uint64) string {
	if n < 1e6 {
		return strconv.FormatUint(n, 10)
	}
	return number(float64(n))
}

// rateText returns the rate of figures.
func (f *figures) rateText() string {
	if !f.timed {
		return "-"
	}
	return number(f.rate)
}

// hitText returns the hit ratio in percent.
func (c *counts) hitText() string {
	r, ok := c.hitRatio()
	if !ok {
		return "-"
	}
	return percent(r)
}

func percent(part float64) string { return strconv.FormatFloat(part*100, 'f', 1, 64) }

// quantile returns a quantile of a histogram, for example 1.23ms; "-" without values.
func quantile(s *telemetry.Snapshot, p float64) string {
	d, ok := s.Quantile(p)
	if !ok {
		return "-"
	}
	return duration(d)
}

// slow returns the 99th percentile, or -1.
func slow(s *telemetry.Snapshot) time.Duration {
	d, ok := s.Quantile(0.99)
	if !ok {
		return -1
	}
	return d
}

// duration returns d with three digits, for example 31.2us.
func duration(d time.Duration) string {
	unit := time.Duration(1)
	for unit*1000 <= d {
		unit *= 10
	}
	return strings.Replace(d.Round(unit).String(), "µ", "u", 1)
}

// uptimeText returns a long time in its two greatest units, for example 3d4h.
func uptimeText(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d" + strconv.Itoa(int(d%(24*time.Hour)/time.Hour)) + "h"
	case d >= time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h" + strconv.Itoa(int(d%time.Hour/time.Minute)) + "m"
	}
	return d.Round(time.Second).String()
}

// bytes returns a number of bytes, for example 1.2MiB.
func bytes(n float64) string {
	for _, u := range []struct {
		unit string
		size float64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return strconv.FormatFloat(n/u.size, 'f', 1, 64) + u.unit
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + "B"
}

// seconds returns a number of seconds, which may be unknown.
func seconds(f *float64) string {
	if f == nil {
		return "-"
	}
	return strconv.FormatFloat(*f, 'f', 1, 64) + "s"
}

// orDash returns text, or "-" for none.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
