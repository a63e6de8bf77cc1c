package repo

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// library is a module that programs import. A program can have no lower version of Go or of a
// dependency than the library requires, so each is the lowest with which the library works.
type library struct {
	goVersion string
	requires  map[string]string // all modules that its go.mod names, with their versions
	linked    []string          // the modules whose code a program gets; the others are for tests
}

// libraries are the modules of go.work except the root, by folder.
var libraries = map[string]library{
	"fluent": {
		goVersion: "1.24",
		requires: map[string]string{
			"github.com/klauspost/compress": "v1.17.3",
			"github.com/philhofer/fwd":      "v1.1.3-0.20240916144458-20a13a1f6b7c",
			"github.com/tinylib/msgp":       "v1.2.4",
			"pgregory.net/rapid":            "v1.1.0",
		},
		linked: []string{"github.com/klauspost/compress"},
	},
}

// modFile is a go.mod or go.work file as `go mod edit -json` and `go work edit -json` print it.
type modFile struct {
	Go      string
	Require []moduleVersion
	Replace []struct{ Old, New moduleVersion }
	Use     []struct{ DiskPath string }
}

type moduleVersion struct{ Path, Version string }

// requires returns the versions that the file requires, by module.
func (m *modFile) requires() map[string]string {
	all := map[string]string{}
	for _, r := range m.Require {
		all[r.Path] = r.Version
	}
	return all
}

// replaces returns the replaced modules and their folders, in the form of go.mod.
func (m *modFile) replaces() (all []string) {
	for _, r := range m.Replace {
		all = append(all, strings.TrimSpace(r.Old.Path+" "+r.Old.Version)+" => "+r.New.Path)
	}
	return all
}

// readMod reads a go.mod or go.work file.
func readMod(t *testing.T, path string) *modFile {
	t.Helper()
	read(t, path) // so that go test does not repeat an earlier result after a change
	kind := "mod"
	if filepath.Base(path) == "go.work" {
		kind = "work"
	}
	m := new(modFile)
	if err := json.Unmarshal(goCommand(t, root, nil, kind, "edit", "-json", path), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// goCommand runs the go command in dir and returns its output.
func goCommand(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// TestLibrariesRequireLittle compares the go.mod files of libraries with the table above.
func TestLibrariesRequireLittle(t *testing.T) {
	for dir, l := range libraries {
		got := readMod(t, dir+"/go.mod")
		if got.Go != l.goVersion {
			t.Errorf("%s/go.mod requires Go %s, and with it every program that imports %s; want %s", dir, got.Go, dir, l.goVersion)
		}
		if !maps.Equal(got.requires(), l.requires) {
			t.Errorf("%s/go.mod requires %v; want %v", dir, got.requires(), l.requires)
		}
	}
}

// TestWorkspace checks that all builds in this repository use the libraries in its folders.
func TestWorkspace(t *testing.T) {
	use := []string{"."}
	var inWork, inIntegration []string
	required := readMod(t, "go.mod").requires()
	for _, dir := range slices.Sorted(maps.Keys(libraries)) {
		path := module + dir
		if required[path] == "" {
			t.Errorf("go.mod does not require %s", path)
		}
		use = append(use, "./"+dir)
		inWork = append(inWork, path+" "+required[path]+" => ./"+dir)
		inIntegration = append(inIntegration, path+" => ../"+dir)
	}
	f := func(what string, got, want []string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	work := readMod(t, "go.work")
	var used []string
	for _, u := range work.Use {
		used = append(used, u.DiskPath)
	}
	f("modules of go.work", used, use)
	f("replacements of go.work", work.replaces(), inWork)
	f("replacements of integration/go.mod", readMod(t, "integration/go.mod").replaces(),
		append(inIntegration, strings.TrimSuffix(module, "/")+" => ../"))
	f("replacements of go.mod, with which `go install MODULE@VERSION` fails", readMod(t, "go.mod").replaces(), nil)
}

// TestLibrariesImportNothingElseOfOurs covers tests of libraries too, because go mod tidy in a
// program resolves their imports.
func TestLibrariesImportNothingElseOfOurs(t *testing.T) {
	for _, s := range sources(t) {
		for dir := range libraries {
			if s.dir() != dir && !strings.HasPrefix(s.dir(), dir+"/") {
				continue
			}
			for _, path := range s.imports() {
				ours, found := strings.CutPrefix(path, module)
				if found && ours != dir && !strings.HasPrefix(ours, dir+"/") {
					t.Errorf("%s imports %s, which is not part of the module %s", s.path, path, dir)
				}
			}
		}
	}
}

// TestProgramOutsideOfWorkspace builds a program that imports a library, without the workspace and
// with the versions of go.mod, which builds of Kasoku have downloaded.
func TestProgramOutsideOfWorkspace(t *testing.T) {
	ours := readMod(t, "go.mod")
	env := []string{"GOWORK=off", "GOFLAGS=-mod=mod"}
	for dir, l := range libraries {
		path := module + dir
		folder, err := filepath.Abs(filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		mod := fmt.Sprintf("module example.com/program\n\ngo %s\n\nrequire %s v0.0.0\n\nreplace %s => %q\n", ours.Go, path, path, folder)
		for _, other := range l.linked {
			mod += fmt.Sprintf("\nrequire %s %s\n", other, ours.requires()[other])
		}
		program := t.TempDir()
		for name, text := range map[string]string{
			"go.mod": mod, "go.sum": string(read(t, "go.sum")), "main.go": fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", path),
		} {
			if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		goCommand(t, program, env, "build", "-o", "program", ".")
		got := strings.Fields(string(goCommand(t, program, env, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", path)))
		slices.Sort(got)
		want := append([]string{path}, l.linked...)
		slices.Sort(want)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("a program with %s gets the modules %q; want %q", dir, got, want)
		}
	}
}
