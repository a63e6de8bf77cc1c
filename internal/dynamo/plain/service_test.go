package plain_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/plain"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// item is the item of bbpd's walk-through of 2015, as an origin returns it.
const item = `{"TheHashKey":{"S":"a-hash-key"},"TheRangeKey":{"N":"1"},"num":{"N":"1"},"numlist":{"NS":["-7234234234.234234","1","2","3","7","9"]},"stringlist":{"SS":["pk1_a","pk1_b","pk1_c"]}}`

const (
	getIt    = `{"TableName":"bbpd-test","Key":{"TheHashKey":{"S":"a-hash-key"},"TheRangeKey":{"N":"1"}}}`
	plainIt  = `{"Item":{"TheHashKey":"a-hash-key","TheRangeKey":1,"num":1,"numlist":[-7234234234.234234,1,2,3,7,9],"stringlist":["pk1_a","pk1_b","pk1_c"]}}`
	projects = `{"TableName":"bbpd-test","Key":{"TheHashKey":{"S":"a-hash-key"},"TheRangeKey":{"N":"1"}},"ProjectionExpression":"num","ReturnConsumedCapacity":"TOTAL"}`
)

// store returns an origin that answers every read with one item and accepts every write.
func store(t testing.TB) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		switch _, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); op {
		case "DescribeTable":
			io.WriteString(w, `{"Table":{"TableName":"bbpd-test","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"TheHashKey","KeyType":"HASH"},{"AttributeName":"TheRangeKey","KeyType":"RANGE"}],`+
				`"AttributeDefinitions":[{"AttributeName":"TheHashKey","AttributeType":"S"},{"AttributeName":"TheRangeKey","AttributeType":"N"}]}}`)
		case "GetItem":
			io.WriteString(w, `{"Item":`+item+`}`)
		case "PutItem":
			io.WriteString(w, `{}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type":"com.amazon.coral.service#UnknownOperationException"}`)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// routes returns the routes in front of a service.
func routes(t testing.TB, keys ...accel.Key) *plain.Handler {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 64 << 20, Settle: time.Nanosecond, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := accel.New(accel.Config{
		Name: "bbpd", Region: "us-east-1", Open: len(keys) == 0, Keys: keys,
		Origin:      origin.Config{URL: store(t).URL, Timeout: 5 * time.Second, Retry: origin.Retry{Attempts: 1}, Breaker: origin.Breaker{Disabled: true}},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		ItemTTL:     time.Minute, QueryTTL: time.Minute, NegativeTTL: time.Minute,
	}, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	<-time.After(2 * time.Millisecond) // in its first millisecond, everything counts as recently written
	return plain.New("bbpd", svc, plain.Config{})
}

func request(method, path string, fields ...string) http1.Request {
	return http1.Request{Method: []byte(method), Target: []byte(path), Path: []byte(path), Host: []byte("127.0.0.1"), Minor: 1, Fields: http1.FieldsOf(fields...)}
}

// signed returns a request that was signed with a key.
func signed(t testing.TB, key accel.Key, method, path, body string) http1.Request {
	t.Helper()
	r := request(method, path, "Host", "127.0.0.1", "Content-Length", fmt.Sprint(len(body)))
	signer := sigv4.NewSigner(credentials.NewStaticCredentialsProvider(key.ID, key.Secret, ""), "us-east-1", "dynamodb")
	if err := signer.Sign(t.Context(), &r, []byte(body)); err != nil {
		t.Fatal(err)
	}
	return r
}

func ask(t testing.TB, h edge.Handler, r http1.Request, body string) *edge.Exchange {
	x := edge.Detached(t.Context(), r, []byte(body), time.Now())
	h.Serve(x)
	return x
}

// The routes read from the same cache as DynamoDB's own protocol, and write to it.
func TestCached(t *testing.T) {
	h := routes(t)
	get := func(path, body, want string, d telemetry.Decision, fields ...string) {
		t.Helper()
		x := ask(t, h, request("POST", path, fields...), body)
		if x.Reply.Status != 200 || string(x.Reply.Body) != want || x.Record.Decision != d {
			t.Errorf("%s %s\n got %d %s %s\nwant %s %s", path, body, x.Reply.Status, x.Record.Decision, x.Reply.Body, d, want)
		}
		if head := string(x.Reply.Head()); strings.Count(head, "Content-Type: application/json\r\n") != 1 || strings.Count(head, "Cache-Status: ") != 1 {
			t.Errorf("%s: got %s", path, head)
		}
	}
	get("/GetItemJSON", getIt, plainIt, telemetry.Miss)
	get("/GetItemJSON", getIt, plainIt, telemetry.Hit)
	get("/GetItem", getIt, `{"Item":`+item+`}`, telemetry.Hit)
	get("/", getIt, `{"Item":`+item+`}`, telemetry.Hit, "X-Amz-Target", "GetItem")
	get("/GetItemJSON", projects, `{"Item":{"num":1},"ConsumedCapacity":{"TableName":"bbpd-test","CapacityUnits":0.5}}`, telemetry.Hit)
	get("/BatchGetItemJSON", `{"RequestItems":{"bbpd-test":{"Keys":[{"TheHashKey":{"S":"a-hash-key"},"TheRangeKey":{"N":"1"}}]}}}`,
		`{"Responses":{"bbpd-test":[`+strings.TrimSuffix(strings.TrimPrefix(plainIt, `{"Item":`), "}")+`]},"UnprocessedKeys":{}}`, telemetry.Hit)
	get("/PutItemJSON", `{"TableName":"bbpd-test","Item":{"TheHashKey":"b","TheRangeKey":2,"list":[1,"",null],"empty":""}}`, `{}`, telemetry.Write)
	get("/GetItemJSON", `{"TableName":"bbpd-test","Key":{"TheHashKey":{"S":"b"},"TheRangeKey":{"N":"2"}}}`,
		`{"Item":{"TheHashKey":"b","TheRangeKey":2,"list":[1,"",null],"empty":""}}`, telemetry.Hit)
}

// TestSigned checks that a signature covers the request as it was sent, and that each operation of
// it needs permission.
func TestSigned(t *testing.T) {
	reader := accel.Key{ID: "READER", Secret: "r", Tables: []string{"bbpd-*"}, Allow: []wire.Access{wire.Read}}
	h := routes(t, reader)
	want := func(r http1.Request, body string, status int, part string) {
		t.Helper()
		x := ask(t, h, r, body)
		if x.Reply.Status != status || !strings.Contains(string(x.Reply.Body), part) {
			t.Errorf("%s: got %d %s; want %d with %s", r.Path, x.Reply.Status, x.Reply.Body, status, part)
		}
		if !strings.Contains(string(x.Reply.Head()), "Content-Type: application/json\r\n") {
			t.Errorf("%s: got %s", r.Path, x.Reply.Head())
		}
	}
	put := `{"TableName":"bbpd-test","Item":{"TheHashKey":"b","TheRangeKey":2}}`
	want(signed(t, reader, "POST", "/GetItemJSON", getIt), getIt, 200, plainIt)
	want(signed(t, reader, "GET", "/DescribeTable/bbpd-test", ""), "", 200, `"TableStatus":"ACTIVE"`)
	want(signed(t, reader, "GET", "/StatusTable/bbpd-test", ""), "", 200, `"{\"StatusResult\":true}"`)
	want(signed(t, reader, "GET", "/StatusTable/other", ""), "", 400, `AccessDeniedException`)
	want(signed(t, reader, "GET", "/Status", ""), "", 200, `"Status":"ready"`)
	want(signed(t, reader, "POST", "/PutItemJSON", put), put, 400, `not authorized to perform: dynamodb:PutItem`)
	want(signed(t, reader, "POST", "/BatchWriteItemJSON", `{"RequestItems":{"bbpd-test":[{"PutRequest":{"Item":{}}}]}}`),
		`{"RequestItems":{"bbpd-test":[{"PutRequest":{"Item":{}}}]}}`, 400, `not authorized to perform: dynamodb:BatchWriteItem`)
	other := strings.Replace(getIt, "bbpd-test", "users", 1)
	want(signed(t, reader, "POST", "/GetItemJSON", other), other, 400, `AccessDeniedException`)
	want(request("POST", "/GetItemJSON"), getIt, 400, `MissingAuthenticationTokenException`)
	want(request("GET", "/Status"), "", 400, `MissingAuthenticationTokenException`)
	want(signed(t, reader, "POST", "/GetItemJSON", getIt), getIt+" ", 400, `InvalidSignatureException`)
	moved := signed(t, reader, "POST", "/GetItemJSON", getIt)
	moved.Path, moved.Target = []byte("/RawPost/DynamoDB_20120810.GetItem"), []byte("/RawPost/DynamoDB_20120810.GetItem")
	want(moved, getIt, 400, `InvalidSignatureException`)
}

// TestHitAllocates checks that a hit through the routes doesn't allocate, signed or not.
func TestHitAllocates(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; nothing to measure")
		return
	}
	key := accel.Key{ID: "APP", Secret: "s", Tables: []string{"*"}, Allow: []wire.Access{wire.Read}}
	for name, h := range map[string]*plain.Handler{"open": routes(t), "signed": routes(t, key)} {
		for _, body := range []string{getIt, projects} {
			for _, path := range []string{"/GetItemJSON", "/GetItem"} {
				r := request("POST", path)
				if name == "signed" {
					r = signed(t, key, "POST", path, body)
				}
				x := edge.Detached(t.Context(), r, []byte(body), time.Now())
				hit := func() {
					x.Reply.Reset()
					h.Serve(x)
				}
				hit()
				if n := testing.AllocsPerRun(200, hit); n > 0 || x.Record.Decision != telemetry.Hit {
					t.Errorf("%s %s %s: got %v allocations, want none; %s", name, path, body, n, x.Record.Decision)
				}
			}
		}
	}
}

// BenchmarkGetItemJSON compares a hit through the routes with the same hit without them.
func BenchmarkGetItemJSON(b *testing.B) {
	h := routes(b)
	for _, path := range []string{"/", "/GetItem", "/GetItemJSON"} {
		b.Run(path, func(b *testing.B) {
			x := edge.Detached(b.Context(), request("POST", path, "Host", "127.0.0.1", "User-Agent", "bench", "Content-Length", "98", "Accept", "*/*",
				"Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", "DynamoDB_20120810.GetItem"), []byte(getIt), time.Now())
			h.Serve(x)
			b.ReportAllocs()
			for b.Loop() {
				x.Reply.Reset()
				h.Serve(x)
			}
			if x.Record.Decision != telemetry.Hit {
				b.Fatalf("got the decision %v", x.Record.Decision)
			}
		})
	}
}
