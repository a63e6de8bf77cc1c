package embedded

import (
	"fmt"
	"strings"
	"testing"
)

// expectCapacity compares the ConsumedCapacity of a reply.
func (s *Store) expectCapacity(t testing.TB, op, body, mode, want string) {
	t.Helper()
	got := s.mustSend(t, op, strings.TrimSuffix(body, "}")+`,"ReturnConsumedCapacity":"`+mode+`"}`)
	if !strings.Contains(got, `"ConsumedCapacity":`+want) {
		t.Errorf("%s %.300s:\ngot  %.600s\nwant %s", op, body, got, want)
	}
}

// padded returns a string attribute whose size, with its name v, is that many bytes.
func padded(n int) string { return `"v":{"S":"` + strings.Repeat("x", n-1) + `"}` }

func TestCapacityOfReads(t *testing.T) {
	s := withTables(t)
	f := func(size int, eventual, consistent string) {
		t.Helper()
		s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"},`+padded(size-2)+`}}`)
		get := `{"TableName":"plain","Key":{"p":{"S":"a"}},"ProjectionExpression":"p"}`
		s.expectCapacity(t, "GetItem", get, "TOTAL", `{"TableName":"plain","CapacityUnits":`+eventual+`}`)
		s.expectCapacity(t, "GetItem", strings.Replace(get, `{`, `{"ConsistentRead":true,`, 1), "INDEXES", `{"TableName":"plain","CapacityUnits":`+consistent+`,"Table":{"CapacityUnits":`+consistent+`}}`)
		s.expectCapacity(t, "BatchGetItem", `{"RequestItems":{"plain":{"Keys":[{"p":{"S":"a"}},{"p":{"S":"none"}}],"ConsistentRead":true}}}`, "TOTAL",
			fmt.Sprintf(`[{"TableName":"plain","CapacityUnits":%s.0}]`, plus(consistent, 1)))
		s.expectCapacity(t, "TransactGetItems", transact("", `{"Get":{"TableName":"plain","Key":{"p":{"S":"a"}}}}`), "INDEXES",
			fmt.Sprintf(`[{"TableName":"plain","CapacityUnits":%[1]s.0,"ReadCapacityUnits":%[1]s.0,"Table":{"CapacityUnits":%[1]s.0,"ReadCapacityUnits":%[1]s.0}}]`, double(consistent)))
	}
	f(10, "0.5", "1.0")
	f(4096, "0.5", "1.0")
	f(4097, "1.0", "2.0")
	f(8193, "1.5", "3.0")
	s.expectCapacity(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"none"}},"ConsistentRead":true}`, "TOTAL", `{"TableName":"plain","CapacityUnits":1.0}`)
	s.expectCapacity(t, "GetItem", `{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/plain","Key":{"p":{"S":"none"}}}`, "TOTAL",
		`{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/plain","CapacityUnits":0.5}`)
	if got := s.mustSend(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"none"}},"ReturnConsumedCapacity":"NONE"}`); got != `{}` {
		t.Errorf("NONE: %s", got)
	}
}

// plus and double calculate with units in the form n.0.
func plus(units string, n int) string { return fmt.Sprint(whole(units) + n) }
func double(units string) string      { return fmt.Sprint(2 * whole(units)) }

func whole(units string) (n int) {
	fmt.Sscanf(units, "%d.0", &n)
	return n
}

func TestCapacityOfWrites(t *testing.T) {
	s := withTables(t)
	table := func(units string) string { return `{"TableName":"plain","CapacityUnits":` + units + `}` }
	put := func(size int) string { return `{"TableName":"plain","Item":{"p":{"S":"a"},` + padded(size-2) + `}}` }
	del := `{"TableName":"plain","Key":{"p":{"S":"a"}}}`
	s.expectCapacity(t, "DeleteItem", del, "TOTAL", table("1.0"))
	s.expectCapacity(t, "PutItem", put(1024), "TOTAL", table("1.0"))
	s.expectCapacity(t, "PutItem", put(1025), "TOTAL", table("2.0"))
	s.expectCapacity(t, "PutItem", put(10), "TOTAL", table("2.0")) // the old item was larger
	s.expectCapacity(t, "PutItem", put(3073), "INDEXES", `{"TableName":"plain","CapacityUnits":4.0,"Table":{"CapacityUnits":4.0}}`)
	s.expectCapacity(t, "UpdateItem", `{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"REMOVE v"}`, "TOTAL", table("4.0"))
	s.expectCapacity(t, "UpdateItem", `{"TableName":"plain","Key":{"p":{"S":"none"}},"UpdateExpression":"REMOVE v"}`, "TOTAL", table("1.0"))
	s.expectCapacity(t, "PutItem", put(2049), "TOTAL", table("3.0"))
	s.expectCapacity(t, "DeleteItem", del, "TOTAL", table("3.0"))
	s.expectCapacity(t, "BatchWriteItem", `{"RequestItems":{"plain":[{"PutRequest":{"Item":{"p":{"S":"a"},`+padded(1023)+`}}},{"DeleteRequest":{"Key":{"p":{"S":"none"}}}}]}}`, "TOTAL", `[`+table("3.0")+`]`)
}

// TestCapacityOfIndexes charges only for changed index entries.
func TestCapacityOfIndexes(t *testing.T) {
	s := withTables(t)
	f := func(op, body, total, table, local, global string) {
		t.Helper()
		want := `{"TableName":"range","CapacityUnits":` + total + `,"Table":{"CapacityUnits":` + table + `}`
		appendIndexes := func(member, list string) {
			if list == "" {
				return
			}
			var parts []string
			for _, part := range strings.Fields(list) {
				name, units, _ := strings.Cut(part, "=")
				parts = append(parts, `"`+name+`":{"CapacityUnits":`+units+`}`)
			}
			want += `,"` + member + `":{` + strings.Join(parts, ",") + `}`
		}
		appendIndexes("LocalSecondaryIndexes", local)
		appendIndexes("GlobalSecondaryIndexes", global)
		s.expectCapacity(t, op, body, "INDEXES", want+`}`)
	}
	item := func(more string) string {
		return `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"}` + more + `}}`
	}
	update := func(expression, values string) string {
		if values != "" {
			values = `,"ExpressionAttributeValues":` + values
		}
		return `{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"` + expression + `"` + values + `}`
	}
	f("PutItem", item(``), "1.0", "1.0", "", "")                                                                       // in no index
	f("PutItem", item(`,"l":{"S":"l"}`), "2.0", "1.0", "zlx=1.0", "")                                                  // enters one
	f("PutItem", item(`,"l":{"S":"l"}`), "1.0", "1.0", "", "")                                                         // the same again
	f("UpdateItem", update("SET v = :v", `{":v":{"S":"x"}}`), "1.0", "1.0", "", "")                                    // not projected
	f("UpdateItem", update("SET l = :v", `{":v":{"S":"m"}}`), "3.0", "1.0", "zlx=2.0", "")                             // moves: one entry is removed, one added
	f("UpdateItem", update("SET g = :v", `{":v":{"S":"g"}}`), "3.0", "1.0", "", "byg=1.0 byx=1.0")                     // enters two
	f("UpdateItem", update("SET v = :v", `{":v":{"S":"y"}}`), "2.0", "1.0", "", "byg=1.0")                             // changes in place where all is projected
	f("UpdateItem", update("SET x = :v", `{":v":{"S":"y"}}`), "3.0", "1.0", "", "byg=1.0 byx=1.0")                     // and where it is included
	f("UpdateItem", update("SET v = :v", `{":v":{"S":"`+strings.Repeat("v", 2000)+`"}}`), "4.0", "2.0", "", "byg=2.0") // the larger of the old and the new entry
	f("UpdateItem", update("SET v = :v", `{":v":{"S":"v"}}`), "4.0", "2.0", "", "byg=2.0")
	f("UpdateItem", update("REMOVE g", ""), "3.0", "1.0", "", "byg=1.0 byx=1.0") // removed from both
	f("UpdateItem", update("SET b = :v, g = :g", `{":v":{"B":"AA=="},":g":{"S":"g"}}`), "4.0", "1.0", "zbx=1.0", "byg=1.0 byx=1.0")
	f("DeleteItem", `{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`, "5.0", "1.0", "zlx=1.0 zbx=1.0", "byg=1.0 byx=1.0")
	s.expectCapacity(t, "PutItem", item(`,"l":{"S":"l"}`), "TOTAL", `{"TableName":"range","CapacityUnits":2.0}`)
	s.expectCapacity(t, "BatchWriteItem", `{"RequestItems":{"range":[{"PutRequest":{"Item":{"p":{"S":"b"},"s":{"N":"1"},"l":{"S":"l"}}}},{"PutRequest":{"Item":{"p":{"S":"b"},"s":{"N":"2"},"l":{"S":"l"}}}}]}}`, "INDEXES",
		`[{"TableName":"range","CapacityUnits":4.0,"Table":{"CapacityUnits":2.0},"LocalSecondaryIndexes":{"zlx":{"CapacityUnits":2.0}}}]`)
}

