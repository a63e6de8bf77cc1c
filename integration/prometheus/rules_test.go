// Package prometheus checks the alerting rules with Prometheus's own tool.
package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// TestRules lets promtool check the syntax of the rules and evaluate them on series.
func TestRules(t *testing.T) {
	program := filepath.Join(harness.Tools(), "prometheus", "promtool")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("promtool"); err != nil {
			t.Fatal("promtool is missing: make tools fetches it on Debian, brew install prometheus elsewhere")
		}
	}
	folder := filepath.Join(harness.Root(), "packaging", "prometheus")
	f := func(command, file string) {
		t.Run(command, func(t *testing.T) {
			if out, err := exec.Command(program, command, "rules", filepath.Join(folder, file)).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	f("check", "kasoku.rules.yaml")
	f("test", "kasoku.rules.test.yaml")
}
