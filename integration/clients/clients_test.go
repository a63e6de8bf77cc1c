package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// The key that the clients sign with, and that Kasoku verifies.
const (
	keyID  = "APPLICATION"
	secret = "a secret that only clients and Kasoku know"
)

// scenarios runs the steps of one SDK against endpoint and returns the answers; see goScenario.
type scenarios func(t *testing.T, endpoint, run string) string

// twice runs a scenario directly and through Kasoku and compares the answers. between may
// put a proxy between Kasoku and DynamoDB Local; it returns the proxy's URL.
func twice(t *testing.T, name string, least int, scenario scenarios, between func(local string) string) {
	t.Helper()
	local := harness.DynamoDBLocal(t)
	direct, err := parse(scenario(t, local, name+"-direct"), name+"-direct")
	if err != nil {
		t.Fatal(err)
	}
	if len(direct) < least {
		t.Fatalf("the scenario has only %d steps, expected at least %d", len(direct), least)
	}
	node := harness.Start(t, harness.Options{
		Origin: between(local),
		Service: []string{"auth:", "  mode: sigv4", "  keys:",
			"    - {id: " + keyID + ", secret_env: CLIENT_SECRET, tables: [\"*\"], allow: [read, write, admin]}"},
		Env: []string{"CLIENT_SECRET=" + secret},
	})
	through, err := parse(scenario(t, node.URL, name+"-kasoku"), name+"-kasoku")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range compare(direct, through) {
		t.Error(d)
	}
}

// noProxy puts no proxy between Kasoku and DynamoDB Local.
func noProxy(local string) string { return local }

// run runs a program with the environment that makes an SDK sign with our key.
func run(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+keyID, "AWS_SECRET_ACCESS_KEY="+secret,
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true")
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		lines := out.Bytes()
		t.Fatalf("%s %v: %v (is it installed? make tools)\n%s\nlast lines: %s", program, args, err, &errs, lines[max(0, len(lines)-500):])
	}
	return out.String()
}

func pythonScenario(t *testing.T, endpoint, name string) string {
	return run(t, nil, filepath.Join(harness.Tools(), "python", "bin", "python"),
		filepath.Join(harness.Root(), "integration", "python", "scenario.py"), endpoint, name)
}

func javaScriptScenario(t *testing.T, endpoint, name string) string {
	return run(t, []string{"NODE_PATH=" + filepath.Join(harness.Tools(), "node", "node_modules")}, "node",
		filepath.Join(harness.Root(), "integration", "js", "scenario.js"), endpoint, name)
}

func TestPython(t *testing.T) { twice(t, "plain", 300, pythonScenario, noProxy) }

func TestJavaScript(t *testing.T) { twice(t, "plain", 150, javaScriptScenario, noProxy) }

func TestGo(t *testing.T) {
	twice(t, "plain", 150, goScenario, noProxy)
}

// TestGoThroughFaults throttles everything on the way to the origin and loses some reads:
// Kasoku retries where that is allowed, so that the client gets the same answers as without
// faults.
func TestGoThroughFaults(t *testing.T) {
	var throttles, losses fault.Injector
	throttles.Set(fault.Plan{Steady: true, OneIn: map[fault.Kind]int{fault.Throttle: 15}})
	kinds := map[fault.Kind]int{fault.Delay: 10, fault.ErrorBefore: 20, fault.ErrorAfter: 20, fault.Garbage: 20,
		fault.ResetBefore: 20, fault.ResetAfter: 20, fault.ResetBody: 20}
	losses.Set(fault.Plan{
		Steady:   true,
		OneIn:    kinds,
		Only:     []string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", "DescribeTable"},
		DelayFor: 20 * time.Millisecond,
	})
	twice(t, "faulty", 150, goScenario, func(local string) string {
		proxy, err := fault.Proxy(local)
		if err != nil {
			t.Fatal(err)
		}
		return harness.Origin(t, throttles.Wrap(losses.Wrap(proxy)))
	})
	if throttles.Count(fault.Throttle) == 0 {
		t.Error("no request was throttled: the run does not test throttling")
	}
	for k := range kinds {
		if losses.Count(k) == 0 {
			t.Errorf("no read was given the fault %q: the run does not test it", k)
		}
	}
}

// TestCompare checks that the comparison finds all differences, and only those.
func TestCompare(t *testing.T) {
	const line = `{"step":"get","answer":{"Item":{"a":{"N":"1"}},"ResponseMetadata":{"RequestId":"x","HTTPHeaders":{"content-type":"j","date":"d"}}}}` + "\n"
	f := func(name string, same bool, other string) {
		t.Helper()
		a, err := parse(line, "direct")
		if err != nil {
			t.Fatal(err)
		}
		b, err := parse(other, "kasoku")
		if err != nil {
			t.Fatal(err)
		}
		if found := compare(a, b); (len(found) == 0) != same {
			t.Errorf("%s: same should be %t; differences: %q", name, same, found)
		}
	}
	f("the same", true, line)
	f("other request id and date", true, `{"step":"get","answer":{"Item":{"a":{"N":"1"}},"ResponseMetadata":{"RequestId":"y","HTTPHeaders":{"content-type":"j","date":"e","cache-status":"kasoku; hit"}}}}`)
	f("no request id", false, `{"step":"get","answer":{"Item":{"a":{"N":"1"}},"ResponseMetadata":{"HTTPHeaders":{"content-type":"j"}}}}`)
	f("other value", false, `{"step":"get","answer":{"Item":{"a":{"N":"1.0"}},"ResponseMetadata":{"RequestId":"x","HTTPHeaders":{"content-type":"j"}}}}`)
	f("other content type", false, `{"step":"get","answer":{"Item":{"a":{"N":"1"}},"ResponseMetadata":{"RequestId":"x","HTTPHeaders":{"content-type":"k"}}}}`)
	f("one step more", false, line+line)
}
