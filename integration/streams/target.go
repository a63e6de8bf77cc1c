package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// answer is a successful answer.
type answer struct {
	body    []byte
	hit     bool
	lagging bool // passed through because the stream is not read in time
}

var client = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
}

// send sends an unsigned request. An answer with another status than 200 is an error.
func send(ctx context.Context, url, operation, body string) (a answer, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	// DynamoDB Local requires the form of a signature.
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	resp, err := client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("%s %s: %s: %s", operation, body, resp.Status, a.body)
	}
	status := resp.Header.Get("Cache-Status")
	a.hit, a.lagging = strings.Contains(status, "; hit"), strings.Contains(status, "detail=lagging")
	return a, nil
}

// mustSend is like send, and fails the test if there is no successful answer.
func mustSend(t testing.TB, url, operation, body string) answer {
	t.Helper()
	a, err := send(t.Context(), url, operation, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const startupLimit = 60 * time.Second

// stream is the state of a stream in the report of a node.
type stream struct {
	Table, Reader, Trouble string
	Served                 bool
	Shards                 []struct{ ID string }
}

// streamOf returns the state of a table's stream, or false if the node doesn't follow it.
func streamOf(t testing.TB, n *harness.Node, table string) (s stream, found bool) {
	t.Helper()
	resp, err := client.Get(n.Admin + "/api/v1/report?format=json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var report struct{ Services []struct{ Streams []stream } }
	if err := json.NewDecoder(resp.Body).Decode(&report); err != nil {
		t.Fatal(err)
	}
	for _, service := range report.Services {
		for _, s := range service.Streams {
			if s.Table == table {
				return s, true
			}
		}
	}
	return stream{}, false
}

// awaitServed waits until a node serves a table from memory because it follows its stream.
func awaitServed(t testing.TB, n *harness.Node, table string) time.Duration {
	t.Helper()
	return harness.Await(t, "the stream of "+table+" is read in time", startupLimit, func() bool {
		mustSend(t, n.URL, "Scan", fmt.Sprintf(`{"TableName":%q,"Limit":1}`, table)) // only tables in use are followed
		s, found := streamOf(t, n, table)
		return found && s.Served
	})
}

// metric returns the sum of a metric over its labels.
func metric(t testing.TB, n *harness.Node, name string) (sum float64) {
	t.Helper()
	text, err := n.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, name); found && strings.ContainsAny(rest[:1], "{ ") {
			var value float64
			if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &value); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			sum += value
		}
	}
	return sum
}

// store starts a process with an embedded store whose streams have several shards, which are
// closed and followed by others all the time.
func store(t testing.TB, shardLife time.Duration) string {
	t.Helper()
	return harness.Start(t, harness.Options{
		Origin: "embedded:./data",
		Service: []string{"auth: {mode: none}", "item_ttl: 0s", "query_ttl: 0s", "negative_ttl: 0s",
			"stream_shards: 4", "stream_shard_life: " + shardLife.String()},
	}).URL
}

// maxLag is the configured streams_max_lag of the nodes.
const maxLag = time.Second

// bound is the time after which a write past Kasoku must be visible: the maximum lag, a poll, and
// a second because the times of records are in seconds.
const bound = maxLag + maxLag/4 + time.Second

// settled is the configured time after which answers of the origin are cached as they are.
const settled = 200 * time.Millisecond

// accelerate starts Kasoku in front of an origin whose streams it follows. Without them its
// answers would be served for an hour.
func accelerate(t testing.TB, origin string, change ...func(*harness.Options)) *harness.Node {
	t.Helper()
	o := harness.Options{
		Origin: origin,
		Service: []string{"auth: {mode: none}", "item_ttl: 1h", "query_ttl: 1h", "negative_ttl: 1h", "settle: " + settled.String(),
			"quarantine: 1s", "streams_max_lag: " + maxLag.String()},
	}
	for _, f := range change {
		f(&o)
	}
	return harness.Start(t, o)
}

// following is a change for accelerate.
func following(o *harness.Options) { o.Service = append(o.Service, "streams: on") }

// createTable creates a table with a sort key, a global index and a stream with images.
func createTable(t testing.TB, url, name string) {
	t.Helper()
	createWith(t, url, name, `{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}`)
}

// createWith creates such a table with a specification of a stream.
func createWith(t testing.TB, url, name, stream string) {
	t.Helper()
	mustSend(t, url, "CreateTable", fmt.Sprintf(`{"TableName":%q,"BillingMode":"PAY_PER_REQUEST",
"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"},{"AttributeName":"v","AttributeType":"N"}],
"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
"LocalSecondaryIndexes":[{"IndexName":"by-version","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"v","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
"GlobalSecondaryIndexes":[{"IndexName":"by-group","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}],
"StreamSpecification":%s}`, name, stream))
	awaitActive(t, url, name)
}

// awaitActive waits until a table is active.
func awaitActive(t testing.TB, url, name string) {
	t.Helper()
	harness.Await(t, "the table "+name+" is active", startupLimit, func() bool {
		a := mustSend(t, url, "DescribeTable", fmt.Sprintf(`{"TableName":%q}`, name))
		return !strings.Contains(string(a.body), `ATING"`) // CREATING, UPDATING
	})
}
