package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// writeBill writes the bill of materials of a binary, as CycloneDX in JSON: the modules that are
// compiled in, with their checksums.
func (r *release) writeBill(out string, t target, binary string) error {
	cmd := exec.Command("go", "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-noserial", "-notimestamp",
		"-version", "v"+r.version, binary)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cyclonedx-gomod: %w%s", err, stderrOf(err))
	}
	if text, err = withoutToolHashes(text); err != nil {
		return fmt.Errorf("cyclonedx-gomod: %w", err)
	}
	return os.WriteFile(filepath.Join(out, r.artifact(t)+".cdx.json"), text, 0o644)
}

// withoutToolHashes removes the checksums of the tool that has written a bill of materials. They
// depend on the machine that has compiled the tool.
func withoutToolHashes(text []byte) ([]byte, error) {
	var bill map[string]any
	if err := json.Unmarshal(text, &bill); err != nil {
		return nil, err
	}
	metadata, _ := bill["metadata"].(map[string]any)
	tools, _ := metadata["tools"].([]any)
	for _, tool := range tools {
		if m, ok := tool.(map[string]any); ok {
			delete(m, "hashes")
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(bill); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
