package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFormula checks that the formula has each archive with its checksum, and installs files
// that archives have.
func TestFormula(t *testing.T) {
	r, out := standIn(t), t.TempDir()
	for _, system := range []string{"darwin", "linux"} {
		for _, arch := range []string{"amd64", "arm64"} {
			if err := r.writeFormula(out); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(out, "kasoku.rb")); err == nil {
				t.Error("there is a formula without all archives")
			}
			name := r.artifact(target{system, arch}) + ".tar.gz"
			if err := os.WriteFile(filepath.Join(out, name), []byte(system+arch), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.writeFormula(out); err != nil {
		t.Fatal(err)
	}
	text := contents(t, out)["kasoku.rb"]
	for _, want := range []string{
		"  version \"0.1.0-dev\"\n",
		"  on_macos do\n    on_intel do\n      url \"https://github.com/kasoku/kasoku/releases/download/v0.1.0-dev/kasoku_0.1.0-dev_darwin_amd64.tar.gz\"\n" +
			"      sha256 \"5c90ffacba6eb418efaa5cab5025d69ef57e2952edd2d307e6918dd61e8d030d\"\n    end\n    on_arm do\n",
		"  on_linux do\n    on_intel do\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the formula lacks\n%s\nin\n%s", want, text)
		}
	}
	if n := strings.Count(text, " do\n") + strings.Count(text, "def ") + strings.Count(text, "class "); strings.Count(text, "end\n") != n {
		t.Errorf("%d blocks begin and %d end", n, strings.Count(text, "end\n"))
	}
	for _, m := range regexp.MustCompile(`"((?:completions|man)/[^"]*)"`).FindAllStringSubmatch(text, -1) {
		if m[1] != bashFile && m[1] != zshFile && m[1] != fishFile && m[1] != manFile {
			t.Errorf("it installs %s, which no archive has", m[1])
		}
	}
}
