package accel

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// accounted returns a fixture with a ledger, which accounts for the requests that use is called with.
func accounted(t *testing.T) (f *fixture, l *ledger.Ledger) {
	l, err := ledger.Open("", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.Configure(map[string]ledger.Price{"orders": {}})
	return newFixture(t, func(c *Config, _ *cache.Config) { c.Ledger = l }), l
}

// use sends a request, accounts for it and returns its exchange.
func (f *fixture) use(l *ledger.Ledger, op, body string) *edge.Exchange {
	f.t.Helper()
	x := edge.Detached(f.t.Context(), request(op), []byte(body), time.Now())
	f.svc.Serve(x)
	x.Record.Status = x.Reply.Status
	l.Tap(telemetry.Discard()).Log(&x.Record)
	return x
}

// rows are the rows of a ledger as lines: the account, then the figures that are not times.
func rows(l *ledger.Ledger, by string) string {
	groups, err := ledger.ParseGroups(by)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, r := range l.Statement(ledger.Query{By: groups}).Rows {
		fmt.Fprintf(&b, "%s/%s/%s %q requests=%d hits=%d read=%g write=%g saved=%g unused=%g\n", r.Table, r.Index, r.Operation, r.Shape,
			r.Requests, r.Hits, r.ReadUnits, r.WriteUnits, r.SavedUnits, r.UnusedUnits)
	}
	return b.String()
}

// The capacity that the origin reports is accounted for and hidden from clients that have not
// asked for it; hits save what their answers have cost.
func TestUsage(t *testing.T) {
	f, l := accounted(t)
	capacity := func(more string) string {
		return `"ConsumedCapacity":{"TableName":"t","CapacityUnits":2.5,"Table":{"CapacityUnits":1.5}` + more + `}`
	}
	expect := func(step, by, want string) {
		t.Helper()
		if got := rows(l, by); got != strings.ReplaceAll(want, "\t", "") {
			t.Fatalf("%s: got\n%swant\n%s", step, got, want)
		}
	}
	const get = `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`
	item := `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"` + strings.Repeat("x", 5000) + `"}}}`
	f.origin.reply("GetItem", `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0,"Table":{"CapacityUnits":1.0}},`+item[1:])
	for range 4 {
		if x := f.use(l, "GetItem", get); string(x.Reply.Body) != item {
			t.Fatalf("GetItem: got %s", x.Reply.Body)
		}
	}
	if sent := f.origins("GetItem"); !strings.Contains(sent[0].body, `"ReturnConsumedCapacity":"INDEXES"`) {
		t.Errorf("the origin received %s", sent[0].body)
	}
	expect("items", "table,operation", `t//GetItem "" requests=4 hits=3 read=1 write=0 saved=3 unused=0
`)

	f.origin.reply("PutItem", `{`+capacity(`,"GlobalSecondaryIndexes":{"byg":{"CapacityUnits":1.0}}`)+`}`)
	if x := f.use(l, "PutItem", `{"TableName":"t","Item":{"p":{"S":"b"},"s":{"N":"1"},"g":{"S":"x"}}}`); string(x.Reply.Body) != "{}" {
		t.Errorf("PutItem: got %s", x.Reply.Body)
	}
	if x := f.use(l, "PutItem", `{"TableName":"t","ReturnConsumedCapacity":"INDEXES","Item":{"p":{"S":"b"},"s":{"N":"1"},"g":{"S":"x"}}}`); !strings.Contains(string(x.Reply.Body), `"CapacityUnits":2.5`) {
		t.Errorf("PutItem with its capacity: got %s", x.Reply.Body)
	}
	expect("a written item", "index,operation", `//GetItem "" requests=4 hits=3 read=1 write=0 saved=3 unused=0
	//PutItem "" requests=2 hits=0 read=0 write=3 saved=0 unused=0
	/byg/PutItem "" requests=0 hits=0 read=0 write=2 saved=0 unused=0
`)
	f.origins("PutItem", "PutItem")
	f.use(l, "GetItem", `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}}}`) // stored by the write, at no cost
	f.origins()
	expect("a hit on it", "table,operation", `t//GetItem "" requests=5 hits=4 read=1 write=0 saved=3.5 unused=0
	t//PutItem "" requests=2 hits=0 read=0 write=5 saved=0 unused=0
`)
}

// Queries are accounted for by their shape.
func TestUsageByShape(t *testing.T) {
	f, l := accounted(t)
	f.origin.reply("Query", `{"Count":0,"Items":[],"ScannedCount":0,"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5,"Table":{"CapacityUnits":0.0},"GlobalSecondaryIndexes":{"byg":{"CapacityUnits":0.5}}}}`)
	query := func(value, more string) {
		x := f.use(l, "Query", `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"#g = :g","ExpressionAttributeNames":{"#g":"g"},"ExpressionAttributeValues":{":g":{"S":"`+value+`"}}`+more+`}`)
		if x.Reply.Status != 200 || strings.Contains(string(x.Reply.Body), "Consumed") {
			t.Errorf("got %d %s", x.Reply.Status, x.Reply.Body)
		}
	}
	query("a", "")
	query("a", "")
	query("b", "")
	query("b", `,"ScanIndexForward":false`)
	want := `t/byg/Query "g = :g" requests=3 hits=1 read=1 write=0 saved=0.5 unused=0.5
t/byg/Query "g = :g; descending" requests=1 hits=0 read=0.5 write=0 saved=0 unused=0.5
`
	if got := rows(l, "table,index,operation,shape"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestCapacityOf(t *testing.T) {
	for _, tc := range []struct {
		object      string
		readOnly    bool
		read, write uint64
	}{
		{`{"CapacityUnits":1.5}`, true, 3, 0},
		{`{"CapacityUnits":1.5}`, false, 0, 3},
		{`{"CapacityUnits":6.0,"ReadCapacityUnits":2.0,"WriteCapacityUnits":4.0}`, false, 4, 8},
		{`{"CapacityUnits":"many"}`, true, 0, 0},
		{`{"CapacityUnits":-1}`, true, 0, 0},
		{`{"CapacityUnits":1e300}`, true, 0, 0},
		{`{}`, true, 0, 0},
		{`[]`, true, 0, 0},
	} {
		if read, write := capacityOf([]byte(tc.object), tc.readOnly); read != tc.read || write != tc.write {
			t.Errorf("%s: got %d, %d", tc.object, read, write)
		}
	}
}

// Clients can't create shapes without limit.
func TestShapesAreBounded(t *testing.T) {
	f, _ := accounted(t)
	f.origin.reply("Query", `{"Count":0,"Items":[],"ScannedCount":0}`)
	seen := map[*telemetry.Shape]bool{}
	for i := range 2 * maxShapes {
		x := edge.Detached(t.Context(), request("Query"), fmt.Appendf(nil, `{"TableName":"t","KeyConditionExpression":"p = :p%d"}`, i), time.Now())
		f.svc.Serve(x)
		seen[x.Record.Shape] = true
	}
	if len(seen) != maxShapes+1 || !seen[otherShape] {
		t.Errorf("%d shapes", len(seen))
	}
}

func TestShapeText(t *testing.T) {
	f, _ := accounted(t)
	for _, tc := range [][2]string{
		{`{"KeyConditionExpression":"#a = :a AND begins_with(#ab, :b)","ExpressionAttributeNames":{"#a":"one","#ab":"two"}}`, "one = :a AND begins_with(two, :b)"},
		{`{"FilterExpression":"v > :v","ProjectionExpression":"a,b","Select":"SPECIFIC_ATTRIBUTES"}`, "filter v > :v; project a,b; select SPECIFIC_ATTRIBUTES"},
		{`{"KeyConditions":{"p":{"ComparisonOperator":"EQ"}},"ScanIndexForward":false}`, "KeyConditions p; descending"},
		{`{"KeyConditionExpression":"# = :a AND #x = :x","ExpressionAttributeNames":{}}`, "# = :a AND #x = :x"},
		{`{"KeyConditionExpression":"` + strings.Repeat("x", 1000) + `"}`, strings.Repeat("x", maxShapeText)},
		{`{}`, "all"},
	} {
		c := &call{svc: f.svc, op: &wire.UnknownOperation}
		c.members([]byte(tc[0]), queryMembers)
		if got := c.shapeText(); got != tc[1] {
			t.Errorf("%s: got %q", tc[0], got)
		}
	}
}
