package accel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// hotRequests are requests whose answers can be listed and taken over.
var hotRequests = []struct{ name, op, body string }{
	{"item", "GetItem", clusterGet},
	{"odd key", "GetItem", `{"TableName":"t","Key":{"s":{"N":"-1.50e2"},"p":{"S":"a\" \u00e9\n"}}}`},
	{"query", "Query", clusterQuery},
	{"query with everything", "Query", `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"#g = :g","FilterExpression":"(#a.b[1] <> :n OR NOT contains(c, :s)) and size (d) IN (:n,:m)",` +
		`"ProjectionExpression":"#a, e","ExpressionAttributeNames":{"#g":"g","#a":"say \"no\" { }"},"ExpressionAttributeValues":{":g":{"S":"x y"},":n":{"N":"1e3"},":m":{"N":"5"},":s":{"S":"}"}},` +
		`"Limit":3,"ScanIndexForward":false,"ReturnConsumedCapacity":"TOTAL"}`},
	{"next page", "Query", clusterQuery[:len(clusterQuery)-1] + `,"ExclusiveStartKey":{"p":{"S":"a"},"s":{"N":"7"}}}`},
	{"legacy query", "Query", `{"TableName":"t","KeyConditions":{"p":{"AttributeValueList":[{"S":"a"}],"ComparisonOperator":"EQ"}},"AttributesToGet":["v"]}`},
	{"scan", "Scan", `{"TableName":"t"}`},
	{"scan of a segment", "Scan", `{"TableName":"t","Segment":0,"TotalSegments":2,"FilterExpression":"attribute_exists(v)"}`},
}

// unlagged makes the indexes of the origin as recent as its tables: otherwise a query of a global
// index is stored for no longer than the cache is old.
func unlagged(c *Config, _ *cache.Config) { c.Local = true }

// takeOver stores at f what from has stored, and returns how many answers there were.
func (f *fixture) takeOver(from *fixture) (n int) {
	w := f.svc.cache.Warmer("orders")
	from.svc.cache.Warmer("orders").Hottest(1000, func(question []byte) bool {
		store := w.Expect(f.t.Context(), question)
		if store == nil {
			return true
		}
		if a, ok := from.svc.cache.Stored("orders", question); ok && store(a) {
			n++
		}
		return true
	})
	return n
}

// A node that takes over all that another one has stored has hits for the same requests.
func TestTakeOver(t *testing.T) {
	a, b, _ := newPair(t, unlagged)
	want := make(map[string]string)
	for i, r := range hotRequests {
		b.origin.reply(r.op, fmt.Sprintf(`{"Count":%d,"Items":[]}`, i))
		if r.op == "GetItem" {
			b.origin.reply(r.op, fmt.Sprintf(`{"Item":{"i":{"N":"%d"}}}`, i))
		}
		got := b.do(r.op, r.body)
		if want[r.name] = got.body; got.decision != telemetry.Miss {
			t.Fatalf("%s: %d %s %s", r.name, got.status, got.decision, got.body)
		}
		if d := b.do(r.op, r.body).decision; d != telemetry.Hit {
			t.Fatalf("%s: the second request is %s", r.name, d)
		}
	}
	b.origin.take()
	if n := a.takeOver(b); n != len(hotRequests) {
		t.Errorf("%d answers were taken over, want %d", n, len(hotRequests))
	}
	for _, r := range hotRequests {
		a.expect(r.op, r.body, telemetry.Hit, want[r.name])
	}
	a.origins()
	if n := a.takeOver(b); n != 0 {
		t.Errorf("%d answers were taken over twice", n)
	}
	// A write through either node makes them unreachable at both.
	b.do("PutItem", clusterPut)
	if d := a.do("GetItem", clusterGet).decision; d != telemetry.MissInvalidated {
		t.Errorf("after a write the item is a %s", d)
	}
}

// A question for a stored answer causes no request to the origin, not even for a description.
func TestStoredAsksNothing(t *testing.T) {
	_, b, _ := newPair(t)
	q := peerRequest{origin: b.svc.settings.Load().tag, kind: keyItem, body: []byte(clusterGet)}
	stored := func() bool {
		_, ok := b.svc.cache.Stored("orders", q.encode())
		return ok
	}
	if stored() {
		t.Error("an item of an unknown table is stored")
	}
	b.origin.mu.Lock()
	if len(b.origin.log) > 0 {
		t.Errorf("the origin received %v", b.origin.log)
	}
	b.origin.mu.Unlock()
	b.do("DescribeTable", `{"TableName":"t"}`)
	b.do("GetItem", `{"TableName":"t","Key":{"p":{"S":"z"},"s":{"N":"1"}}}`)
	b.origin.take()
	if stored() {
		t.Error("an item is stored that was not requested")
	}
	b.origins()
	b.do("GetItem", clusterGet)
	if !stored() {
		t.Error("a stored item is not found")
	}
	q.origin++
	if stored() {
		t.Error("an item of another origin is found")
	}
	if b.svc.cache.Warmer("orders").Expect(t.Context(), q.encode()) != nil {
		t.Error("an answer of another origin is expected")
	}
	b.svc.Close()
	if b.svc.cache.Warmer("orders") != nil {
		t.Error("a closed service has stored answers")
	}
}

// A node that has become the owner of keys asks their former owner for stored answers, for its own
// clients and for other nodes.
func TestNewOwnerAsksTheFormer(t *testing.T) {
	a, b, cl := newPeers(t, unlagged)
	a.origin.reply("Scan", `{"Count":0,"Items":[]}`)
	for _, r := range hotRequests {
		a.do(r.op, r.body)
	}
	cl.Inherit(a.svc.cache)
	cl.Fetches()
	b.svc.cache.Empty()
	b.origin.take()
	for i, r := range hotRequests {
		if i%2 == 0 {
			b.do(r.op, r.body)
			continue
		}
		kind := map[string]byte{"GetItem": keyItem, "Query": keyQuery, "Scan": keyScan}[r.op]
		q := peerRequest{origin: b.svc.settings.Load().tag, kind: kind, body: []byte(r.body)}
		if _, ok := b.svc.answerPeer(t.Context(), q.encode()); !ok {
			t.Errorf("%s: the question of another node is declined", r.name)
		}
	}
	b.origins()
	if got, want := cl.Fetches(), slices.Repeat([]string{"stored"}, len(hotRequests)); !slices.Equal(got, want) {
		t.Errorf("the former owner has answered %v", got)
	}
	b.do("GetItem", `{"TableName":"t","Key":{"p":{"S":"z"},"s":{"N":"1"}}}`)
	b.origins("GetItem")
	if got := fmt.Sprint(cl.Fetches()); got != "[absent]" {
		t.Errorf("the former owner has answered %v to a new question", got)
	}
}

// Keys that no request has lead to no question.
func TestRequestOf(t *testing.T) {
	b := newFixture(t)
	b.do("GetItem", clusterGet)
	table := b.svc.peek([]byte("t"))
	for _, members := range []string{"\x05\x00", "\x01\x00\x00\x00\x00", "\xff\x00\x00\x00\x00", "\x05\x00\x00\x00\x09x",
		"\x05\x00\x00\x00\x02\"a", "\x05\x00\x00\x00\x02{ ", "\x05\x00\x00\x00\x01a"} {
		if body, ok := table.requestOf([]byte("q\x00\x00\x00\x01" + members)); ok {
			t.Errorf("%q: %s", members, body)
		}
	}
	if body, ok := table.requestOf([]byte("i\x00\x00\x00\x01S")); ok {
		t.Errorf("half a key: %s", body)
	}
}
