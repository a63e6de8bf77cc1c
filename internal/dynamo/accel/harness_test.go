package accel

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// originRequest is a request as the origin received it.
type originRequest struct {
	op   string
	body string
}

// fakeOrigin answers by operation: with the handler set for it, otherwise from replies. It
// records its requests.
type fakeOrigin struct {
	mu      sync.Mutex
	log     []originRequest
	replies map[string]string
	handler func(op, body string) (status int, reply string)
	spy     func(http.Header) // called with the header of each request except DescribeTable
	srv     *httptest.Server
}

func newFakeOrigin(t testing.TB) *fakeOrigin {
	f := &fakeOrigin{replies: map[string]string{"DescribeTable": describeT}}
	f.srv = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.srv.Close)
	return f
}

func (f *fakeOrigin) serve(w http.ResponseWriter, r *http.Request) {
	op := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.log = append(f.log, originRequest{op, string(body)})
	reply, handler := f.replies[op], f.handler
	if f.spy != nil && op != "DescribeTable" {
		f.spy(r.Header)
	}
	f.mu.Unlock()
	status := http.StatusOK
	if handler != nil {
		if st, own := handler(op, string(body)); st != 0 {
			status, reply = st, own
		}
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("x-amzn-RequestId", "ORIGIN")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, reply)
}

func (f *fakeOrigin) reply(op, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replies[op] = body
}

// take returns the requests since the last call, without the service's own requests about
// tables.
func (f *fakeOrigin) take() []originRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []originRequest
	for _, a := range f.log {
		if a.op != "DescribeTable" && a.op != "DescribeTimeToLive" {
			out = append(out, a)
		}
	}
	f.log = nil
	return out
}

// describeT is a table with a sort key, a global index on g (all attributes), a
// global index on k (keys only) and a local index on l.
const describeT = `{"Table":{"TableName":"t","TableId":"1","TableStatus":"ACTIVE","CreationDateTime":1.5,
 "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},
  {"AttributeName":"g","AttributeType":"S"},{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"l","AttributeType":"S"}],
 "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
 "LocalSecondaryIndexes":[{"IndexName":"byl","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],
  "Projection":{"ProjectionType":"ALL"}}],
 "GlobalSecondaryIndexes":[
  {"IndexName":"byg","IndexStatus":"ACTIVE","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}},
  {"IndexName":"byk","IndexStatus":"ACTIVE","KeySchema":[{"AttributeName":"k","KeyType":"HASH"},{"AttributeName":"p","KeyType":"RANGE"}],
   "Projection":{"ProjectionType":"KEYS_ONLY"}}]}}`

type fixture struct {
	t      testing.TB
	origin *fakeOrigin
	svc    *Service
	cfg    Config
}

func newFixture(t testing.TB, change ...func(*Config, *cache.Config)) *fixture {
	t.Helper()
	o := newFakeOrigin(t)
	cfg := Config{
		Name: "orders", Region: "us-east-1",
		Origin: origin.Config{
			URL: o.srv.URL, Timeout: 5 * time.Second,
			Retry: origin.Retry{Attempts: 1}, Breaker: origin.Breaker{Disabled: true},
		},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		ItemTTL:     5 * time.Minute, QueryTTL: 5 * time.Minute, NegativeTTL: time.Minute,
	}
	// Nothing counts as recently written unless a test changes that.
	cc := cache.Config{Memory: 64 << 20, Settle: time.Nanosecond, Generations: 1 << 16}
	for _, f := range change {
		f(&cfg, &cc)
	}
	cfg.Open = cfg.Keys == nil
	c, err := cache.New(cc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := New(cfg, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	<-time.After(2 * time.Millisecond) // in its first millisecond, everything counts as recently written
	return &fixture{t: t, origin: o, svc: svc, cfg: cfg}
}

// result is the reply that a client received.
type result struct {
	status   int
	body     string
	decision telemetry.Decision
	head     string
}

func request(op string) http1.Request {
	return http1.Request{
		Method: []byte("POST"), Target: []byte("/"), Path: []byte("/"), Host: []byte("127.0.0.1"), Minor: 1,
		Fields: []http1.Field{
			{Name: []byte("X-Amz-Target"), Value: []byte(targetPrefix + op)},
			{Name: []byte("Content-Type"), Value: []byte(jsonType)},
		},
	}
}

func (f *fixture) do(op, body string) result {
	f.t.Helper()
	return f.send(request(op), body)
}

func (f *fixture) send(r http1.Request, body string) result {
	f.t.Helper()
	x := edge.Detached(context.Background(), r, []byte(body), time.Now())
	f.svc.Serve(x)
	return result{x.Reply.Status, string(x.Reply.Body), x.Record.Decision, string(x.Reply.Head())}
}

// expect sends a request and checks the answer's decision and, as JSON, its body.
func (f *fixture) expect(op, body string, d telemetry.Decision, want string) {
	f.t.Helper()
	got := f.do(op, body)
	if got.decision != d || !sameJSON(got.body, want) {
		f.t.Fatalf("%s %s\n got %d %s %s\nwant %s %s", op, body, got.status, got.decision, got.body, d, want)
	}
}

// origins checks the operations sent to the origin since the last check.
func (f *fixture) origins(want ...string) []originRequest {
	f.t.Helper()
	got := f.origin.take()
	var ops []string
	for _, a := range got {
		ops = append(ops, a.op)
	}
	if strings.Join(ops, " ") != strings.Join(want, " ") {
		f.t.Fatalf("the origin received %v; want %v", got, want)
	}
	return got
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// detached returns an exchange for a request.
func detached(t testing.TB, op, body string) *edge.Exchange {
	return edge.Detached(t.Context(), request(op), []byte(body), time.Now())
}
