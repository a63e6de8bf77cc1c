package accel

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// budgeted returns the hits under test with their maximum allocations.
func budgeted() []struct {
	name, op, body, origin string
	decision               telemetry.Decision
	allocs                 float64
} {
	const item = `{"p":{"S":"a"},"s":{"N":"%d"},"v":{"M":{"x":{"N":"7"},"y":{"S":"text"}}},"g":{"S":"g1"}}`
	one := `{"Item":` + fmt.Sprintf(item, 1) + `}`
	var keys, items []string
	for i := range 25 {
		keys = append(keys, fmt.Sprintf(`{"p":{"S":"a"},"s":{"N":"%d"}}`, i))
		items = append(items, fmt.Sprintf(item, i))
	}
	batch := func(more string) string {
		return `{"RequestItems":{"t":{"Keys":[` + strings.Join(keys, ",") + `]` + more + `}}}`
	}
	got := `{"Responses":{"t":[` + strings.Join(items, ",") + `]},"UnprocessedKeys":{}}`
	page := `{"Count":25,"Items":[` + strings.Join(items, ",") + `],"ScannedCount":25}`
	const key = `"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}`
	return []struct {
		name, op, body, origin string
		decision               telemetry.Decision
		allocs                 float64
	}{
		{"get", "GetItem", `{` + key + `}`, one, telemetry.Hit, 0},
		{"get-projection", "GetItem", `{` + key + `,"ProjectionExpression":"#v.x, g","ExpressionAttributeNames":{"#v":"v"}}`, one, telemetry.Hit, 0},
		{"get-attributes", "GetItem", `{` + key + `,"AttributesToGet":["v"]}`, one, telemetry.Hit, 0},
		{"get-capacity", "GetItem", `{` + key + `,"ReturnConsumedCapacity":"INDEXES"}`, one, telemetry.Hit, 0},
		{"get-absent", "GetItem", `{` + key + `}`, `{}`, telemetry.HitNegative, 0},
		{"batch-25", "BatchGetItem", batch(""), got, telemetry.Hit, 0},
		{"batch-25-projection", "BatchGetItem", batch(`,"ProjectionExpression":"v.x"`), got, telemetry.Hit, 0},
		{"query", "Query", `{"TableName":"t","KeyConditionExpression":"#p = :p AND s > :s","ExpressionAttributeNames":{"#p":"p"},"ExpressionAttributeValues":{":p":{"S":"a"},":s":{"N":"0"}}}`, page, telemetry.Hit, 0},
		{"query-index-filter", "Query", `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"g = :g","FilterExpression":"contains(v, :v)","ExpressionAttributeValues":{":g":{"S":"g1"},":v":{"S":"x"}},"Limit":10}`, page, telemetry.Hit, 0},
		{"scan", "Scan", `{"TableName":"t","Limit":100}`, page, telemetry.Hit, 0},
	}
}

// oneKey lets one key read every table.
func oneKey(c *Config) {
	c.Keys = []Key{{ID: "FULL", Secret: "f", Tables: []string{"*"}, Allow: []wire.Access{wire.Read}}}
}

// limitedKey has a list of patterns, so that the permission of each table is looked up.
func limitedKey(c *Config) {
	c.Keys = []Key{{ID: "FULL", Secret: "f", Tables: []string{"orders-*", "t"}, Allow: []wire.Access{wire.Read}}}
}

// open admits every client.
func open(*Config) {}

// warmExchange returns an exchange whose request is cached.
func warmExchange(t testing.TB, s *Service, p *parrot, op, body, reply string) *edge.Exchange {
	t.Helper()
	p.status, p.reply = http.StatusOK, reply
	var r http1.Request
	if s.settings.Load().verifier == nil {
		r = request(op)
	} else {
		r = signed(t, "FULL", "/", []byte(body), "X-Amz-Target", targetPrefix+op, "Content-Type", jsonType)
	}
	<-time.After(2 * time.Millisecond) // in the first millisecond, everything counts as recently written
	x := edge.Detached(t.Context(), r, []byte(body), time.Now())
	s.Serve(x)
	for x.Record.Decision != telemetry.Hit && x.Record.Decision != telemetry.HitNegative {
		<-time.After(time.Millisecond) // queries of an index are kept for no longer than the cache is old
		x.Reply.Reset()
		s.Serve(x)
	}
	return x
}

// TestBudgets compares the allocations of hits with their budgets, with and without
// signatures.
func TestBudgets(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; nothing to measure")
		return
	}
	for name, auth := range map[string]func(*Config){"open": open, "signed": oneKey, "signed-patterns": limitedKey} {
		for _, b := range budgeted() {
			t.Run(name+"/"+b.name, func(t *testing.T) {
				s, p := withParrot(t, auth)
				x := warmExchange(t, s, p, b.op, b.body, b.origin)
				n := testing.AllocsPerRun(100, func() {
					x.Reply.Reset()
					s.Serve(x)
				})
				if x.Record.Decision != b.decision {
					t.Fatalf("got %s %s", x.Record.Decision, x.Reply.Body)
				}
				if n > b.allocs {
					t.Errorf("%v allocations; the budget is %v", n, b.allocs)
				}
			})
		}
	}
}

func BenchmarkHits(b *testing.B) {
	for _, auth := range []struct {
		name   string
		change func(*Config)
	}{{"open", open}, {"signed", oneKey}} {
		for _, c := range budgeted() {
			b.Run(auth.name+"/"+c.name, func(b *testing.B) {
				s, p := withParrot(b, auth.change)
				x := warmExchange(b, s, p, c.op, c.body, c.origin)
				b.ReportAllocs()
				for b.Loop() {
					x.Reply.Reset()
					s.Serve(x)
				}
			})
		}
	}
}
