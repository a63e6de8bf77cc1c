package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/config"
)

// portOf finds the listeners' ports, so that the examples can run beside whatever
// listens on them here.
var portOf = regexp.MustCompile(`(listen: 127\.0\.0\.1):\d+`)

// Every example is taken as it is, and runs.
func TestExamplesRun(t *testing.T) {
	t.Setenv("ORDERS_SECRET", "s1")
	t.Setenv("REPORTS_SECRET", "s2")
	t.Setenv("COUCH_PASSWORD", "s3")
	t.Setenv("AWS_ACCESS_KEY_ID", "local")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "local")
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(file); err != nil {
				t.Fatal(err)
			}
			text = portOf.ReplaceAll(text, []byte("$1:0"))
			if !strings.Contains(string(text), "admin:") {
				text = append([]byte("admin: {listen: 127.0.0.1:0}\n"), text...)
			}
			runOnce(t, text)
		})
	}
}

// runOnce starts a configuration and stops it again.
func runOnce(t *testing.T, text []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := start(cfg, file, os.Stdout, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Every whole configuration in the documentation is valid.
func TestConfigurationsInDocs(t *testing.T) {
	t.Setenv("APP_SECRET", "s")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "services:") {
				continue
			}
			found++
			file := filepath.Join(t.TempDir(), "kasoku.yaml")
			if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(file); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(page), err, m[1])
			}
		}
	}
	if found < 2 {
		t.Fatalf("%d configurations were found", found)
	}
}
