package clients

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// inside runs a scenario against the embedded store, with the cache and without. The answers of
// both must be equal, and must refuse the same requests as DynamoDB Local, with the same types
// of errors. DynamoDB Local's data and messages are not compared, since they differ from the
// service's.
func inside(t *testing.T, name string, least int, scenario scenarios) {
	t.Helper()
	ask := func(endpoint, run string) []answer {
		t.Helper()
		host := strings.TrimPrefix(endpoint, "http://") // DescribeEndpoints returns it
		answers, err := parse(strings.ReplaceAll(scenario(t, endpoint, run), host, "HOST"), run)
		if err != nil {
			t.Fatal(err)
		}
		return answers
	}
	store := func(service ...string) string {
		t.Helper()
		return harness.Start(t, harness.Options{
			Origin: "embedded:./data",
			Service: append(service, "auth:", "  mode: sigv4", "  keys:",
				"    - {id: "+keyID+", secret_env: CLIENT_SECRET, tables: [\"*\"], allow: [read, write, admin]}"),
			Env: []string{"CLIENT_SECRET=" + secret},
		}).URL
	}
	bare := ask(store("item_ttl: 0s", "query_ttl: 0s", "negative_ttl: 0s"), name+"-bare")
	if len(bare) < least {
		t.Fatalf("the scenario has only %d steps, expected at least %d", len(bare), least)
	}
	for _, d := range compare(bare, ask(store(), name+"-cached")) {
		t.Error(d)
	}
	theirs := ask(harness.DynamoDBLocal(t), name+"-local")
	if len(theirs) != len(bare) {
		t.Fatalf("got %d steps with DynamoDB Local and %d with the embedded store, want as many", len(theirs), len(bare))
	}
	refused := 0
	for i := range bare {
		got, want := errorType(bare[i].Answer), errorType(theirs[i].Answer)
		if want != "" {
			refused++
		}
		if got != want && !better[bare[i].Step] {
			t.Errorf("step %d, %s: error %q; from DynamoDB Local %q: %s", i, bare[i].Step, got, want, text(bare[i].Answer))
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: the run does not test errors")
	}
}

// better are the steps at which DynamoDB Local does less than the service, or returns another type
// of error.
var better = map[string]bool{"endpoints": true, "tags": true, "backups": true, "partiql-insert-twice": true}

// errorType returns the type of the error in an answer, in the form of any of the SDKs; "" if there
// is none.
func errorType(answer any) string {
	outer, _ := answer.(map[string]any)
	switch e := outer["error"].(type) {
	case string: // Go
		return e
	case map[string]any:
		if inner, ok := e["Error"].(map[string]any); ok { // Python
			code, _ := inner["Code"].(string)
			return code
		}
		name, _ := e["name"].(string) // JavaScript
		return name
	}
	return ""
}

func TestGoEmbedded(t *testing.T)         { inside(t, "in-go", 150, goScenario) }
func TestPythonEmbedded(t *testing.T)     { inside(t, "in-py", 300, pythonScenario) }
func TestJavaScriptEmbedded(t *testing.T) { inside(t, "in-js", 150, javaScriptScenario) }
