package config

import (
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// Excerpt returns the line of the file with the mistake, and a caret under its column. It is
// empty for a mistake without a place.
func (p Problem) Excerpt() string {
	if p.Source == "" || p.Column < 1 {
		return ""
	}
	line := []rune(p.Source)
	at := min(p.Column-1, len(line))
	from, to := 0, len(line)
	if to > maxExcerpt {
		from = max(0, min(at-maxExcerpt/2, to-maxExcerpt))
		to = from + maxExcerpt
	}
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string(line[from:at]))
	return "  " + string(line[from:to]) + "\n  " + pad + "^"
}

// maxExcerpt is the maximum length of a line shown.
const maxExcerpt = 120

// secretValue matches the values of keys whose names suggest a secret.
var secretValue = lazyregexp.New(`(?i)([\w-]*(?:secret|passw|token|credential)[\w-]*["']?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}\]]+)`)

// source returns a line of the file as it may be shown. A secret that was put into the file
// by mistake is not copied to a log.
func (d *decoder) source(line int) string {
	if line < 1 || line > len(d.lines) {
		return ""
	}
	return secretValue().ReplaceAllStringFunc(strings.TrimRight(d.lines[line-1], "\r"), func(found string) string {
		m := secretValue().FindStringSubmatch(found)
		name := strings.ToLower(strings.TrimRight(m[1], "\"' \t:"))
		if strings.HasSuffix(name, "_env") || strings.HasSuffix(name, "_file") {
			return found
		}
		return m[1] + strings.Repeat("*", len([]rune(m[2])))
	})
}
