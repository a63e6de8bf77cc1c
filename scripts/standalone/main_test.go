package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// consumer is the module of a program whose versions are as old as those that the module needs.
const consumer = `module example.com/consumer

go 1.24.0

require (
	github.com/aws/aws-sdk-go-v2 v1.30.4
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.34.5
	github.com/kasoku/kasoku/kasokutest v0.1.0
)

replace github.com/kasoku/kasoku/kasokutest => `

// testdata are the files that the test of docs/local-dynamodb.md loads.
var testdata = map[string]string{
	"testdata/Orders.json": `{"TableName":"Orders","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],` +
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`,
	"testdata/Orders.items.json": `{"id":{"S":"1"}}` + "\n" + `{"id":{"S":"2"}}` + "\n",
}

// TestConsumer writes the module, and a program with old versions of the AWS SDK and of Go that
// tests with it, as docs/local-dynamodb.md does: the test passes, and the program keeps its
// versions.
func TestConsumer(t *testing.T) {
	dir := t.TempDir()
	t.Chdir("../..")
	module := filepath.Join(dir, "kasokutest")
	if err := write("internal/kasokutest", module); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	page, err := os.ReadFile("docs/local-dynamodb.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, _ = strings.Cut(code, "```\n")
	files := map[string]string{"go.mod": consumer + module + "\n", "orders_test.go": code}
	maps.Copy(files, testdata)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(program, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(dir string, args ...string) []byte {
		t.Helper()
		c := exec.Command("go", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	run(program, "mod", "tidy")
	run(program, "test", "-vet=off", ".")
	var after struct {
		Go      string
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(run(program, "mod", "edit", "-json"), &after); err != nil {
		t.Fatal(err)
	}
	if after.Go != "1.24.0" {
		t.Errorf("the program needs Go %s", after.Go)
	}
	allowed := map[string]string{
		"github.com/aws/aws-sdk-go-v2":                  "v1.30.4",
		"github.com/aws/aws-sdk-go-v2/service/dynamodb": "v1.34.5",
		"github.com/kasoku/kasoku/kasokutest":           "v0.1.0",
		"github.com/cespare/xxhash/v2":                  "v2.3.0",
		"github.com/tidwall/btree":                      "v1.8.2",
	}
	for _, r := range after.Require {
		ofSDK := strings.HasPrefix(r.Path, "github.com/aws/") || r.Path == "github.com/jmespath/go-jmespath" // needs them without Kasoku
		if want, ok := allowed[r.Path]; want != r.Version && (ok || !ofSDK) {
			t.Errorf("the program requires %s %s", r.Path, r.Version)
		}
	}
}
