// Standalone writes the module kasokutest as it is released: internal/kasokutest with copies of
// the packages of Kasoku that it needs, so that a program that tests with it does not depend on
// Kasoku's other dependencies and their versions.
//
//	go run ./scripts/standalone DIRECTORY
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	root   = "github.com/kasoku/kasoku/"
	source = root + "internal/"
	public = source + "kasokutest" // the package in this repository
	module = root + "kasokutest"   // the same, as programs import it
	target = module + "/internal/"
)

// goMod is the file go.mod. The versions of the AWS SDK are the oldest ones that work, because
// a program gets at least these.
const goMod = `module ` + module + `

go 1.24.0

require (
	github.com/aws/aws-sdk-go-v2 v1.30.4
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.34.5
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/tidwall/btree v1.8.2
)
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/standalone DIRECTORY")
		os.Exit(2)
	}
	if err := write("internal/kasokutest", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "standalone:", err)
		os.Exit(1)
	}
}

// write writes the module in dir to an empty or new directory.
func write(dir, to string) error {
	packages, err := packages(dir)
	if err != nil {
		return err
	}
	for _, p := range packages {
		path := "."
		if p.ImportPath != public {
			path = "internal/" + strings.TrimPrefix(p.ImportPath, source)
		}
		for _, name := range p.GoFiles {
			if err := copyFile(filepath.Join(p.Dir, name), filepath.Join(to, path, name)); err != nil {
				return err
			}
		}
	}
	if err := copyFile("LICENSE", filepath.Join(to, "LICENSE")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "go.mod"), []byte(goMod), 0o644); err != nil {
		return err
	}
	tidy := exec.Command("go", "mod", "tidy")
	tidy.Dir, tidy.Env, tidy.Stderr = to, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"), os.Stderr
	return tidy.Run()
}

// pkg is a package as printed by go list.
type pkg struct {
	ImportPath, Dir string
	GoFiles         []string
	CgoFiles        []string
	IgnoredGoFiles  []string // for other systems
}

// packages returns the package in dir and the packages of Kasoku that it imports, directly or
// not.
func packages(dir string) (all []pkg, err error) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles", ".")
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.ImportPath, root) {
			continue
		}
		if len(p.CgoFiles)+len(p.IgnoredGoFiles) > 0 {
			return nil, fmt.Errorf("%s has files for some systems only, which are not copied", p.ImportPath)
		}
		all = append(all, p)
	}
}

// copyFile copies a file, in which packages of Kasoku have their new names.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(`"`+source), []byte(`"`+target))
	return os.WriteFile(to, text, 0o644)
}
