package main

import (
	"os"
	"strings"
	"testing"
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
