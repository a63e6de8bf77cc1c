package repo

import (
	"bytes"
	"go/ast"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPackageDocs checks that every package has a doc comment in godoc's form.
func TestPackageDocs(t *testing.T) {
	doc, name := map[string]string{}, map[string]string{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.ast.Name.Name, "_test") {
			continue
		}
		if _, seen := doc[s.dir()]; !seen {
			doc[s.dir()] = ""
		}
		if s.ast.Doc != nil && strings.TrimSpace(s.ast.Doc.Text()) != "" {
			doc[s.dir()] = s.ast.Doc.Text()
		}
		name[s.dir()] = s.ast.Name.Name
	}
	for dir, text := range doc {
		if name[dir] == "main" {
			if text == "" {
				t.Errorf("%s: the program has no doc comment", dir)
			}
			continue
		}
		if !strings.HasPrefix(text, "Package "+name[dir]+" ") {
			t.Errorf("%s: no doc comment that begins with \"Package %s\"", dir, name[dir])
		}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// TestFuncDocs checks that the comment of a function begins with its name, if it begins with
// a name, so that it moves along with the function.
func TestFuncDocs(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || s.isTest() {
				continue
			}
			first, _, _ := strings.Cut(strings.TrimSpace(f.Doc.Text()), " ")
			if identifier.MatchString(first) && first != f.Name.Name {
				t.Errorf("%s:%d: the comment of %s begins with %q", s.path, s.line(f.Pos()), f.Name.Name, first)
			}
		}
	}
}

// TestLazyExpressions compiles the regular expressions of package lazyregexp, which are otherwise
// compiled when they are first used, and checks that no package compiles one at its start.
func TestLazyExpressions(t *testing.T) {
	compiled := 0
	for _, s := range sources(t) {
		if s.isTest() || outside(s.dir()) || s.dir() == "internal/lazyregexp" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch function(call) {
			case "regexp.MustCompile":
				t.Errorf("%s:%d: use package lazyregexp", s.path, s.line(call.Pos()))
			case "lazyregexp.New":
				literal, ok := call.Args[0].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s:%d: the expression is no literal", s.path, s.line(call.Pos()))
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if err == nil {
					_, err = regexp.Compile(text)
				}
				if err != nil {
					t.Errorf("%s:%d: %v", s.path, s.line(call.Pos()), err)
				}
				compiled++
			}
			return true
		})
	}
	if compiled < 10 {
		t.Errorf("found only %d expressions", compiled)
	}
}

// function returns the name of a called function of another package, for example fmt.Print.
func function(call *ast.CallExpr) string {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		if pkg, ok := f.X.(*ast.Ident); ok {
			return pkg.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// Limits on the length of files and functions.
const (
	maxLines     = 800
	maxFuncLines = 120
)

func TestLengths(t *testing.T) {
	for _, s := range sources(t) {
		if n := bytes.Count(s.text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by noun", s.path, n, maxLines)
		}
		if s.isTest() {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()); n > maxFuncLines {
				t.Errorf("%s:%d: %s has %d lines, more than %d", s.path, s.line(f.Pos()), f.Name.Name, n, maxFuncLines)
			}
		}
	}
}

// forbiddenCalls are calls that a test may not make.
var forbiddenCalls = map[string]string{
	"time.Sleep": "wait for a channel, a condition that is polled, or testing/synctest's clock",
	"t.Skip":     "a test that does not run proves nothing; make its requirement part of the set-up",
	"t.Skipf":    "a test that does not run proves nothing; make its requirement part of the set-up",
	"t.SkipNow":  "a test that does not run proves nothing; make its requirement part of the set-up",
	"b.Skip":     "a benchmark that does not run measures nothing",
	"os.Exit":    "it hides the results of other tests and skips their clean-up",
}

// TestTests checks tests for forbidden calls.
func TestTests(t *testing.T) {
	all := sources(t)
	wrappers := map[string]map[string]bool{} // by folder: functions that run their argument in a bubble
	programs := map[string]bool{}            // folders whose test binary can also run as the program
	for _, s := range all {
		if bytes.Contains(s.text, []byte("func TestMain(")) {
			programs[s.dir()] = true
		}
		for _, d := range s.ast.Decls {
			if wrappers[s.dir()] == nil {
				wrappers[s.dir()] = map[string]bool{"synctest.Test": true}
			}
			if f, ok := d.(*ast.FuncDecl); ok && s.isTest() && takesFunc(f) && calls(f, wrappers[s.dir()]) {
				wrappers[s.dir()][f.Name.Name] = true
			}
		}
	}
	for _, s := range all {
		if !s.isTest() {
			continue
		}
		for _, d := range s.ast.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := calledName(call)
				why, forbidden := forbiddenCalls[name]
				switch {
				case !forbidden:
				case name == "time.Sleep" && s.inBubble(d, call, wrappers[s.dir()]): // on a fake clock
				case name == "os.Exit" && programs[s.dir()]:
				case strings.HasPrefix(name, "t.Skip") && s.inRapid(call): // rapid draws new values
				default:
					t.Errorf("%s:%d calls %s: %s", s.path, s.line(call.Pos()), name, why)
				}
				return true
			})
		}
	}
}

