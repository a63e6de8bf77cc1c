package repo

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// documents calls f for every page of the documentation.
func documents(t *testing.T, f func(name, text string)) {
	t.Helper()
	n := 0
	walk(t, func(p string) {
		if path.Ext(p) == ".md" {
			n++
			f(p, string(read(t, p)))
		}
	})
	if n < 10 {
		t.Fatalf("found only %d pages: looked in the wrong place", n)
	}
}

var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)(\\.\\.\\.)?`")

// TestDocsNameTests checks that each test named in a page exists.
func TestDocsNameTests(t *testing.T) {
	var tests []string
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.isTest() && strings.HasPrefix(f.Name.Name, "Test") {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	documents(t, func(page, text string) {
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			found := false
			for _, name := range tests {
				found = found || name == m[1] || m[2] != "" && strings.HasPrefix(name, m[1])
			}
			if !found {
				t.Errorf("%s names %s, and there is no such test", page, m[1])
			}
		}
	})
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestDocsLinks checks that the targets of links within the repository exist, including
// headings.
func TestDocsLinks(t *testing.T) {
	documents(t, func(page, text string) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			to := page
			if file != "" {
				to = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !anchors(string(read(t, to)))[anchor] {
				t.Errorf("%s links to %s, and there is no such heading", page, m[1])
			}
		}
	})
}

// anchors returns the names of a page's headings in links.
func anchors(text string) map[string]bool {
	list := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		list[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return list
}

// maxColumns is the maximum length of a line of prose. Tables and code are exempt.
const maxColumns = 100

func TestDocsWrap(t *testing.T) {
	documents(t, func(page, text string) {
		code := false
		for i, line := range strings.Split(text, "\n") {
			fence := strings.HasPrefix(strings.TrimSpace(line), "```")
			code = code != fence
			exempt := code || fence || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--")
			if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > maxColumns && !exempt && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s:%d has %d characters, more than %d", page, i+1, n, maxColumns)
			}
		}
	})
}
