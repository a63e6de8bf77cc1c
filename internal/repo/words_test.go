package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bannedWords may not appear in comments and documentation: each has a plainer or more
// exact alternative.
var bannedWords = []struct {
	pattern *regexp.Regexp
	instead string
	docs    bool // also in documentation
}{
	{words(`whoever|whomever`), "the caller, the client, a waiter", true},
	{words(`who|whom`), "the caller that, the client that", false},
	{words(`nobody|somebody`), "no client, no request, another client", true},
	{words(`tell|tells|told`), "reports, returns, logs, passes", true},
	{words(`say|says|said`), "specifies, reports, states", true},
	{words(`knows|learns|learnt`), "stores, has, finds", true},
	{words(`come|comes|came`), "arrives, is received, follows", true},
	{words(`goes`), "is sent, is written, exits", true},
	{words(`stays`), "is kept, remains", true},
	{words(`lands|landed`), "completes, arrives", true},
	{words(`stands|stood`), "is, is valid, applies", true},
	{words(`lend|lends|lent`), "shares, hands out", true},
	{words(`but for|save that`), "except", true},
	{words(`nor`), "and not, or", true},
}

func words(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(alternatives, " ", `\s+`) + `)\b`)
}

// quoted matches quotations in a comment, for example of a program's output.
var quoted = regexp.MustCompile("(?s)\"[^\"\n]*\"|`[^`]*`")

// TestPlainWords checks the comments of Go files and the pages of the documentation for
// banned words. TestPlainNames checks names.
func TestPlainWords(t *testing.T) {
	report := func(file string, line int, text, instead string) {
		t.Errorf("%s:%d: %q: write %s", file, line, text, instead)
	}
	for _, s := range sources(t) {
		for _, g := range s.ast.Comments {
			text := quoted.ReplaceAllStringFunc(g.Text(), blank)
			for _, w := range bannedWords {
				if m := w.pattern.FindString(text); m != "" {
					report(s.path, s.line(g.Pos()), m, w.instead)
				}
			}
		}
	}
	documents(t, func(page, text string) {
		for i, line := range strings.Split(prose(text), "\n") {
			for _, w := range bannedWords {
				if m := w.pattern.FindString(line); m != "" && w.docs {
					report(page, i+1, m, w.instead)
				}
			}
		}
	})
}

// blank returns spaces in place of s, and keeps its line breaks.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, s)
}

var code = regexp.MustCompile("(?ms)^ *```.*?^ *```|^    [^\n]*|`[^`\n]*`|\\]\\([^)\n]*\\)")

// prose returns a page's text with its code and the targets of its links left blank.
func prose(text string) string { return code.ReplaceAllStringFunc(text, blank) }

// rates bounds the uses of some words per 1,000 words of comments outside tests. The
// bounds span the rates measured in pebble, tailscale, caddy, groupcache and
// VictoriaMetrics, which read well.
var rates = []struct {
	pattern  *regexp.Regexp
	min, max float64
}{
	{words(`returns`), 4.2, 20},
	{words(`for example`), 0.18, 2},
	{words(`what`), 0, 0.5},
	{words(`those`), 0, 0.6},
}

// TestWordRates compares the rates of some words in comments with those of other projects.
// With KASOKU_WORDS_IN, a list of folders, it logs the rates there instead.
func TestWordRates(t *testing.T) {
	var text strings.Builder
	if other := os.Getenv("KASOKU_WORDS_IN"); other != "" {
		for _, dir := range filepath.SplitList(other) {
			text.WriteString(commentsBelow(t, dir))
		}
	} else {
		for _, s := range sources(t) {
			if !s.isTest() {
				text.WriteString(commentsOf(s.ast))
			}
		}
	}
	all := strings.Join(strings.Fields(text.String()), " ")
	n := float64(len(strings.Fields(all))) / 1000
	t.Logf("%.0f words in comments; uses per 1,000:", n*1000)
	for _, w := range bannedWords {
		t.Logf("  %-40s %.2f", w.pattern, float64(len(w.pattern.FindAllString(all, -1)))/n)
	}
	for _, r := range rates {
		got := float64(len(r.pattern.FindAllString(all, -1))) / n
		t.Logf("  %-40s %.2f (%.2f to %.2f)", r.pattern, got, r.min, r.max)
		if os.Getenv("KASOKU_WORDS_IN") == "" && (got < r.min || got > r.max) {
			t.Errorf("%s: %.2f uses per 1,000 words of comments, want %.2f to %.2f", r.pattern, got, r.min, r.max)
		}
	}
}

// commentsOf returns the text of a file's comments.
func commentsOf(f *ast.File) string {
	var text strings.Builder
	for _, g := range f.Comments {
		text.WriteString(g.Text())
	}
	return text.String()
}

// commentsBelow returns the comments of the Go files below dir, tests excepted.
func commentsBelow(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err == nil {
			text.WriteString(commentsOf(f))
		}
		return nil // a file that does not parse is a fixture
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