// inBubble reports whether call, which is in d, runs on the clock of a synctest bubble: it
// is in a function literal of a declaration that starts bubbles, or the comment of its
// line or of the function names the bubble.
func (s *source) inBubble(d ast.Decl, call *ast.CallExpr, wrappers map[string]bool) bool {
	literal := false
	ast.Inspect(d, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncLit)
		literal = literal || ok && f.Pos() < call.Pos() && call.End() <= f.End()
		return true
	})
	if literal && calls(d, wrappers) {
		return true
	}
	if f, ok := d.(*ast.FuncDecl); ok && strings.Contains(f.Doc.Text(), "bubble") {
		return true
	}
	for _, g := range s.ast.Comments {
		if s.line(g.Pos()) == s.line(call.End()) && strings.Contains(g.Text(), "bubble") {
			return true
		}
	}
	return false
}

// calls reports whether a declaration calls one of the functions named.
func calls(d ast.Decl, names map[string]bool) bool {
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		id, isName := call.Fun.(*ast.Ident)
		found = found || names[calledName(call)] || isName && names[id.Name]
		return true
	})
	return found
}

// takesFunc reports whether a function has a function among its parameters.
func takesFunc(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		if _, ok := p.Type.(*ast.FuncType); ok {
			return true
		}
	}
	return false
}

// inRapid reports whether the call is in a function whose t is rapid's.
func (s *source) inRapid(call *ast.CallExpr) bool {
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || call.Pos() < f.Pos() || call.End() > f.End() {
			continue
		}
		for _, p := range f.Type.Params.List {
			if star, ok := p.Type.(*ast.StarExpr); ok {
				if sel, ok := star.X.(*ast.SelectorExpr); ok {
					x, ok := sel.X.(*ast.Ident)
					return ok && x.Name == "rapid"
				}
			}
		}
	}
	return false
}

// calledName returns "x.f" for a call of that form.
func calledName(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + sel.Sel.Name
}

// forbiddenText may not appear in any text file.
var forbiddenText = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "finish it, or leave it out and document that"},
	{regexp.MustCompile(`(?i)not (yet )?imple` + `mented`), "leave out features that do not exist"},
	{regexp.MustCompile(`(^|[\s"'(=:])/(home|root|Users|work)/`), "a path of a developer's machine"},
	{regexp.MustCompile(`(?i)proxy\.go` + `lang\.org|registry\.np` + `mjs|files\.python` + `hosted|pypi\.o` + `rg|repo1?\.ma` + `ven`), "users choose their own registry"},
	{regexp.MustCompile(`AK` + `IA[0-9A-Z]{16}`), "it looks like an AWS access key"},
	{regexp.MustCompile(`BEGIN (RSA |EC )?PRI` + `VATE KEY`), "keys for tests are made by the tests"},
	{regexp.MustCompile(`(?m)^(<<<<<<<|>>>>>>>) `), "a conflict that was not resolved"},
}

func TestForbiddenText(t *testing.T) {
	walk(t, func(p string) {
		switch path.Ext(p) {
		case ".sum", ".png", ".svg", ".ico":
			return
		}
		text := read(t, p)
		if !utf8.Valid(text) {
			t.Errorf("%s is not UTF-8 text", p)
			return
		}
		for _, f := range forbiddenText {
			if at := f.pattern.FindIndex(text); at != nil {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q: %s", p, line, bytes.TrimSpace(text[at[0]:at[1]]), f.why)
			}
		}
	})
}
