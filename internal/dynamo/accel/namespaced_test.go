package accel

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// namespaces is an origin that records its requests and the namespaces of these.
type namespaces struct{ asked []string }

func (n *namespaces) Do(_ context.Context, r *origin.Request) (*origin.Response, error) {
	op := strings.TrimPrefix(string(r.Header.Get("X-Amz-Target")), targetPrefix)
	n.asked = append(n.asked, op+" in "+r.Namespace)
	if op == "DeleteItem" {
		panic("a defect")
	}
	return &origin.Response{Status: 200, Body: []byte(`{"Item":{"p":{"S":"a"}}}`), Class: origin.Good, Attempts: 1}, nil
}
func (*namespaces) State() origin.State { return origin.State{} }
func (*namespaces) Close()              {}

// namespacedService returns a service in front of namespaces.
func namespacedService(t *testing.T) (*Service, *namespaces) {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	n := &namespaces{}
	svc, err := New(Config{
		Name: "db", Region: "us-east-1", Origin: origin.Config{URL: "embedded:x"}, Open: true, Local: true, Namespaced: true,
		ItemTTL: time.Minute, QueryTTL: time.Minute, NegativeTTL: time.Minute,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Connect:     func(origin.Config) (Origin, error) { return n, nil },
	}, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return svc, n
}

// TestNamespaced checks that each request is forwarded once, with its namespace, and that nothing
// else is sent to the store.
func TestNamespaced(t *testing.T) {
	svc, n := namespacedService(t)
	f := func(credential, op, body, wantBody string, decision telemetry.Decision, want ...string) {
		t.Helper()
		r := request(op)
		if credential != "" {
			r.Fields = append(r.Fields, http1.FieldsOf("X-Amz-Date", "20260102T030405Z",
				"Authorization", "AWS4-HMAC-SHA256 Credential="+credential+", SignedHeaders=host, Signature=0")...)
		}
		n.asked = nil
		x := edge.Detached(t.Context(), r, []byte(body), time.Now())
		svc.Serve(x)
		if !strings.Contains(string(x.Reply.Body), wantBody) || x.Record.Decision != decision || !slices.Equal(n.asked, want) {
			t.Errorf("%s: got %d %s (%s), and the store got %q; want %s (%s) and %q", op, x.Reply.Status, x.Reply.Body, x.Record.Decision, n.asked, wantBody, decision, want)
		}
	}
	const get, item = `{"TableName":"t","Key":{"p":{"S":"a"}}}`, `{"Item":{"p":{"S":"a"}}}`
	const scope = "/20260102/eu-west-1/dynamodb/aws4_request"
	for range 2 {
		f("one"+scope, "GetItem", get, item, telemetry.BypassUncacheable, "GetItem in one/eu-west-1")
		f("two"+scope, "GetItem", get, item, telemetry.BypassUncacheable, "GetItem in two/eu-west-1")
		f("", "GetItem", get, item, telemetry.BypassUncacheable, "GetItem in /")
	}
	f("one"+scope, "Query", `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`, item,
		telemetry.BypassUncacheable, "Query in one/eu-west-1")
	f("one"+scope, "BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"}}]}}}`, item, telemetry.BypassUncacheable, "BatchGetItem in one/eu-west-1")
	f("one"+scope, "PutItem", `{"TableName":"t","Item":{"p":{"S":"a"}}}`, item, telemetry.Write, "PutItem in one/eu-west-1")
	f("one"+scope, "CreateTable", `{"TableName":"t"}`, item, telemetry.Pass, "CreateTable in one/eu-west-1")
	f("one"+scope, "ExecuteStatement", `{"Statement":"DELETE FROM t WHERE p = 'a'"}`, item, telemetry.Write, "ExecuteStatement in one/eu-west-1")
	f("one", "GetItem", get, "Credential must have exactly 5 slash-delimited elements", telemetry.Local)
	// After a defect nothing is forwarded again, which would be without a namespace.
	f("one"+scope, "DeleteItem", get, "InternalServerError", telemetry.Local, "DeleteItem in one/eu-west-1")

	r := request("")
	r.Path = []byte("/service/DynamoDB_20120810/operation/GetItem")
	n.asked = nil
	svc.Serve(edge.Detached(t.Context(), r, nil, time.Now()))
	if !slices.Equal(n.asked, []string{" in /"}) {
		t.Errorf("the store got %q for a request in CBOR", n.asked)
	}
}

// TestNamespacedAdministration checks that explanations, purges and warming send nothing to a
// store: it would be that of no client.
func TestNamespacedAdministration(t *testing.T) {
	svc, n := namespacedService(t)
	const get = `{"TableName":"t","Key":{"p":{"S":"a"}}}`
	e, err := svc.Explain(t.Context(), admin.ExplainRequest{Headers: map[string]string{"X-Amz-Target": "GetItem"}, Body: json.RawMessage(get)})
	if err != nil || e.Decision != "bypass-uncacheable" || !strings.Contains(e.Steps[1].Note, "nothing is cached") {
		t.Errorf("explained as %+v, %v", e, err)
	}
	p, err := svc.Purge(t.Context(), admin.PurgeRequest{Service: "db", Table: "t"})
	if err != nil || p.Tags != 0 || !strings.Contains(p.Dropped, "nothing") {
		t.Errorf("purged %+v, %v", p, err)
	}
	if outcome, err := svc.Warm(t.Context(), `GetItem `+get); err != nil || outcome != admin.WarmUncacheable {
		t.Errorf("warmed %s, %v", outcome, err)
	}
	if len(n.asked) > 0 {
		t.Errorf("the store got %q", n.asked)
	}
}
