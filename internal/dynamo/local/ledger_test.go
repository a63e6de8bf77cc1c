package local

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// countingOrigin sums up the capacity in all answers of an origin.
type countingOrigin struct {
	accel.Origin
	mu    sync.Mutex
	units map[string]float64 // by the name of the table
}

func (o *countingOrigin) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	resp, err := o.Origin.Do(ctx, r)
	if err != nil {
		return resp, err
	}
	type consumed struct {
		TableName     string
		CapacityUnits float64
	}
	var one struct{ ConsumedCapacity consumed }
	var many struct{ ConsumedCapacity []consumed }
	o.mu.Lock()
	defer o.mu.Unlock()
	if json.Unmarshal(resp.Body, &one) == nil {
		o.units[one.ConsumedCapacity.TableName] += one.ConsumedCapacity.CapacityUnits
	} else if json.Unmarshal(resp.Body, &many) == nil {
		for _, c := range many.ConsumedCapacity {
			o.units[c.TableName] += c.CapacityUnits
		}
	}
	return resp, nil
}

// ledgerFixture is a service with a ledger in front of a store.
type ledgerFixture struct {
	svc    *accel.Service
	sink   telemetry.Sink
	ledger *ledger.Ledger
	origin *countingOrigin
}

func newLedgerFixture(t *testing.T) *ledgerFixture {
	log := slog.New(slog.DiscardHandler)
	store, err := embedded.Open(memory.New(), embedded.Config{}, log)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open("", log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.Configure(map[string]ledger.Price{"orders": {}})
	c, err := cache.New(cache.Config{Memory: 64 << 20, Settle: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	o := &countingOrigin{Origin: Origin{store}, units: map[string]float64{}}
	svc, err := accel.New(accel.Config{
		Name: "orders", Region: "us-east-1", Open: true, Origin: origin.Config{URL: "embedded:x"},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		ItemTTL:     time.Minute, QueryTTL: time.Minute, NegativeTTL: time.Minute,
		Local: true, Ledger: l, Connect: func(origin.Config) (accel.Origin, error) { return o, nil },
	}, space, telemetry.NewRegistry(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	return &ledgerFixture{svc, l.Tap(telemetry.Discard()), l, o}
}

// do sends a request and returns the body of its answer.
func (f *ledgerFixture) do(t *testing.T, op, body string) string {
	x := edge.Detached(context.Background(), http1.Request{
		Method: []byte("POST"), Target: []byte("/"), Path: []byte("/"), Minor: 1,
		Fields: http1.FieldsOf("X-Amz-Target", "DynamoDB_20120810."+op, "Content-Type", "application/x-amz-json-1.0"),
	}, []byte(body), time.Now())
	f.svc.Serve(x)
	x.Record.Status = x.Reply.Status
	f.sink.Log(&x.Record)
	answer := string(x.Reply.Body)
	if x.Reply.Status != 200 && !strings.Contains(answer, "ConditionalCheckFailed") && !strings.Contains(answer, "TransactionC") {
		t.Errorf("%s %s: got %d %s", op, body, x.Reply.Status, answer)
	}
	if strings.Contains(answer, "ConsumedCapacity") != strings.Contains(body, `"ReturnConsumedCapacity":"TOTAL"`) && x.Reply.Status == 200 {
		t.Errorf("%s %s: got %s", op, body, answer)
	}
	return answer
}

// randomRequest returns an operation of any kind on the items of two tables.
func randomRequest(r *rand.Rand) (op, body string) {
	table := []string{"one", "two"}[r.IntN(2)]
	key := func() string {
		return fmt.Sprintf(`"p":{"S":"%d"},"s":{"N":"%d"}`, int(r.ExpFloat64()*20), r.IntN(3))
	}
	item := func() string {
		return fmt.Sprintf(`{%s,"g":{"S":"%d"},"v":{"S":"%s"}}`, key(), r.IntN(10), strings.Repeat("x", int(r.ExpFloat64()*1500)))
	}
	more := []string{"", "", `,"ReturnConsumedCapacity":"TOTAL"`, `,"ReturnConsumedCapacity":"NONE"`}[r.IntN(4)]
	named := `{"TableName":"` + table + `",`
	switch r.IntN(24) {
	case 0:
		return "PutItem", named + `"Item":` + item() + more + `}`
	case 1:
		return "UpdateItem", named + `"Key":{` + key() + `},"UpdateExpression":"SET g = :g","ExpressionAttributeValues":{":g":{"S":"1"}}` + more + `}`
	case 2:
		return "DeleteItem", named + `"Key":{` + key() + `}` + more + `}`
	case 3:
		return "BatchWriteItem", `{"RequestItems":{"one":[{"PutRequest":{"Item":` + item() + `}}],"two":[{"DeleteRequest":{"Key":{` + key() + `}}}]}` + more + `}`
	case 4:
		return "TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"one","Item":` + item() + `}},{"ConditionCheck":{"TableName":"two","Key":{` + key() + `},"ConditionExpression":"attribute_not_exists(x)"}}]` + more + `}`
	case 5:
		return "PutItem", named + `"Item":` + item() + `,"ConditionExpression":"attribute_exists(p)"` + more + `}`
	case 6:
		return "ExecuteStatement", fmt.Sprintf(`{"Statement":"SELECT * FROM \"%s\" WHERE p = '%d'"%s}`, table, r.IntN(20), more)
	case 7:
		return "Scan", named + `"Limit":20` + more + `}`
	case 8:
		return "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"one","Key":{` + key() + `}}},{"Get":{"TableName":"two","Key":{` + key() + `}}}]` + more + `}`
	case 9, 10, 11:
		return "Query", fmt.Sprintf(`%s"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"%d"}}%s}`, named, r.IntN(20), more)
	case 12:
		return "Query", fmt.Sprintf(`%s"IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"%d"}}%s}`, named, r.IntN(10), more)
	case 13, 14:
		return "BatchGetItem", `{"RequestItems":{"one":{"Keys":[{` + key() + `}]},"two":{"ConsistentRead":true,"Keys":[{` + key() + `}]}}` + more + `}`
	case 15:
		return "GetItem", named + `"ConsistentRead":true,"Key":{` + key() + `}` + more + `}`
	}
	return "GetItem", named + `"Key":{` + key() + `}` + more + `}`
}

// The ledger has the units that the origin reports, for 100,000 operations of all kinds in many
// goroutines.
func TestLedgerHasOriginsUnits(t *testing.T) {
	f := newLedgerFixture(t)
	for _, name := range []string{"one", "two"} {
		f.do(t, "CreateTable", `{"TableName":"`+name+`","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],`+
			`"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],`+
			`"GlobalSecondaryIndexes":[{"IndexName":"byg","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
	}
	const goroutines, each = 4, 25_000
	var all sync.WaitGroup
	for i := range goroutines {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for range each {
				op, body := randomRequest(r)
				f.do(t, op, body)
			}
		})
	}
	all.Wait()
	var requests uint64
	for _, r := range f.ledger.Statement(ledger.Query{By: []string{"table"}}).Rows {
		requests += r.Requests
		want := f.origin.units[r.Table]
		if r.Table == "other" { // requests that failed before any has succeeded
			continue
		}
		if got := r.ReadUnits + r.WriteUnits; want == 0 || got != want {
			t.Errorf("%s: the ledger has %v units, the origin %v", r.Table, got, want)
		}
		if r.SavedUnits == 0 || r.UnusedUnits == 0 || r.Hits == 0 {
			t.Errorf("got %+v", r)
		}
	}
	if requests < goroutines*each*9/10 { // the record of TransactGetItems names no table
		t.Errorf("%d requests", requests)
	}
	for _, r := range f.ledger.Statement(ledger.Query{By: []string{"index"}}).Rows {
		if r.Index != "" && r.Index != "byg" || r.ReadUnits == 0 || r.WriteUnits == 0 {
			t.Errorf("got %+v", r)
		}
	}
}
