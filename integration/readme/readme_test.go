// Package readme runs the commands of README.md.
package readme

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// block returns the first fenced block of README.md with this start.
func block(t *testing.T, start string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```[a-z]*\n(.*?)```").FindAllSubmatch(text, -1) {
		if bytes.HasPrefix(m[1], []byte(start)) {
			return string(m[1])
		}
	}
	t.Fatalf("no block begins with %q", start)
	return ""
}

// run runs a command in a folder and returns its output.
func run(t *testing.T, dir string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func freePort(t *testing.T) string {
	t.Helper()
	addr, err := harness.StablePort()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// TestTable follows the section about a DynamoDB table, in front of DynamoDB Local: it builds
// Kasoku, checks and serves the configuration, and reads an item by the Python client.
func TestTable(t *testing.T) {
	local, addr := harness.DynamoDBLocal(t), freePort(t)
	here := strings.NewReplacer("127.0.0.1:8000", addr, "https://dynamodb.eu-west-1.amazonaws.com", local)
	dir := t.TempDir()
	text := "admin: {listen: \"" + freePort(t) + "\"}\n" + here.Replace(block(t, "# kasoku.yaml"))
	if err := os.WriteFile(filepath.Join(dir, "kasoku.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]string{{"APP_SECRET", "s3cret"}, {"AWS_ACCESS_KEY_ID", "local"}, {"AWS_SECRET_ACCESS_KEY", "local"}} {
		t.Setenv(e[0], e[1])
	}
	binary := filepath.Join(dir, "bin", "kasoku")
	for _, line := range strings.Split(strings.TrimSpace(block(t, "go build")), "\n") {
		words := strings.Fields(line)
		switch words[0] {
		case "go":
			words[3] = binary
			run(t, harness.Root(), words[0], words[1:]...)
		case "export":
		case "bin/kasoku":
			if words[1] != "serve" {
				run(t, dir, binary, words[1:]...)
				continue
			}
			cmd := exec.Command(binary, words[1:]...)
			cmd.Dir = dir
			p, err := harness.Run(cmd, "http://"+addr, func(int) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			p.StopWith(t)
		default:
			t.Fatalf("unknown command: %s", line)
		}
	}
	program := `import boto3, os
boto3.client("dynamodb", endpoint_url="` + local + `", region_name="eu-west-1").create_table(
    TableName="orders", BillingMode="PAY_PER_REQUEST",
    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
APP_SECRET = os.environ["APP_SECRET"]
client = ` + here.Replace(block(t, "boto3.client")) + `
client.put_item(TableName="orders", Item={"id": {"S": "1"}})
for _ in range(2):
    answer = client.get_item(TableName="orders", Key={"id": {"S": "1"}})
print(answer["Item"]["id"]["S"], answer["ResponseMetadata"]["HTTPHeaders"]["cache-status"])
`
	got := run(t, dir, filepath.Join(harness.Tools(), "python", "bin", "python"), "-c", program)
	if !regexp.MustCompile(`^1 kasoku; hit; ttl=\d+\n$`).MatchString(got) {
		t.Errorf("the program printed %q, want item 1 from the cache", got)
	}
}

// TestMakeRun runs the script of `make run` at other addresses, with its store in a folder of
// the test.
func TestMakeRun(t *testing.T) {
	script, _, _ := strings.Cut(block(t, "make run"), " #")
	words := strings.Fields(run(t, harness.Root(), "make", append([]string{"-n"}, strings.Fields(script)[1:]...)...))
	addr := freePort(t)
	cmd := exec.Command(words[0], words[1:]...) // without make, whose child would survive it
	cmd.Dir, cmd.Env = harness.Root(), append(os.Environ(), "LISTEN="+addr, "DAX="+freePort(t), "ADMIN="+freePort(t), "DIR="+t.TempDir())
	p, err := harness.Run(cmd, "http://"+addr, func(status int) bool { return status == http.StatusOK })
	if err != nil {
		t.Fatal(err)
	}
	p.StopWith(t)
	list := `{"TableNames":[]}`
	if got, err := harness.MustCall(t.Context(), http.DefaultClient, "http://"+addr, "ListTables", "{}"); err != nil || got != list {
		t.Errorf("ListTables: got %s, %v; want %s", got, err, list)
	}
}
