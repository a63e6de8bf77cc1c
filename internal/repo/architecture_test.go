package repo

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	packageName = regexp.MustCompile("`((?:cmd|internal|fluent|bench|integration)[a-z0-9_/]*)`")
	lockName    = regexp.MustCompile(`\b([a-z0-9]+)\.([A-Za-z]+)\.([a-z][A-Za-z]*)\b`)
)

// TestArchitecture compares the list of packages in docs/architecture.md with the packages
// that exist, and the locks that the page orders with the fields of structs.
func TestArchitecture(t *testing.T) {
	const page = "docs/architecture.md"
	text := string(read(t, page))
	_, locks, _ := strings.Cut(text, "\n## Locks\n")
	locks, _, _ = strings.Cut(locks, "\n## ")
	exists := map[string]bool{}
	fields := map[string]bool{} // package.Type.field, and methods
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		exists[s.dir()] = true
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil {
				fields[path.Base(s.dir())+"."+receiver(f)+"."+f.Name.Name] = true
			}
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					for _, name := range f.Names {
						fields[path.Base(s.dir())+"."+spec.Name.Name+"."+name.Name] = true
					}
				}
			}
			return true
		})
	}
	listed := map[string]bool{}
	for _, m := range packageName.FindAllStringSubmatch(text, -1) {
		listed[m[1]] = true
	}
	for dir := range exists {
		if !outside(dir) && !listed[dir] || dir == "internal/config/gendoc" && !listed[dir] {
			t.Errorf("%s does not list %s", page, dir)
		}
	}
	for dir := range listed {
		found := exists[dir]
		for other := range exists {
			found = found || strings.HasPrefix(other, dir+"/")
		}
		if !found && !strings.HasSuffix(dir, ".go") {
			t.Errorf("%s lists %s, and there is no such package", page, dir)
		}
	}
	names := lockName.FindAllString(locks, -1)
	if len(names) < 10 {
		t.Errorf("found only %d locks on %s", len(names), page)
	}
	for _, name := range names {
		if !fields[name] {
			t.Errorf("%s orders the lock %s, and there is no such field", page, name)
		}
	}
}

// receiver returns the name of a method's receiver type.
func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	id, _ := t.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}
