package accel

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// followed is a fixture with a table t whose stream is followed.
type followed struct {
	*fixture
	table *table
	sent  string // what the origin has received last
}

func newFollowed(t *testing.T, description string) *followed {
	f := newFixture(t)
	f.origin.reply("DescribeTable", description)
	tb := f.svc.table(context.Background(), []byte("t"))
	if !tb.known {
		t.Fatal("the table is not known")
	}
	tb.feed = &feed{own: newOwnWrites()}
	return &followed{fixture: f, table: tb}
}

// record receives a record of the table's stream. An absent image is "".
func (f *followed) record(old, new string) string {
	f.t.Helper()
	text := new
	if text == "" {
		text = old
	}
	key, ok := f.table.keyOfItem([]byte(text))
	if !ok {
		f.t.Fatalf("no key in %s", text)
	}
	im := func(item string) image {
		if item == "" {
			return image{known: true}
		}
		return image{known: true, item: []byte(item)}
	}
	ch := change{t: f.table, old: im(old), new: im(new)}
	return answer(f.table.feed.own.take(f.table.itemTag(key.bytes), ch.old, ch.new, ch.remains()))
}

// tracked returns the number of writes that are in flight or expected.
func (f *followed) tracked() (n int) {
	for i := range f.table.feed.own.shards {
		n += f.table.feed.own.shards[i].writes
	}
	return n
}

// write sends a write that the origin answers with the given status and reply, and returns
// the ReturnValues that the origin has received and the client's answer.
func (f *followed) write(op, body string, status int, reply string) (returns, answer string) {
	f.t.Helper()
	f.origin.mu.Lock()
	f.origin.handler = func(string, string) (int, string) { return status, reply }
	f.origin.mu.Unlock()
	got := f.do(op, body)
	if got.status != status {
		f.t.Errorf("%s %s: got %d %s", op, body, got.status, got.body)
	}
	f.sent = f.origins(op)[0].body
	value, _ := wire.Lookup([]byte(f.sent), "ReturnValues")
	return strings.Trim(string(value), `"`), got.body
}

