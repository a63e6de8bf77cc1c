package cli

import (
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

const (
	memoryStore = `  db: {type: dynamodb, listen: "127.0.0.1:0", dax: "127.0.0.1:0", origin: embedded:memory, auth: {mode: none}}` + "\n"
	putT        = `{"TableName":"tab","Item":{"id":{"S":"1"},"v":{"N":"1"}}}`
)

// fault sends a request to the admin API about faults, and returns its answer.
func (r *running) fault(path, body string) string {
	r.t.Helper()
	resp, answer := post(r.t, http.DefaultClient, "http://"+r.AdminAddr().String()+"/api/v1/faults"+path, "application/json", body)
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s %s: %d %s", path, body, resp.StatusCode, answer)
	}
	return strings.Join(strings.Fields(answer), "")
}

// TestFaultsBypassTheCache checks that faults reach requests that the cache could answer, and
// that nothing is stored while they are set.
func TestFaultsBypassTheCache(t *testing.T) {
	r := storeNode(t, memoryStore)
	r.ask("db", "CreateTable", createT)
	r.ask("db", "PutItem", putT)
	expect := func(decision, answer string) {
		t.Helper()
		how, got := r.ask("db", "GetItem", getT)
		if !strings.Contains(how, decision) || !strings.Contains(got, answer) {
			t.Errorf("got %s, %s; want %s, %s", how, got, decision, answer)
		}
	}
	expect("", `"v"`)
	expect("hit", `"v"`)
	r.fault("", `{"plan":{"rules":[{"operations":"GetItem","count":1,"error":"InternalServerError"}]}}`)
	expect("fwd=bypass", "InternalServerError")
	expect("fwd=bypass", `"v"`)
	expect("fwd=bypass", `"v"`)
	// The requests that the service sends for itself are not counted.
	if got := r.fault("/add", `{"rule":{"operations":["PutItem","Describe*"],"error":"ThrottlingException","executed":true}}`); !strings.Contains(got, `"matched":3,"injected":1`) {
		t.Errorf("got %s", got)
	}
	if _, got := r.ask("db", "PutItem", strings.Replace(putT, `"1"}}}`, `"2"}}}`, 1)); !strings.Contains(got, "ThrottlingException") {
		t.Errorf("got %s", got)
	}
	expect("fwd=bypass", `"v":{"N":"2"}`)
	if page := r.page("/metrics"); !strings.Contains(page, `kasoku_store_faults_total{rule="2",service="db"} 1`+"\n") {
		t.Errorf("/metrics lacks the faults of rule 2")
	}
	r.fault("/clear", `{}`)
	expect("fwd=miss", `"v":{"N":"2"}`)
	other := strings.Replace(getT, `"1"`, `"2"`, 1) // the item is not cached soon after a write of unknown outcome
	r.ask("db", "GetItem", other)
	if how, _ := r.ask("db", "GetItem", other); !strings.Contains(how, "hit") {
		t.Errorf("after the faults: got %s", how)
	}
	if page := r.page("/metrics"); strings.Contains(page, `rule="2"`) {
		t.Error("/metrics has the faults of a rule that has been cleared")
	}
}

// TestFaultsWithTheCache checks that with bypass_cache false hits are answered as usual, that no
// error is stored, and that an executed write is not hidden by an entry.
func TestFaultsWithTheCache(t *testing.T) {
	r := storeNode(t, memoryStore)
	r.ask("db", "CreateTable", createT)
	r.ask("db", "PutItem", putT)
	r.ask("db", "GetItem", getT)
	r.fault("", `{"plan":{"bypass_cache":false,"rules":[{"operations":"GetItem","count":1,"error":"ThrottlingException"},{"operations":"PutItem","count":1,"error":"ThrottlingException","executed":true}]}}`)
	if how, got := r.ask("db", "GetItem", getT); !strings.Contains(how, "hit") {
		t.Errorf("a cached item: got %s, %s", how, got)
	}
	r.ask("db", "PutItem", strings.Replace(putT, `"1"}}}`, `"2"}}}`, 1))
	if _, got := r.ask("db", "GetItem", getT); !strings.Contains(got, "ThrottlingException") {
		t.Errorf("after a write of unknown outcome: got %s", got)
	}
	if _, got := r.ask("db", "GetItem", getT); !strings.Contains(got, `"v":{"N":"2"}`) {
		t.Errorf("after the faults: got %s", got)
	}
}

// TestFaultResets checks that the client's connection is closed without an answer, for requests of
// every way through the service.
func TestFaultResets(t *testing.T) {
	r := storeNode(t, memoryStore)
	r.ask("db", "CreateTable", createT)
	r.fault("", `{"plan":{"rules":[{"reset":true,"operations":["GetItem","Query"]},{"reset":true,"executed":true,"operations":"PutItem"}]}}`)
	send := func(operation, body string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.ServiceAddr("db").String(), io.NopCloser(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		resp, err := (&http.Transport{}).RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for operation, body := range map[string]string{"GetItem": getT, "PutItem": putT,
		"Query": `{"TableName":"tab","KeyConditionExpression":"id=:i","ExpressionAttributeValues":{":i":{"S":"1"}}}`} {
		if err := send(operation, body); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
			t.Errorf("%s: got error %v", operation, err)
		}
	}
	r.fault("/clear", `{}`)
	if _, got := r.ask("db", "GetItem", getT); !strings.Contains(got, `"v":{"N":"1"}`) {
		t.Errorf("after a write whose answer was lost: got %s", got)
	}
}

var (
	faultLine  = regexp.MustCompile(`(?m)^    (kasoku fault .*?)(?:\s+#.*)?$`)
	faultPlans = regexp.MustCompile("(?s)```json\n(.*?)```")
)

// TestFaultsPage runs the commands of docs/faults.md, with its first plan as plan.json, and sets
// its other plans.
func TestFaultsPage(t *testing.T) {
	text := pages(t)["faults.md"]
	r := storeNode(t, memoryStore)
	r.ask("db", "CreateTable", `{"TableName":"orders-1","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}`)
	plans := faultPlans.FindAllStringSubmatch(text, -1)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("plan.json", []byte(plans[0][1]), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		r.fault("", `{"plan":`+p[1]+`}`)
	}
	lines := faultLine.FindAllStringSubmatch(text, -1)
	for _, m := range lines {
		var out, errs strings.Builder
		args := append(words(t, m[1])[1:], "--admin", "http://"+r.AdminAddr().String())
		if code := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv}); code != codeOK {
			t.Errorf("%s: exit code %d: %s", m[1], code, errs.String())
		}
	}
	if len(plans) < 2 || len(lines) < 6 {
		t.Errorf("got only %d plans and %d commands", len(plans), len(lines))
	}
}
