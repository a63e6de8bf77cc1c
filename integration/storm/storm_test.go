// Package storm checks Kasoku under sudden events: many clients that request one cold key,
// and its own death.
package storm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
)

func TestMain(m *testing.M) { harness.Main(m) }

const createTable = `{"TableName":"storm","BillingMode":"PAY_PER_REQUEST",
"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`

var open = []string{"auth: {mode: none}"}

// many returns an HTTP client with the given maximum number of connections.
func many(t *testing.T, connections int) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func must(t *testing.T, client *http.Client, url, operation, body string) string {
	t.Helper()
	text, err := harness.MustCall(t.Context(), client, url, operation, body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestConcurrentMissesMakeOneRequest has 1,000 clients request a cold key while the origin
// holds its response back: one request must be sent to the origin, and all clients must receive
// its response.
func TestConcurrentMissesMakeOneRequest(t *testing.T) {
	const clients = 1000
	db, gate := model.New(), &fault.Injector{}
	origin := harness.Origin(t, gate.Wrap(db))
	client := many(t, clients)
	must(t, client, origin, "CreateTable", createTable)
	for _, id := range []string{"cold", "warm"} {
		must(t, client, origin, "PutItem", `{"TableName":"storm","Item":{"id":{"S":"`+id+`"},"v":{"S":"x"}}}`)
	}
	node := harness.Start(t, harness.Options{Origin: origin, Service: open})

	f := func(name, operation, body string) {
		t.Helper()
		// The table's description is fetched for another key.
		must(t, client, node.URL, "GetItem", `{"TableName":"storm","Key":{"id":{"S":"warm"}}}`)
		want := must(t, client, origin, operation, body)
		before := db.Requests(operation)
		release := gate.Hold()
		var sent, answered sync.WaitGroup
		sent.Add(clients)
		var wrong atomic.Int64
		for range clients {
			answered.Go(func() {
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
					WroteRequest: func(httptrace.WroteRequestInfo) { sent.Done() },
				})
				text, err := harness.MustCall(ctx, client, node.URL, operation, body)
				if err != nil || !sameJSON(text, want) {
					wrong.Add(1)
				}
			})
		}
		sent.Wait()
		release()
		answered.Wait()
		if n := wrong.Load(); n > 0 {
			t.Errorf("%s: %d of %d clients did not get the origin's answer", name, n, clients)
		}
		if n := db.Requests(operation) - before; n != 1 {
			t.Errorf("%s: the origin received %d requests, want 1", name, n)
		}
	}
	f("an item", "GetItem", `{"TableName":"storm","Key":{"id":{"S":"cold"}}}`)
	f("no item", "GetItem", `{"TableName":"storm","Key":{"id":{"S":"nothing"}}}`)
	f("a query", "Query", `{"TableName":"storm","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"cold"}}}`)
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}
