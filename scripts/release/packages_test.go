package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packaged returns the packages for linux/arm64 of a program that consists of one word.
func packaged(t *testing.T) map[string]string {
	t.Helper()
	return packagedBy(t, standIn(t))
}

func packagedBy(t *testing.T, r *release) map[string]string {
	t.Helper()
	work, out := t.TempDir(), t.TempDir()
	binary := filepath.Join(work, "kasoku")
	if err := os.WriteFile(binary, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	var common []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", noticesFile, bashFile, zshFile, fishFile, manFile} {
		common = append(common, file{name: name, mode: 0o644, data: []byte("text of " + name)})
	}
	if err := r.writePackages(work, out, target{"linux", "arm64"}, binary, common); err != nil {
		t.Fatal(err)
	}
	return contents(t, out)
}

// entry is a file of a package.
type entry struct {
	mode  int64
	owner string
	text  string
}

// entries returns the files, without directories, of concatenated compressed tar archives.
func entries(t *testing.T, data []byte) map[string]entry {
	t.Helper()
	list := map[string]entry{}
	rest := bufio.NewReader(bytes.NewReader(data))
	for {
		z, err := gzip.NewReader(rest)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		z.Multistream(false)
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // apk's first archives have no end
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeDir {
				continue
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			list[strings.TrimPrefix(h.Name, ".")] = entry{h.Mode, h.Uname + ":" + h.Gname, string(text)}
		}
		if _, err := io.Copy(io.Discard, z); err != nil {
			t.Fatal(err)
		}
	}
}

// members returns the members of a deb, which is an ar archive.
func members(t *testing.T, deb string) map[string][]byte {
	t.Helper()
	list := map[string][]byte{}
	rest, ok := strings.CutPrefix(deb, "!<arch>\n")
	if !ok {
		t.Fatal("the deb is no ar archive")
	}
	for len(rest) >= 60 {
		var size int
		if _, err := fmt.Sscan(rest[48:58], &size); err != nil || len(rest) < 60+size {
			t.Fatalf("a member of %q bytes: %v", rest[48:58], err)
		}
		list[strings.TrimRight(rest[:16], " /")] = []byte(rest[60 : 60+size])
		rest = rest[min(len(rest), 60+size+size%2):]
	}
	return list
}

// TestPackagesAreReproducible compares the packages of two clones, whose files have different
// times.
func TestPackagesAreReproducible(t *testing.T) {
	clone := standIn(t)
	clone.packaging = t.TempDir()
	if err := os.CopyFS(clone.packaging, os.DirFS("../../packaging")); err != nil {
		t.Fatal(err)
	}
	first, second := packaged(t), packagedBy(t, clone)
	if len(first) != len(formats) {
		t.Errorf("there are %d packages, want %d", len(first), len(formats))
	}
	for name := range first {
		if first[name] != second[name] {
			t.Errorf("%s differs between two runs", name)
		}
	}
}

// TestDeb checks the files, modes, owners, fields and scripts of the package for Debian.
func TestDeb(t *testing.T) {
	parts := members(t, packaged(t)["kasoku_0.1.0-dev-1_arm64.deb"])
	control, data := entries(t, parts["control.tar.gz"]), entries(t, parts["data.tar.gz"])
	want := map[string]int64{
		"/usr/bin/kasoku":                                  0o755,
		"/etc/kasoku/kasoku.yaml":                          0o644,
		"/usr/lib/systemd/system/kasoku.service":           0o644,
		"/usr/share/man/man1/kasoku.1.gz":                  0o644,
		"/usr/share/bash-completion/completions/kasoku":    0o644,
		"/usr/share/zsh/vendor-completions/_kasoku":        0o644,
		"/usr/share/fish/vendor_completions.d/kasoku.fish": 0o644,
		"/usr/share/doc/kasoku/LICENSE":                    0o644,
		"/usr/share/doc/kasoku/README.md":                  0o644,
		"/usr/share/doc/kasoku/CHANGELOG.md":               0o644,
		"/usr/share/doc/kasoku/THIRD-PARTY-NOTICES":        0o644,
	}
	for path, e := range data {
		if e.mode != want[path] || e.owner != "root:root" {
			t.Errorf("%s has mode %o of %s, want %o of root:root", path, e.mode, e.owner, want[path])
		}
	}
	for path := range want {
		if _, ok := data[path]; !ok {
			t.Errorf("%s is missing", path)
		}
	}
	if got := control["/conffiles"].text; got != "/etc/kasoku/kasoku.yaml\n" {
		t.Errorf("the configuration files are %q", got)
	}
	for _, line := range []string{"Package: kasoku\n", "Version: 0.1.0~dev-1\n", "Architecture: arm64\n", "Recommends: ca-certificates\n"} {
		if !strings.Contains(control["/control"].text, line) {
			t.Errorf("the control file lacks %q:\n%s", line, control["/control"].text)
		}
	}
	for script, source := range map[string]string{"/postinst": "postinstall.sh", "/prerm": "preremove.sh", "/postrm": "postremove.sh"} {
		text, err := os.ReadFile("../../packaging/linux/" + source)
		if err != nil {
			t.Fatal(err)
		}
		if e := control[script]; e.mode != 0o755 || e.text != string(text) {
			t.Errorf("%s has mode %o and is %q", script, e.mode, e.text)
		}
	}
}

// TestApk checks that the package for Alpine has a version that apk accepts, and no unit.
func TestApk(t *testing.T) {
	list := entries(t, []byte(packaged(t)["kasoku_0.1.0_alpha-r1_aarch64.apk"]))
	if e := list["usr/bin/kasoku"]; e.mode != 0o755 || e.text != "binary" {
		t.Errorf("the binary has mode %o and is %q", e.mode, e.text)
	}
	if _, ok := list["usr/lib/systemd/system/kasoku.service"]; ok {
		t.Error("there is a unit for systemd")
	}
	for _, script := range []string{".PKGINFO", ".post-install", ".post-upgrade", ".pre-deinstall", ".post-deinstall"} {
		if _, ok := list[strings.TrimPrefix(script, ".")]; !ok { // entries cuts the dot
			t.Errorf("%s is missing", script)
		}
	}
}

// TestScriptsParse checks the syntax of the scripts of packages, which a mistake would show on users'
// machines only.
func TestScriptsParse(t *testing.T) {
	scripts, err := filepath.Glob("../../packaging/linux/*.sh")
	if err != nil || len(scripts) != 3 {
		t.Fatalf("found the scripts %q, %v", scripts, err)
	}
	for _, script := range scripts {
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
