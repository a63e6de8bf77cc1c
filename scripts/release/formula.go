package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"
)

// formulaSystem is a system of Homebrew.
type formulaSystem struct {
	OS       string // in Homebrew's words
	Archives []formulaArchive
}

// formulaArchive is an archive for a processor, with its SHA-256.
type formulaArchive struct{ CPU, Name, Sum string }

// writeFormula writes the formula for Homebrew, unless there is no archive for one of its
// systems.
func (r *release) writeFormula(out string) error {
	var systems []formulaSystem
	for _, s := range []struct{ system, word string }{{"darwin", "macos"}, {"linux", "linux"}} {
		of := formulaSystem{OS: s.word}
		for _, p := range []struct{ arch, word string }{{"amd64", "intel"}, {"arm64", "arm"}} {
			name := r.artifact(target{s.system, p.arch}) + ".tar.gz"
			data, err := os.ReadFile(filepath.Join(out, name))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			of.Archives = append(of.Archives, formulaArchive{p.word, name, fmt.Sprintf("%x", sha256.Sum256(data))})
		}
		systems = append(systems, of)
	}
	t, err := template.ParseFiles(filepath.Join(r.packaging, "homebrew", "kasoku.rb"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]any{"Version": r.version, "Systems": systems}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "kasoku.rb"), b.Bytes(), 0o644)
}