// TestOwnRecords checks that the records of writes through a service are recognized, in
// a table without a global index.
func TestOwnRecords(t *testing.T) {
	f := newFollowed(t, describePlain)
	check := func(op, body, reply, returns, client, old, new, want string) {
		t.Helper()
		gotReturns, gotClient := f.write(op, body, 200, reply)
		if gotReturns != returns || !sameJSON(gotClient, client) {
			t.Errorf("%s %s: the origin received %q, the client %s", op, body, gotReturns, gotClient)
		}
		if got := f.record(old, new); got != want {
			t.Errorf("%s %s: the record is %s; want %s", op, body, got, want)
		}
		if n := f.tracked(); n != 0 {
			t.Errorf("%s %s: %d writes remain", op, body, n)
		}
	}
	const (
		a1 = `{"p":{"S":"a"},"n":{"N":"1"},"s":{"SS":["x","y"]}}`
		a2 = `{"p":{"S":"a"},"n":{"N":"2"},"s":{"SS":["x","y"]}}`
	)
	check("PutItem", `{"TableName":"t","Item":{"s":{"SS":["y","x"]},"n":{"N":"1.0"},"p":{"S":"a"}}}`, `{}`, "", `{}`, "", a1, "exact")
	check("PutItem", `{"TableName":"t","ReturnValues":"ALL_OLD","Item":`+a2+`}`, `{"Attributes":`+a1+`}`, "ALL_OLD", `{"Attributes":`+a1+`}`, a1, a2, "exact")
	key := `{"TableName":"t","Key":{"p":{"S":"a"}}`
	set := key + `,"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"2.0"}}`
	check("UpdateItem", set+`}`, `{"Attributes":`+a2+`}`, "ALL_NEW", `{}`, a1, a2, "exact")
	check("UpdateItem", set+`,"ReturnValues":"ALL_OLD"}`, `{"Attributes":`+a1+`}`, "ALL_OLD", `{"Attributes":`+a1+`}`, a1, a2, "exact")
	check("UpdateItem", set+`,"ReturnValues":"UPDATED_OLD"}`, `{"Attributes":`+a1+`}`, "ALL_OLD", `{"Attributes":{"n":{"N":"1"}}}`, a1, a2, "exact")
	add := key + `,"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}`
	check("UpdateItem", add+`}`, `{"Attributes":`+a2+`}`, "ALL_NEW", `{}`, a1, a2, "exact")
	check("UpdateItem", add+`,"ReturnValues":"UPDATED_NEW"}`, `{"Attributes":`+a2+`}`, "ALL_NEW", `{"Attributes":{"n":{"N":"2"}}}`, a1, a2, "exact")
	check("UpdateItem", add+`,"ReturnValues":"ALL_OLD"}`, `{"Attributes":`+a1+`}`, "ALL_OLD", `{"Attributes":`+a1+`}`, a1, a2, "foreign")
	legacy := key + `,"AttributeUpdates":{"n":{"Action":"ADD","Value":{"N":"1"}}}}`
	check("UpdateItem", legacy, `{"Attributes":`+a2+`}`, "ALL_NEW", `{}`, a1, a2, "exact")
	check("DeleteItem", key+`}`, `{}`, "", `{}`, a2, "", "exact")
	check("DeleteItem", key+`,"ReturnValues":"ALL_OLD"}`, `{"Attributes":`+a2+`}`, "ALL_OLD", `{"Attributes":`+a2+`}`, a2, "", "exact")
	// Writes without a record.
	f.write("PutItem", `{"TableName":"t","ReturnValues":"ALL_OLD","Item":`+a2+`}`, 200, `{"Attributes":`+a2+`}`)
	f.write("DeleteItem", key+`,"ReturnValues":"ALL_OLD"}`, 200, `{}`)
	if n := f.tracked(); n != 0 {
		t.Errorf("%d writes without a record remain", n)
	}
	// Writes without a known effect.
	for _, w := range []struct {
		op, body string
		status   int
		reply    string
	}{
		{"PutItem", `{"TableName":"t","Item":` + a2 + `}`, 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`},
		{"PutItem", `{"TableName":"t","Item":` + a2 + `}`, 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`},
		{"PutItem", `{"TableName":"t","Item":` + a2 + `}`, 200, `[]`},
		{"UpdateItem", key + `,"UpdateExpression":"SET n = = :n","ReturnValues":"UPDATED_NEW"}`, 200, `{"Attributes":{"n":{"N":"2"}}}`},
		{"UpdateItem", key + `,"UpdateExpression":"REMOVE x"}`, 200, `{}`},
		// Acknowledged without an effect if it is repeated.
		{"TransactWriteItems", `{"ClientRequestToken":"x","TransactItems":[{"Put":{"TableName":"t","Item":` + a2 + `}}]}`, 200, `{}`},
		{"TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"t","Key":{"p":{"S":"a"}},"UpdateExpression":"SET n = = :n"}}]}`, 200, `{}`},
		{"ExecuteStatement", `{"Statement":"UPDATE t SET n = 2 WHERE p = 'a' OR n = 1"}`, 200, `{"Items":[]}`},
		{"BatchExecuteStatement", `{"Statements":[{"Statement":"INSERT INTO t VALUE {'p':'a'}"}]}`, 200, `{}`},
	} {
		f.write(w.op, w.body, w.status, w.reply)
		if n, got := f.tracked(), f.record(a1, a2); n != 0 || got != "foreign" {
			t.Errorf("%s %s, answered with %d: %d writes remain, the record is %s", w.op, w.body, w.status, n, got)
		}
	}
}

// TestOwnBatchRecords checks that the records of a batch are recognized, except those of
// items that were not processed.
func TestOwnBatchRecords(t *testing.T) {
	f := newFollowed(t, describePlain)
	const (
		a     = `{"p":{"S":"a"},"n":{"N":"1"}}`
		b     = `{"p":{"S":"b"},"n":{"N":"1"}}`
		batch = `{"RequestItems":{"t":[{"PutRequest":{"Item":{"n":{"N":"1.0"},"p":{"S":"a"}}}},{"DeleteRequest":{"Key":{"p":{"S":"b"}}}}]}}`
		putA  = `{"PutRequest":{"Item":` + a + `}}`
		delB  = `{"DeleteRequest":{"Key":{"p":{"S":"\u0062"}}}}`
	)
	check := func(reply, wantA, wantB string) {
		t.Helper()
		f.write("BatchWriteItem", batch, 200, reply)
		if gotA, gotB := f.record("", a), f.record(b, ""); gotA != wantA || gotB != wantB {
			t.Errorf("%s: the records are %s and %s; want %s and %s", reply, gotA, gotB, wantA, wantB)
		}
		if n := f.tracked(); n != 0 {
			t.Errorf("%s: %d writes remain", reply, n)
		}
	}
	check(`{"UnprocessedItems":{}}`, "exact", "exact")
	check(`{}`, "exact", "exact")
	check(`{"UnprocessedItems":{"t":[`+putA+`]}}`, "foreign", "exact")
	check(`{"UnprocessedItems":{"\u0074":[`+delB+`]}}`, "exact", "foreign")
	check(`{"UnprocessedItems":{"t":[`+putA+`,`+delB+`]}}`, "foreign", "foreign")
	// The items that were not processed can't be determined.
	for _, unprocessed := range []string{`[]`, `{"t":{}}`, `{"t":[{}]}`, `{"t":[{"DeleteRequest":{}}]}`, `{"u":[` + putA + `]}`, `{"arn:aws:dynamodb:us-east-1:000000000000:table/t":[` + putA + `]}`,
		`{},"UnprocessedItems":{"t":[` + putA + `]}`} {
		check(`{"UnprocessedItems":`+unprocessed+`}`, "foreign", "foreign")
	}
	f.write("BatchWriteItem", batch, 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException"}`)
	f.write("BatchWriteItem", batch, 500, `{}`)
	if n, got := f.tracked(), f.record("", a); n != 0 || got != "foreign" {
		t.Errorf("%d writes remain of batches that failed, the record is %s", n, got)
	}
}

// TestOwnTransactionRecords checks that the records of a transaction are recognized, if the answer
// shows that it was executed.
func TestOwnTransactionRecords(t *testing.T) {
	f := newFollowed(t, describePlain)
	const (
		a       = `{"p":{"S":"a"},"n":{"N":"1"}}`
		b       = `{"p":{"S":"b"},"n":{"N":"1"}}`
		c2      = `{"p":{"S":"c"},"n":{"N":"2"}}`
		c5      = `{"p":{"S":"c"},"n":{"N":"5"}}`
		actions = `"TransactItems":[{"Put":{"TableName":"t","Item":{"n":{"N":"1.0"},"p":{"S":"a"}}}},{"Delete":{"TableName":"t","Key":{"p":{"S":"b"}}}},` +
			`{"Update":{"TableName":"t","Key":{"p":{"S":"c"}},"UpdateExpression":"ADD #n :n","ConditionExpression":"#m <> :m",` +
			`"ExpressionAttributeNames":{"#n":"n","#m":"m"},"ExpressionAttributeValues":{":n":{"N":"3"},":m":{"S":"x"}}}},` +
			`{"ConditionCheck":{"TableName":"t","Key":{"p":{"S":"d"}},"ConditionExpression":"attribute_exists(p)"}}]`
		written = `{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":8.0,"WriteCapacityUnits":8.0}]}`
		read    = `{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":8.0,"ReadCapacityUnits":8.0,"WriteCapacityUnits":0.0}]}`
	)
	check := func(more, reply, sent, client, want string) {
		t.Helper()
		_, got := f.write("TransactWriteItems", `{`+more+actions+`}`, 200, reply)
		capacity, _ := wire.Lookup([]byte(f.sent), "ReturnConsumedCapacity")
		if string(capacity) != sent || !sameJSON(got, client) {
			t.Errorf("%s: the origin received %q, the client %s", more, capacity, got)
		}
		if got := []string{f.record("", a), f.record(b, ""), f.record(c2, c5)}; strings.Join(got, " ") != want {
			t.Errorf("%s: the records are %s; want %s", more, got, want)
		}
		if n := f.tracked(); n != 0 {
			t.Errorf("%s: %d writes remain", more, n)
		}
	}
	const own, foreign, token = "exact exact exact", "foreign foreign foreign", `"ClientRequestToken":"x",`
	check(``, `{}`, ``, `{}`, own)
	check(`"ClientRequestToken":null,`, `{}`, ``, `{}`, own)
	check(token, written, `"TOTAL"`, `{}`, own)
	check(token, read, `"TOTAL"`, `{}`, foreign)
	check(token, `{}`, `"TOTAL"`, `{}`, foreign)
	check(token+`"ReturnConsumedCapacity":"NONE",`, written, `"TOTAL"`, `{}`, own)
	check(token+`"ReturnConsumedCapacity":"INDEXES",`, written, `"INDEXES"`, written, own)
	check(token+`"ReturnConsumedCapacity":"TOTAL",`, read, `"TOTAL"`, read, foreign)
	check(token+`"ReturnItemCollectionMetrics":"SIZE",`, `{"ItemCollectionMetrics":{},`+written[1:], `"TOTAL"`, `{"ItemCollectionMetrics":{}}`, own)
	check(token+token, written, ``, written, foreign) // which of them counts?
}

// TestOwnStatementRecords checks that the records of PartiQL statements are recognized.
func TestOwnStatementRecords(t *testing.T) {
	f := newFollowed(t, describePlain)
	const (
		a1     = `{"p":{"S":"a"},"n":{"N":"1"}}`
		a3     = `{"p":{"S":"a"},"n":{"N":"3"}}`
		insert = `{"Statement":"INSERT INTO t VALUE {'p': ?, 'n': 1.0}","Parameters":[{"S":"a"}]}`
		update = `{"Statement":"UPDATE \"t\" SET n = n + ? WHERE n < 3 AND 'a' = p","Parameters":[{"N":"2"}]}`
		remove = `{"Statement":"DELETE FROM t WHERE p = ?","Parameters":[{"S":"a"}]}`
	)
	for _, c := range []struct{ statement, old, new string }{{insert, "", a1}, {update, a1, a3}, {remove, a3, ""}} {
		check := func(op, body, reply, want string) {
			t.Helper()
			f.write(op, body, 200, reply)
			if got := f.record(c.old, c.new); got != want {
				t.Errorf("%s %s: the record is %s; want %s", op, body, got, want)
			}
			if n := f.tracked(); n != 0 {
				t.Errorf("%s %s: %d writes remain", op, body, n)
			}
		}
		check("ExecuteStatement", c.statement, `{"Items":[]}`, "exact")
		batch := `{"Statements":[` + c.statement + `]}`
		check("BatchExecuteStatement", batch, `{"Responses":[{"TableName":"t"}]}`, "exact")
		check("BatchExecuteStatement", batch, `{"Responses":[{"TableName":"t","Error":{"Code":"ConditionalCheckFailed"}}]}`, "foreign")
		check("BatchExecuteStatement", batch, `{"Responses":[{"TableName":"t","Error":{"Code":"InternalServerError"}}]}`, "foreign")
		rest := `"TransactStatements":[` + c.statement + `]}`
		check("ExecuteTransaction", `{`+rest, `{}`, "exact")
		check("ExecuteTransaction", `{"ClientRequestToken":"x",`+rest, `{}`, "foreign")
		check("ExecuteTransaction", `{"ClientRequestToken":"x",`+rest, `{"ConsumedCapacity":[{"TableName":"t","WriteCapacityUnits":2.0}]}`, "exact")
	}
}

// TestOwnRecordsWithIndex checks that both images of a write are known in a table with global
// indexes, except for an update that doesn't move the item.
func TestOwnRecordsWithIndex(t *testing.T) {
	f := newFollowed(t, describeT)
	const (
		x   = `{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}`
		y   = `{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"y"}}`
		y1  = `{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"y"},"v":{"N":"1"}}`
		xk  = `{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"},"k":{"S":"k"}}`
		xk1 = `{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"},"k":{"S":"k"},"v":{"N":"1"}}`
		key = `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1.0"}}`
	)
	check := func(op, body, reply, returns, old, new, want string) {
		t.Helper()
		if got, _ := f.write(op, body, 200, reply); got != returns {
			t.Errorf("%s %s: the origin received %q", op, body, got)
		}
		if got := f.record(old, new); got != want {
			t.Errorf("%s %s: the record is %s; want %s", op, body, got, want)
		}
	}
	check("PutItem", `{"TableName":"t","Item":`+x+`}`, `{}`, "ALL_OLD", "", x, "exact")
	check("UpdateItem", key+`,"UpdateExpression":"SET g = :g","ExpressionAttributeValues":{":g":{"S":"y"}}}`, `{"Attributes":`+x+`}`, "ALL_OLD", x, y, "exact")
	check("UpdateItem", key+`,"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":{"N":"1"}}}`, `{"Attributes":`+y1+`}`, "ALL_NEW", y, y1, "exact")
	check("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":`+x+`}}]}}`, `{"UnprocessedItems":{}}`, "", y1, x, "exact")
	check("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":`+xk+`}}]}}`, `{"UnprocessedItems":{}}`, "", x, xk, "exact")
	check("UpdateItem", key+`,"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":{"N":"1"}}}`, `{"Attributes":`+xk1+`}`, "ALL_NEW", xk, xk1, "exact")
	check("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":`+xk+`}}]}}`, `{"UnprocessedItems":{}}`, "", xk1, xk, "exact")
	check("UpdateItem", key+`,"UpdateExpression":"REMOVE k"}`, `{"Attributes":`+xk+`}`, "ALL_OLD", xk, x, "exact")
	check("DeleteItem", key+`}`, `{"Attributes":`+x+`}`, "ALL_OLD", x, "", "exact")
	if n := f.tracked(); n != 0 {
		t.Errorf("%d writes remain", n)
	}
}

// TestOwnRecordInFlight checks that a record that arrives before the answer to its write is
// not recognized, and that no later one is.
func TestOwnRecordInFlight(t *testing.T) {
	f := newFollowed(t, describePlain)
	const item = `{"p":{"S":"a"}}`
	for op, body := range map[string]string{
		"PutItem":        `{"TableName":"t","Item":` + item + `}`,
		"BatchWriteItem": `{"RequestItems":{"t":[{"PutRequest":{"Item":` + item + `}}]}}`,
	} {
		got := ""
		f.origin.mu.Lock()
		f.origin.handler = func(string, string) (int, string) {
			if n := f.tracked(); n != 1 {
				t.Errorf("%s: %d writes are in flight", op, n)
			}
			got = f.record("", item)
			return http.StatusOK, `{}`
		}
		f.origin.mu.Unlock()
		f.do(op, body)
		if later := f.record("", item); got != "foreign" || later != "foreign" || f.tracked() != 0 {
			t.Errorf("%s: the record is %s, then %s; %d writes remain", op, got, later, f.tracked())
		}
	}
}
