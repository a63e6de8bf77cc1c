package repo

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// TestAllocationTestsRun checks that every test that depends on the absence of the race
// detector has a name by which scripts/allocs.sh finds it: `make test` runs the others with
// the race detector only.
func TestAllocationTestsRun(t *testing.T) {
	script := string(read(t, "scripts/allocs.sh"))
	m := regexp.MustCompile(`(?m)^names='([^']+)'$`).FindStringSubmatch(script)
	if m == nil {
		t.Fatal("scripts/allocs.sh does not set names")
	}
	names, found := regexp.MustCompile(m[1]), 0
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.isTest() || !strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(s.path, "integration/") || !measures(f) {
				continue
			}
			found++
			if !names.MatchString(f.Name.Name) {
				t.Errorf("%s:%d: %s measures allocations, but its name does not match %s", s.path, s.line(f.Pos()), f.Name.Name, m[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d tests that measure allocations", found)
	}
}

// measures reports whether f measures allocations or depends on the race detector.
func measures(f *ast.FuncDecl) (yes bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, _ := s.X.(*ast.Ident)
			yes = yes || x != nil && (x.Name == "race" && s.Sel.Name == "Enabled" || x.Name == "testing" && s.Sel.Name == "AllocsPerRun")
		}
		return !yes
	})
	return yes
}
