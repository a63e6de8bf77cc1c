package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersionOf(t *testing.T) {
	ok := func(changelog, want string) {
		t.Helper()
		if got, err := versionOf(changelog); got != want || err != nil {
			t.Errorf("versionOf(%q) = %q, %v, want %q", changelog, got, err, want)
		}
	}
	ok("# Changelog\n\n## 0.1.0 (unreleased)\n\n- a\n", "0.1.0-dev")
	ok("## 1.12.3 (2026-12-01)\n\n## 1.12.2 (2026-11-01)\n", "1.12.3")
	bad := func(changelog, want string) {
		t.Helper()
		if _, err := versionOf(changelog); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("versionOf(%q): error %v, want one with %q", changelog, err, want)
		}
	}
	bad("# Changelog\n", "no section")
	bad("## Unreleased\n", `the newest section is "Unreleased"`)
	bad("## 0.1 (unreleased)\n", `"0.1 (unreleased)"`)
	bad("## 0.1.0 (soon)\n", `"0.1.0 (soon)"`)
}

// TestChangelog checks that the changelog of this repository names a version.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := versionOf(string(text)); err != nil {
		t.Error(err)
	}
}

// TestStampedVariables checks that the variables that the linker sets exist: it ignores unknown
// names.
func TestStampedVariables(t *testing.T) {
	dir := strings.TrimPrefix(stamped, "github.com/kasoku/kasoku/")
	f, err := parser.ParseFile(token.NewFileSet(), "../../"+dir+"/version.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			if v := s.(*ast.ValueSpec); len(v.Values) == 0 && fmt.Sprint(v.Type) == "string" {
				for _, name := range v.Names {
					found[name.Name] = true
				}
			}
		}
	}
	for _, name := range []string{"release", "commit"} {
		if !found[name] {
			t.Errorf("%s has no variable %s of type string without a value", stamped, name)
		}
	}
}

// standIn returns a release of the program in testdata, which compiles in a moment.
func standIn(t *testing.T) *release {
	t.Helper()
	root, err := filepath.Abs("testdata/program")
	if err != nil {
		t.Fatal(err)
	}
	return &release{root: root, packaging: "../../packaging", version: "0.1.0-dev", commit: "c0ffee", time: time.Unix(1795975710, 0).UTC()}
}

func parsed(t *testing.T, list string) []target {
	t.Helper()
	targets, err := parseTargets(list)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// TestMake makes a release of a small program twice, and compares all bytes.
func TestMake(t *testing.T) {
	r := standIn(t)
	targets := parsed(t, "linux/amd64 windows/arm64")
	var outs [2]map[string]string
	for i := range outs {
		dir := t.TempDir()
		if err := r.make(dir, targets); err != nil {
			t.Fatal(err)
		}
		outs[i] = contents(t, dir)
	}
	want := []string{
		"SHA256SUMS",
		"kasoku-0.1.0-dev-1.x86_64.rpm",
		"kasoku_0.1.0-dev-1_amd64.deb",
		"kasoku_0.1.0-dev_linux_amd64.cdx.json", "kasoku_0.1.0-dev_linux_amd64.tar.gz", "kasoku_0.1.0-dev_linux_amd64_docker.tar",
		"kasoku_0.1.0-dev_oci.tar",
		"kasoku_0.1.0-dev_windows_arm64.cdx.json", "kasoku_0.1.0-dev_windows_arm64.zip",
		"kasoku_0.1.0_alpha-r1_x86_64.apk",
	}
	if got := slices.Sorted(maps.Keys(outs[0])); !slices.Equal(got, want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
	for name, data := range outs[0] {
		if outs[1][name] != data {
			t.Errorf("%s differs between two runs", name)
		}
	}
	checkDocumented(t, want)
	if n := strings.Count(outs[0]["SHA256SUMS"], "\n"); n != len(want)-1 {
		t.Errorf("SHA256SUMS has %d lines, want %d", n, len(want)-1)
	}
	const top = "kasoku_0.1.0-dev_linux_amd64/"
	files := untar(t, outs[0]["kasoku_0.1.0-dev_linux_amd64.tar.gz"])
	for name, text := range map[string]string{
		top + "README.md": "The README.md of a test.\n", top + bashFile: "completion bash\n", top + zshFile: "completion zsh\n",
		top + fishFile: "completion fish\n", top + manFile: "help --man\n",
	} {
		if files[name] != text {
			t.Errorf("%s is %q, want %q", name, files[name], text)
		}
	}
	if !strings.HasPrefix(files[top+"kasoku"], "\x7fELF") {
		t.Error("the archive for Linux has no ELF binary")
	}
	var bill struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
	}
	if err := json.Unmarshal([]byte(outs[0]["kasoku_0.1.0-dev_linux_amd64.cdx.json"]), &bill); err != nil {
		t.Fatal(err)
	}
	if c := bill.Metadata.Component; bill.BOMFormat != "CycloneDX" || c.Name != "github.com/kasoku/kasoku" || c.Version != "v0.1.0-dev" {
		t.Errorf("the bill of materials is for %+v, in the format %q", c, bill.BOMFormat)
	}
}

// checkDocumented checks that the documentation names files that exist: those of a release for two
// systems, whose names have a suffix for unreleased versions.
func checkDocumented(t *testing.T, names []string) {
	t.Helper()
	exists := map[string]bool{}
	for _, name := range names {
		exists[strings.NewReplacer("-dev", "", "_alpha", "").Replace(name)] = true
	}
	found := 0
	for _, page := range []string{"docs/install.md", "docs/operations.md", "examples/compose/compose.yaml", "packaging/testcontainers/README.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`kasoku[-_][0-9][\w.-]*\.(?:tar\.gz|tar|zip|deb|rpm|apk|json)`).FindAllString(string(text), -1) {
			found++
			if !exists[name] {
				t.Errorf("%s names %s, which is no file of a release", page, name)
			}
		}
	}
	if found < 8 {
		t.Errorf("found only %d names of files", found)
	}
}

