package accel

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMetrics compares the counters with the requests.
func TestMetrics(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	f.origin.reply("BatchGetItem", `{"Responses":{"t":[]},"UnprocessedKeys":{}}`)
	f.origin.reply("Tomorrow", `{}`)
	f.do("GetItem", getA)
	const keys = `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}},{"p":{"S":"b"},"s":{"N":"2"}},{"p":{"S":"c"},"s":{"N":"3"}}]`
	f.do("BatchGetItem", keys+`}}}`)
	f.do("BatchGetItem", keys+`}}}`)
	f.do("BatchGetItem", keys+`,"ConsistentRead":true}}}`)
	f.do("Tomorrow", `{"TableName":"t"}`)
	f.do("GetItem", `{`)
	w := httptest.NewRecorder()
	f.svc.registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	page := w.Body.String()
	for _, line := range []string{
		`kasoku_dynamodb_batch_keys_total{decision="hit",service="orders"} 4`,
		`kasoku_dynamodb_batch_keys_total{decision="miss",service="orders"} 2`,
		`kasoku_dynamodb_batch_keys_total{decision="bypass-consistent",service="orders"} 3`,
		`kasoku_dynamodb_requests_total{decision="miss",operation="GetItem",service="orders"} 1`,
		`kasoku_dynamodb_requests_total{decision="partial",operation="BatchGetItem",service="orders"} 1`,
		`kasoku_dynamodb_requests_total{decision="hit",operation="BatchGetItem",service="orders"} 1`,
		`kasoku_dynamodb_requests_total{decision="pass",operation="unknown",service="orders"} 1`,
		`kasoku_dynamodb_requests_total{decision="local",operation="none",service="orders"} 1`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}
