package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageIsCurrent also fails when a field has no comment.
func TestPageIsCurrent(t *testing.T) {
	want, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/configuration.md is out of date: go generate ./internal/config")
	}
}

func TestFieldWithoutCommentIsRefused(t *testing.T) {
	f := func(source, want string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "c.go"), []byte("package c\n"+source), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := generate(dir)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("generate: %v; want %q", err, want)
		}
	}
	f("type Config struct {\n\tA int `yaml:\"a\"`\n}", `Config.A (key "a") has no comment`)
	f("type Config struct {\n\t// A.\n\tA chan int `yaml:\"a\"`\n}", `the manual has no word for type`)
	f("type Other struct{}", "no type Config")
}