// contents returns the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// untar returns the files of a compressed archive.
func untar(t *testing.T, archive string) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("the header of gzip has the time %s and the name %q", z.ModTime, z.Name)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(data)
	}
}

// TestArchives checks that archives have the modes of the files, and are the same whatever the
// order of the files and the clock.
func TestArchives(t *testing.T) {
	files := []file{{"kasoku", 0o755, []byte("binary")}, {"LICENSE", 0o644, []byte("terms")}}
	modified := time.Unix(1795975710, 0).UTC()
	for name, pack := range map[string]func(string, []file, time.Time) ([]byte, error){"tar.gz": tarGzip, "zip": zipped} {
		first, err := pack("top", files, modified)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(files)
		second, err := pack("top", files, modified)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s: the order of the files changes the archive", name)
		}
		if name == "zip" {
			z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
			if err != nil {
				t.Fatal(err)
			}
			f := z.File[1]
			if len(z.File) != 2 || f.Name != "top/kasoku" || f.Mode() != 0o755 || !f.Modified.Equal(modified) {
				t.Errorf("zip: the second of %d files is %s with %v of %s", len(z.File), f.Name, f.Mode(), f.Modified)
			}
		}
	}
}

// TestNotices checks the licences of Kasoku's own dependencies.
func TestNotices(t *testing.T) {
	r := &release{root: "../.."}
	text, err := r.notices(parsed(t, "linux/amd64"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nthe Go standard library, LICENSE\n", "\ngithub.com/alecthomas/kong v", "\ngithub.com/aws/smithy-go v", ", NOTICE\n",
		"TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the notices lack %q", want)
		}
	}
	// A test's dependency is no part of the binary.
	if bytes.Contains(text, []byte("pgregory.net/rapid")) {
		t.Error("the notices have a module that is not compiled in")
	}
	if err := (&release{root: "testdata/unlicensed"}).findLicences(host(), map[string]string{}); err == nil || !strings.Contains(err.Error(), "module example.com/bare has no licence file") {
		t.Errorf("a module without a licence: error %v", err)
	}
}

func TestParseTargets(t *testing.T) {
	if _, err := parseTargets("linux/amd64 plan9/amd64"); err == nil || !strings.Contains(err.Error(), `"plan9/amd64"`) {
		t.Errorf("error %v, want one that names the unknown target", err)
	}
}

// TestRunRefusesFilledDirectory checks that no file of another release is mixed in.
func TestRunRefusesFilledDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("../..", dir, "linux/amd64", true); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("error %v, want one about the directory", err)
	}
}
