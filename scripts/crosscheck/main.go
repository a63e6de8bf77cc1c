// Command crosscheck checks that the packages of a module compile on other systems. It
// type-checks them instead of building them, which takes seconds for each system instead of
// minutes.
//
//	go run ./scripts/crosscheck [-C DIR] GOOS/GOARCH...
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("C", ".", "the module's folder")
	flag.Parse()
	root, err := filepath.Abs(*dir)
	if err != nil {
		fail(err)
	}
	bad := false
	for _, system := range flag.Args() {
		found, err := check(root, system)
		if err != nil {
			fail(err)
		}
		for _, e := range found {
			fmt.Fprintf(os.Stderr, "%s: %s\n", system, e)
			bad = true
		}
	}
	if bad {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "crosscheck:", err)
	os.Exit(2)
}

// check returns the errors of a module's packages on a system such as linux/386.
func check(root, system string) (found []packages.Error, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return nil, fmt.Errorf("%q is not GOOS/GOARCH", system)
	}
	cfg := &packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule,
		Dir:   root,
		Tests: true,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly"),
		ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
			f, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution|parser.AllErrors)
			if f != nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
				dropBodies(f)
			}
			return f, err
		},
	}
	roots, err := packages.Load(cfg, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range roots {
		for _, e := range p.Errors { // a package and its test repeat them
			if !slices.Contains(found, e) {
				found = append(found, e)
			}
		}
	}
	return found, nil
}

// dropBodies removes the bodies of functions, except those that need one. Only their types
// matter in other modules.
func dropBodies(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Type.TypeParams == nil && fn.Name.Name != "init" && fn.Name.Name != "main" {
			fn.Body = nil
		}
	}
}
