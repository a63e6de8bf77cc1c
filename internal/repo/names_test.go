package repo

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// bannedNames are words that may not be a part of a declared name, in tests too: each has a
// plainer or more exact alternative.
var bannedNames = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{words(`whoever|whomever|who|whom`), "caller, client, waiter"},
	{words(`nobody|somebody`), "none, other"},
	{words(`tell|tells|told`), "report, reported, requested"},
	{words(`say|says|said`), "output, answer, reported"},
	{words(`knows|learns|learnt`), "has, found"},
	{words(`come|comes|came`), "arrive, received, answer"},
	{words(`goes`), "sent, written"},
	{words(`stays`), "kept, remains"},
	{words(`lands|landed`), "completed"},
	{words(`stands|stood`), "valid, current"},
	{words(`lend|lends|lent`), "share, inFlight"},
	{words(`nor`), "not, neither"},
	{words(`ticket|tickets`), "waiter, slot"},
	{words(`shelf|shelves`), "index, source"},
	{words(`errand|errands`), "fetch, request"},
	{words(`gift|gifts`), "send"},
	{words(`patience`), "timeout, retry budget"},
	{words(`tally|tallies`), "counts, totals"},
	{words(`misfit|misfits`), "type error"},
	{words(`adrift`), "unsynced"},
	{words(`vigil`), "waiters"},
}

// oldMaxName matches a maximum that is called most. In another place, as in atMost, the word
// is a comparison.
var oldMaxName = regexp.MustCompile(`^[mM]ost($|[A-Z])`)

// TestPlainNames checks the words of all declared names: of functions, methods, types,
// fields, variables, constants and parameters.
func TestPlainNames(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			id := declaration(n)
			if id == nil {
				return true
			}
			if oldMaxName.MatchString(id.Name) {
				t.Errorf("%s:%d: %s: write max or limit", s.path, s.line(id.Pos()), id.Name)
			}
			name := strings.Join(wordsOf(id.Name), " ")
			for _, w := range bannedNames {
				if m := w.pattern.FindString(name); m != "" {
					t.Errorf("%s:%d: %s: instead of %q write for example %s", s.path, s.line(id.Pos()), id.Name, m, w.instead)
				}
			}
			return true
		})
	}
}

// declaration returns the name that n declares, or nil.
func declaration(n ast.Node) *ast.Ident {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Recv != nil {
			return n.Name // the parser resolves no methods
		}
	case *ast.Ident:
		if n.Obj != nil && n.Obj.Pos() == n.Pos() {
			return n
		}
	}
	return nil
}

// wordsOf splits a name at underscores, digits and changes of case: "JSONOf2Items" has the
// words JSON, Of and Items.
func wordsOf(name string) (list []string) {
	letters := []rune(name)
	start := 0
	add := func(end int) {
		if end > start {
			list = append(list, string(letters[start:end]))
		}
	}
	for i, r := range letters {
		switch {
		case !unicode.IsLetter(r):
			add(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])):
			add(i)
			start = i
		}
	}
	add(len(letters))
	return list
}

// TestWordsOf checks the words of names, on which TestPlainNames relies.
func TestWordsOf(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("wordsOf(%q) = %q, want %q", name, got, want)
		}
	}
	f("said", "said")
	f("TestReaderThatSays", "Test Reader That Says")
	f("JSONOf2Items", "JSON Of Items")
	f("newHTTP", "new HTTP")
	f("http2_came", "http came")
	f("_", "")
}
