package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// release identifies a release.
type release struct {
	root      string // of the source
	packaging string // the directory with files for packages
	version   string // "0.1.0", or "0.1.0-dev" for a section of the changelog that is unreleased
	commit    string
	time      time.Time // of the commit; the modification time of all files
}

// newRelease returns the release of the commit that is checked out in root. A tree with
// uncommitted changes is an error unless dirty is set.
func newRelease(root string, dirty bool) (*release, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	r := &release{root: root, packaging: filepath.Join(root, "packaging")}
	if r.version, err = versionOf(string(changelog)); err != nil {
		return nil, err
	}
	if r.commit, err = git(root, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	changes, err := git(root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		if !dirty {
			return nil, errors.New("there are uncommitted changes: commit them, or use -dirty for a test:\n" + changes)
		}
		r.commit += "+dirty"
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = git(root, "log", "-1", "--format=%ct"); err != nil {
			return nil, err
		}
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.time = time.Unix(epoch, 0).UTC()
	return r, nil
}

var (
	anySection = regexp.MustCompile(`(?m)^## (.*)$`)
	section    = regexp.MustCompile(`^(\d+\.\d+\.\d+) \((unreleased|\d{4}-\d{2}-\d{2})\)$`)
)

// versionOf returns the version of the newest section of a changelog. That of an unreleased
// section has the suffix -dev.
func versionOf(changelog string) (string, error) {
	heading := anySection.FindStringSubmatch(changelog)
	if heading == nil {
		return "", errors.New("CHANGELOG.md has no section")
	}
	m := section.FindStringSubmatch(heading[1])
	if m == nil {
		return "", fmt.Errorf(`CHANGELOG.md: the newest section is %q, want for example "0.1.0 (unreleased)" or "0.1.0 (2026-12-01)"`, heading[1])
	}
	if m[2] == "unreleased" {
		return m[1] + "-dev", nil
	}
	return m[1], nil
}

// git runs git in dir and returns its output without the last line break.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w%s", strings.Join(args, " "), err, stderrOf(err))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// stderrOf returns the standard error of a program that failed, on lines of their own.
func stderrOf(err error) string {
	if e, ok := errors.AsType[*exec.ExitError](err); ok && len(e.Stderr) > 0 {
		return "\n" + strings.TrimSpace(string(e.Stderr))
	}
	return ""
}
