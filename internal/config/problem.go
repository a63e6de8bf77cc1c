package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Problem is one mistake in a file.
type Problem struct {
	File         string `json:"file"`
	Line, Column int    `json:"-"` // from 1; 0 for a mistake without a place
	Path         string `json:"path,omitempty"`
	Message      string `json:"message"`
	Source       string `json:"source,omitempty"` // the line of the file
}

// String returns "file:line:column: path: message".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are all the mistakes of a file, in the order of its lines.
type Problems []Problem

// Error returns a line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// meant returns " (did you mean x?)" if a candidate is similar, else "".
func meant(word string, candidates []string) string {
	if n := ascii.Near(word, candidates); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}
