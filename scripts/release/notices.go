package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is a module that is compiled into Kasoku.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// licenceFile matches the names of files with licences and notices.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-_.].*)?$`)

// notices returns the licences of all modules that are compiled in for one of the targets, and
// of Go itself. Equal texts are written once.
func (r *release) notices(targets []target) ([]byte, error) {
	files := map[string]string{} // the path of each licence: its name for readers
	for _, t := range targets {
		if err := r.findLicences(t, files); err != nil {
			return nil, err
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w%s", err, stderrOf(err))
	}
	for _, name := range []string{"LICENSE", "PATENTS"} {
		files[filepath.Join(strings.TrimSpace(string(root)), name)] = "the Go standard library, " + name
	}
	holders := map[string][]string{} // by text
	for path, name := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		clean := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		holders[clean] = append(holders[clean], name)
	}
	for _, names := range holders {
		slices.Sort(names)
	}
	var b bytes.Buffer
	b.WriteString("Kasoku contains code of the following projects, under the terms printed below each list.\n")
	texts := slices.SortedFunc(maps.Keys(holders), func(x, y string) int { return slices.Compare(holders[x], holders[y]) })
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(holders[text], "\n"), text)
	}
	return b.Bytes(), nil
}

// findLicences adds the licences of the modules in the binary for t to files. A module without
// any is an error.
func (r *release) findLicences(t target, files map[string]string) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/kasoku")
	cmd.Dir, cmd.Env = r.root, r.environment(t)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w%s", t, err, stderrOf(err))
	}
	found := map[module]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *module
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list for %s: %w", t, err)
		}
		if p.Module == nil || p.Module.Main {
			continue // the standard library, or Kasoku itself
		}
		some, err := p.Module.licences(p.Dir, files)
		if err != nil {
			return err
		}
		found[*p.Module] = found[*p.Module] || some
	}
	for m, some := range found {
		if !some {
			return fmt.Errorf("module %s has no licence file in %s", m.Path, m.Dir)
		}
	}
	return nil
}

// licences adds the licence files that apply to the package in dir: those in its directory and
// in the directories above it, up to the module's. It reports whether there are any.
func (m *module) licences(dir string, files map[string]string) (some bool, err error) {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			path := filepath.Join(dir, e.Name())
			name, err := filepath.Rel(m.Dir, path)
			if err != nil {
				return false, err
			}
			files[path], some = m.Path+" "+m.Version+", "+filepath.ToSlash(name), true
		}
		if dir == m.Dir {
			return some, nil
		}
		dir = filepath.Dir(dir)
	}
}