// TestCapacityOfTransactions charges the table twice, the indexes once, and a repeated token like
// a read.
func TestCapacityOfTransactions(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"check"},`+padded(1500)+`}}`)
	body := transact(`,"ClientRequestToken":"t"`, actPut,
		`{"ConditionCheck":{"TableName":"plain","Key":{"p":{"S":"check"}},"ConditionExpression":"attribute_exists(p)"}}`,
		`{"Put":{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"l":{"S":"l"},`+padded(5000)+`}}}`, actDelete)
	units := func(kind, total, table string) string {
		u := func(n string) string { return `"CapacityUnits":` + n + `,"` + kind + `CapacityUnits":` + n }
		more := ""
		if total != table {
			more = `,"LocalSecondaryIndexes":{"zlx":{` + u("1.0") + `}}`
		}
		return `,` + u(total) + `,"Table":{` + u(table) + `}` + more + `}`
	}
	s.expectCapacity(t, "TransactWriteItems", body, "INDEXES",
		`[{"TableName":"plain"`+units("Write", "8.0", "8.0")+`,{"TableName":"range"`+units("Write", "11.0", "10.0")+`]`)
	s.expectCapacity(t, "TransactWriteItems", body, "INDEXES",
		`[{"TableName":"plain"`+units("Read", "6.0", "6.0")+`,{"TableName":"range"`+units("Read", "4.0", "4.0")+`]`)
	s.expectCapacity(t, "TransactWriteItems", body, "TOTAL",
		`[{"TableName":"plain","CapacityUnits":6.0,"ReadCapacityUnits":6.0},{"TableName":"range","CapacityUnits":4.0,"ReadCapacityUnits":4.0}]`)
}
