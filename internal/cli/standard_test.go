package cli

import (
	"bytes"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/config"
)

// TestBuiltInConfiguration runs the built-in configuration of serve in a folder without a file:
// the printed commands work, and the stored items survive a restart.
func TestBuiltInConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	text := portOf.ReplaceAllString(standardFile, "$1:0")
	if n := strings.Count(text, "127.0.0.1:0"); n != 3 {
		t.Fatalf("%d addresses were replaced in\n%s", n, standardFile)
	}
	serve := func(paste func(all string) string) string {
		t.Helper()
		cfg, err := config.Parse("(built in)", []byte(text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		n, err := start(cfg, "", &bytes.Buffer{}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		var greeting bytes.Buffer
		greet(&greeting, n.ServiceAddr("dynamodb").String(), n.DAXAddr("dynamodb").String())
		out, err := exec.CommandContext(t.Context(), "bash", "-euc", paste(greeting.String())).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	commands := func(all string) string {
		var list []string
		for line := range strings.Lines(all) {
			if strings.HasPrefix(line, "api") {
				list = append(list, line)
			}
		}
		if len(list) != 4 {
			t.Fatalf("got %d commands in\n%s", len(list), all)
		}
		return strings.Join(list, "")
	}
	const item = `{"Item":{"Artist":{"S":"Perfume"},"Song":{"S":"Polyrhythm"}}}`
	out := serve(commands)
	if strings.Contains(out, "__type") || !strings.HasSuffix(out, item+"\n") {
		t.Errorf("the pasted commands printed\n%s", out)
	}
	out = serve(func(all string) string {
		lines := strings.SplitAfter(commands(all), "\n")
		return lines[0] + lines[3] // the function, and GetItem
	})
	if out != item+"\n" {
		t.Errorf("after a restart: %s", out)
	}
}

// TestGreeting checks that the printed file is the one that serve uses.
func TestGreeting(t *testing.T) {
	var greeting bytes.Buffer
	greet(&greeting, "127.0.0.1:8000", "127.0.0.1:8111")
	if !strings.Contains(greeting.String(), standardFile) {
		t.Errorf("the greeting lacks the file:\n%s", greeting.String())
	}
}
