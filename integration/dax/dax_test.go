package dax

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// auth has Kasoku verify the clients' signatures.
var auth = []string{"auth:", "  mode: sigv4", "  keys:",
	"    - {id: " + keyID + ", secret_env: CLIENT_SECRET, tables: [\"*\"], allow: [read, write, admin]}"}

// serve starts Kasoku with a DAX front in front of origin.
func serve(t *testing.T, origin string, service ...string) *harness.Node {
	t.Helper()
	return harness.Start(t, harness.Options{Origin: origin, DAX: true, Service: service, Env: []string{"CLIENT_SECRET=" + secret}})
}

// named adds the name of a client to requests, which DynamoDB Local requires but doesn't check.
type named struct{}

func (named) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+keyID+"/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("X-Amz-Date", "20200101T000000Z")
	return http.DefaultTransport.RoundTrip(r)
}

// runs counts the runs with DynamoDB Local's one set of tables.
var runs atomic.Int64

// unique returns a name that no other run has.
func unique(run string) string { return fmt.Sprint(run, runs.Add(1)) }

// create creates the tables of a run, at an endpoint that accepts every client.
func create(t *testing.T, endpoint, prefix string) {
	t.Helper()
	for _, table := range tables {
		if _, err := harness.MustCall(t.Context(), &http.Client{Transport: named{}}, endpoint, "CreateTable", strings.ReplaceAll(table, "RUN-", prefix)); err != nil {
			t.Fatal(err)
		}
	}
}

// runAll runs the steps with some clients concurrently, through dax and at endpoint. The tables of
// both are created at origin.
func runAll(t *testing.T, some []driver, dax, endpoint, origin, run string) {
	t.Helper()
	run = unique(run)
	every, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range some {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, side := range []string{"x", "y"} {
				create(t, origin, c.name+"-"+run+"-"+side+"-")
			}
			steps := slices.DeleteFunc(slices.Clone(every), func(s step) bool { return !c.supports(s) })
			input, err := lines(steps)
			if err != nil {
				t.Fatal(err)
			}
			answers, err := c.run(t, dax, endpoint, run, input)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range compare(c.name, steps, answers) {
				t.Error(d)
			}
		})
	}
}

// TestDynamoDBLocal compares the replies of DAX clients from Kasoku in front of DynamoDB
// Local with the replies of SDKs from DynamoDB Local itself.
func TestDynamoDBLocal(t *testing.T) {
	local := harness.DynamoDBLocal(t)
	runAll(t, drivers(), serve(t, local, auth...).DAX, local, local, "local")
}

// TestEmbedded compares the DAX front with the HTTP front of one node with the embedded store, with
// some of the clients.
func TestEmbedded(t *testing.T) {
	node := serve(t, "embedded:./data", "auth: {mode: none}")
	// Two clients cover all encodings: Python writes numbers as decimals, JavaScript as doubles.
	some := slices.DeleteFunc(drivers(), func(c driver) bool { return c.name != "python" && c.name != "javascript3" })
	runAll(t, some, node.DAX, node.URL, node.URL, "own")
}
