package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// source is one Go file of the repository, of either module.
type source struct {
	path string // from the root, with slashes
	text []byte
	ast  *ast.File
	pos  *token.FileSet
}

func (s *source) dir() string  { return s.path[:max(0, strings.LastIndexByte(s.path, '/'))] }
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s *source) line(p token.Pos) int { return s.pos.Position(p).Line }

// root is the repository's root, seen from this package's folder.
const root = "../.."

// walk calls f for every file of the repository except generated and installed ones: it
// skips folders that begin with a dot or that hold test data.
func walk(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			hidden := strings.HasPrefix(name, ".") && name != ".." && name != ".ci" && name != ".github"
			if hidden || name == "testdata" || name == "node_modules" || path == filepath.Join(root, "bin") || path == filepath.Join(root, "dist") || path == filepath.Join(root, "kasoku-data") {
				return fs.SkipDir
			}
			return nil
		}
		if name == ".git" || name == ".tools" { // of a linked worktree: where on this machine the repository and its tools are
			return nil
		}
		rel, err := filepath.Rel(root, path)
		f(filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// parsed is the result of sources. Tests only read it, one after the other.
var parsed []*source

// sources parses every Go file, once for all rules.
func sources(t *testing.T) []*source {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	var all []*source
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		all = append(all, parse(t, path, read(t, path)))
	})
	if len(all) < 20 {
		t.Fatalf("found only %d Go files: looked in the wrong place", len(all))
	}
	parsed = all
	return all
}

// parse returns a file with its syntax tree.
func parse(t *testing.T, path string, text []byte) *source {
	t.Helper()
	s := &source{path: path, text: text, pos: token.NewFileSet()}
	var err error
	if s.ast, err = parser.ParseFile(s.pos, path, text, parser.ParseComments); err != nil {
		t.Fatal(err)
	}
	return s
}

// imports returns the paths that s imports.
func (s *source) imports() (paths []string) {
	for _, i := range s.ast.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}
