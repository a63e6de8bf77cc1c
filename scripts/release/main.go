// Command release builds the files that users download, below -out: archives of the binary for
// each system with a bill of materials, packages for Linux, images for containers, and checksums. Two runs on the same
// commit with the same version of Go write the same bytes.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	root := flag.String("root", "../..", "the `directory` of the source")
	out := flag.String("out", "../../dist", "an empty or new `directory` for the files")
	list := flag.String("targets", strings.Join(targetNames, " "), "the `systems` to build for")
	dirty := flag.Bool("dirty", false, "build a tree with uncommitted changes, for a test")
	flag.Parse()
	if err := run(*root, *out, *list, *dirty); err != nil {
		log.Fatal(err)
	}
}

// run makes a release of the commit that is checked out.
func run(root, out, list string, dirty bool) error {
	r, err := newRelease(root, dirty)
	if err != nil {
		return err
	}
	targets, err := parseTargets(list)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", out)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	return r.make(out, targets)
}

// make writes all files of the release.
func (r *release) make(out string, targets []target) error {
	work, err := os.MkdirTemp("", "kasoku-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	common, err := r.commonFiles(work, targets)
	if err != nil {
		return err
	}
	binaries := map[target]string{}
	for _, t := range targets {
		log.Printf("%s %s", r.version, t)
		binary, err := r.build(work, t)
		if err != nil {
			return err
		}
		binaries[t] = binary
		if err := r.writeArchive(out, t, binary, common); err != nil {
			return err
		}
		if err := r.writeBill(out, t, binary); err != nil {
			return err
		}
		if err := r.writePackages(work, out, t, binary, common); err != nil {
			return err
		}
	}
	if err := r.writeImages(work, out, binaries, common); err != nil {
		return err
	}
	if err := r.writeFormula(out); err != nil {
		return err
	}
	return writeSums(out)
}

// writeSums writes SHA256SUMS, in the format of sha256sum, for all files in dir.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
