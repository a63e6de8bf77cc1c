package storm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// TestDirectoryInUse starts a second node in the directory of a running one: it gets an
// error, and the first node continues. A kill releases the directory.
func TestDirectoryInUse(t *testing.T) {
	client := many(t, 1)
	dir := t.TempDir()
	node := harness.Start(t, harness.Options{Origin: "embedded:" + dir, Service: open})
	must(t, client, node.URL, "CreateTable", createTable)

	binary, err := harness.Binary("")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "kasoku.yaml")
	text := "admin: {listen: 127.0.0.1:0}\nservices:\n  db: {type: dynamodb, listen: 127.0.0.1:0, origin: \"embedded:" + dir + "\", auth: {mode: none}}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	second := exec.CommandContext(t.Context(), binary, "serve", "-c", config)
	out, err := second.CombinedOutput()
	if text = string(out); err == nil || !strings.Contains(text, "another process uses this directory") || !strings.Contains(text, dir) {
		t.Errorf("the second node ended with %v and printed %s", err, text)
	}

	const put = `{"TableName":"storm","Item":{"id":{"S":"a"}}}`
	must(t, client, node.URL, "PutItem", put)
	node.Kill()
	node.Restart(t)
	if text = must(t, client, node.URL, "GetItem", `{"TableName":"storm","Key":{"id":{"S":"a"}}}`); !strings.Contains(text, `"a"`) {
		t.Errorf("after the kill: %s", text)
	}
}
