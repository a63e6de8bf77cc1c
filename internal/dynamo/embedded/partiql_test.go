package embedded

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const (
	statementsTable = `{"TableName":"one","KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`
	statementsRange = `{"TableName":"two","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
		"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"},
			{"AttributeName":"h","AttributeType":"B"},{"AttributeName":"l","AttributeType":"S"}],
		"GlobalSecondaryIndexes":[{"IndexName":"glob","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
			"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["a"]}},
			{"IndexName":"many","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"h","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}],
		"LocalSecondaryIndexes":[{"IndexName":"loc","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],
		"BillingMode":"PAY_PER_REQUEST"}`
)

// withStatements opens a store with two tables: one, and two with a sort key and
// indexes.
func withStatements(t testing.TB) *Store {
	t.Helper()
	s := newStore(t)
	s.mustSend(t, "CreateTable", statementsTable)
	s.mustSend(t, "CreateTable", statementsRange)
	return s
}

// execute returns the body of an ExecuteStatement with more members.
func execute(statement string, more ...string) string {
	return fmt.Sprintf(`{"Statement":%s%s}`, wire.AppendQuoted(nil, []byte(statement)), strings.Join(append([]string{""}, more...), ","))
}

// run executes statements that must succeed.
func (s *Store) run(t testing.TB, statements ...string) {
	t.Helper()
	for _, text := range statements {
		s.mustSend(t, "ExecuteStatement", execute(text))
	}
}

// rows executes a SELECT and returns its Items.
func (s *Store) rows(t testing.TB, statement string, more ...string) string {
	t.Helper()
	var reply struct{ Items json.RawMessage }
	if err := json.Unmarshal([]byte(s.mustSend(t, "ExecuteStatement", execute(statement, more...))), &reply); err != nil {
		t.Fatal(err)
	}
	return string(reply.Items)
}

// expectInvalid executes a statement that must be refused with a ValidationException.
func (s *Store) expectInvalid(t testing.TB, statement, message string, more ...string) {
	t.Helper()
	s.expectError(t, "ExecuteStatement", execute(statement, more...), "ValidationException", message)
}

func TestExecuteStatementRefusals(t *testing.T) {
	s := withStatements(t)
	s.expectInvalid(t, "SLECT * FROM one", "Statement wasn't well formed, can't be processed: Expected data manipulation")
	s.expectInvalid(t, "SELECT * FROM one WHERE p = ?", "Number of parameters in request and statement don't match.")
	s.expectInvalid(t, "SLECT", "The parameter cannot be converted to a numeric value: x", `"Parameters":[{"N":"x"}]`)
	s.expectInvalid(t, "EXISTS(SELECT * FROM one WHERE p = 'a' AND b = 1)", "EXISTS can only be used in ExecuteTransaction write requests.")
	for _, text := range []string{"SELECT * FROM none ORDER BY 1", "INSERT INTO none VALUE {}", "UPDATE none SET a = 1 WHERE b = 1 RETURNING ALL OLD a", "DELETE FROM none WHERE b = 1"} {
		s.expectError(t, "ExecuteStatement", execute(text), "ResourceNotFoundException", "Requested resource not found")
	}
}

func TestTableNamedByARN(t *testing.T) {
	s := withStatements(t)
	s.run(t, `INSERT INTO "arn:aws:dynamodb:us-east-1:000000000000:table/one" VALUE {'p': 'a'}`)
	if got := s.rows(t, `SELECT * FROM "arn:aws:dynamodb:us-east-1:000000000000:table/one"`); got != `[{"p":{"S":"a"}}]` {
		t.Errorf("got %v", got)
	}
}

func TestInsert(t *testing.T) {
	s := withStatements(t)
	if got := s.mustSend(t, "ExecuteStatement", execute(`INSERT INTO one VALUE {'p': 'a', 'n': 1.50, 'l': [true, null], 'q': ?}`, `"Parameters":[{"B":"AQ=="}]`)); got != `{"Items":[]}` {
		t.Errorf("got %v", got)
	}
	if got, want := s.rows(t, "SELECT * FROM one"), `[{"p":{"S":"a"},"n":{"N":"1.5"},"l":{"L":[{"BOOL":true},{"NULL":true}]},"q":{"B":"AQ=="}}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.expectError(t, "ExecuteStatement", execute(`INSERT INTO one VALUE {'p': 'a'}`, `"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`), "DuplicateItemException", "Duplicate primary key exists in table")

	f := func(statement, message string, more ...string) {
		t.Helper()
		s.expectInvalid(t, statement, message, more...)
	}
	f("INSERT INTO one VALUE {'a': 1}", "Key attribute should be present in the item: Key p")
	f("INSERT INTO two VALUE {'p': 'a'}", "Key attribute should be present in the item: Key s")
	f("INSERT INTO one VALUE {'p': 1}", "Key attribute's data type should match its data type in table's schema: Key p")
	f("INSERT INTO two VALUE {'p': 'a', 's': 'b'}", "Key attribute's data type should match its data type in table's schema: Key s")
	f("INSERT INTO one VALUE {'p': true}", "Key value must be of type S, N, or B. Key name: p, Key type: BOOL")
	f("INSERT INTO one VALUE {'p': ?}", "Key value must be of type S, N, or B. Key name: p, Key type: L", `"Parameters":[{"L":[]}]`)
	f("INSERT INTO one VALUE {'p': ''}", "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p")
	f("INSERT INTO one VALUE {'p': 'a'} RETURNING ALL OLD *", "RETURNING is not supported in INSERT")
	f("INSERT INTO one VALUE {'a': 1} RETURNING ALL OLD *", "Key attribute should be present in the item: Key p")
	f("INSERT INTO one VALUE {'p': '"+strings.Repeat("k", 2049)+"'}", hashSize)
	f("INSERT INTO two VALUE {'p': 'a', 's': 1, 'g': 2}", "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: glob")
	f("INSERT INTO one VALUE {'p': 'b', 'a': ?}", "Item size has exceeded the maximum allowed size", `"Parameters":[{"S":"`+strings.Repeat("x", 400<<10)+`"}]`)
}

func TestUpdate(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 1, 'm': {'x': 1, 'y': 2}, 'l': [1, 2], 'ss': <<'a', 'b'>>}")
	f := func(change, want string, more ...string) {
		t.Helper()
		if got := s.mustSend(t, "ExecuteStatement", execute("UPDATE one "+change, more...)); got != want {
			t.Errorf("%s: got %s, want %s", change, got, want)
		}
	}
	f("SET n = n + 1 WHERE p = 'a'", `{"Items":[]}`)
	f("SET n = n - 5 WHERE 'a' = p AND n = 2 RETURNING MODIFIED NEW *", `{"Items":[{"n":{"N":"-3"}}]}`)
	f("SET n = ? SET q = 1 WHERE (p = 'a' AND (n < 0 OR n > 5)) RETURNING MODIFIED OLD *", `{"Items":[{"n":{"N":"-3"}}]}`, `"Parameters":[{"N":"7"}]`)
	f("REMOVE q WHERE p = 'a' RETURNING MODIFIED NEW *", `{"Items":[]}`)
	f("SET l = list_append(l, [3]) SET m.x = if_not_exists(m.z, 5) WHERE p = 'a' AND p = 'a' RETURNING ALL NEW *",
		`{"Items":[{"p":{"S":"a"},"n":{"N":"7"},"m":{"M":{"x":{"N":"5"},"y":{"N":"2"}}},"l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]},"ss":{"SS":["a","b"]}}]}`)
	f("SET ss = set_delete(ss, <<'a'>>) REMOVE l[0] REMOVE m WHERE p = 'a' RETURNING ALL NEW *",
		`{"Items":[{"p":{"S":"a"},"n":{"N":"7"},"l":{"L":[{"N":"2"},{"N":"3"}]},"ss":{"SS":["b"]}}]}`)
	f("SET ss = set_add(ss, ?), ns = set_add(ns, <<1>>) WHERE p = 'a' RETURNING MODIFIED NEW *", `{"Items":[{"ss":{"SS":["b","c"]},"ns":{"NS":["1"]}}]}`, `"Parameters":[{"SS":["c"]}]`)
	f("SET n = 0 WHERE p = 'a' RETURNING ALL OLD *",
		`{"Items":[{"p":{"S":"a"},"n":{"N":"7"},"l":{"L":[{"N":"2"},{"N":"3"}]},"ss":{"SS":["b","c"]},"ns":{"NS":["1"]}}]}`)
}

func TestUpdateRefusals(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 1}", "INSERT INTO two VALUE {'p': 'a', 's': 1, 'g': 'x'}")
	const whole = "Where clause does not contain a mandatory equality on all key attributes"
	f := func(where, message string, more ...string) {
		t.Helper()
		s.expectInvalid(t, "UPDATE two SET a = 1 WHERE "+where, message, more...)
		s.expectInvalid(t, "DELETE FROM two WHERE "+where, message, more...)
	}
	f("p = 'a'", whole)
	f("p = 'a' AND s > 1", whole)
	f("p = 'a' AND s IN [1]", whole)
	f("p = 'a' OR s = 1", whole)
	f("NOT (p = 'a' AND s = 1)", whole)
	f("p = 'a' AND s = a", whole)
	f("p = 'a' AND s = 1 AND s = 2", "Multiple conditions on same key s. Only single item Update/Insert/Delete are supported")
	f("p = 'a' AND s = '1'", "Key attribute's data type should match its data type in table's schema: Key s")
	f("p = null AND s = 1", "Key value must be of type S, N, or B. Key name: p, Key type: NULL")
	f("p = '' AND s = 1", "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p")
	f("p.x = 'a' AND s = 1", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: p")
	f("p = 'a' AND s = 1 AND g[0] = 1", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: g")
	f("p = ? AND s = 1", hashSize, `"Parameters":[{"S":"`+strings.Repeat("k", 2049)+`"}]`)

	f = func(change, message string, more ...string) {
		t.Helper()
		s.expectInvalid(t, "UPDATE two "+change, message, more...)
	}
	f("SET a = 1", whole)
	f("SET p = 'b' WHERE p = 'a' AND s = 1", "One or more parameter values were invalid: Cannot update attribute p. This attribute is part of the key")
	f("REMOVE s WHERE p = 'a' AND s = 1", "One or more parameter values were invalid: Cannot update attribute s. This attribute is part of the key")
	f("SET g = 1 WHERE p = 'a' AND s = 1", "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: glob")
	f("SET g = s WHERE p = 'a' AND s = 1", "The update expression attempted to update the secondary index key to unsupported type")
	f("SET a = nope WHERE p = 'a' AND s = 1", "The provided expression refers to an attribute that does not exist in the item")
	f("SET a.b = 1 WHERE p = 'a' AND s = 1", "The document path provided in the update expression is invalid for update")
	f("SET a = g + 1 WHERE p = 'a' AND s = 1", "An operand in the update expression has an incorrect data type")
	f("SET a = 1 WHERE p = 'a' AND s = 1 RETURNING ALL OLD a", "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
	f("SET a = 1 WHERE p = 'a' RETURNING ALL OLD a", whole)
	f("SET a = ? WHERE p = 'a' AND s = 1", "Item size to update has exceeded the maximum allowed size", `"Parameters":[{"S":"`+strings.Repeat("x", 400<<10)+`"}]`)
	s.expectInvalid(t, "DELETE FROM two WHERE p = 'a' AND s = 1 RETURNING ALL NEW *", "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.")
	if got := s.rows(t, "SELECT * FROM two"); got != `[{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}]` {
		t.Errorf("a refused statement wrote %s", got)
	}
}

// TestStatementSize checks that the size limit of a statement does not include the cost that
// UpdateItem adds for its actions.
func TestStatementSize(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a'}")
	const rest = len("p") + len("a") + len("x") // the item without the value of x
	long := strings.Repeat("x", 400<<10-rest)
	s.mustSend(t, "ExecuteStatement", execute("UPDATE one SET x = ? WHERE p = 'a'", `"Parameters":[{"S":"`+long+`"}]`))
	s.expectInvalid(t, "UPDATE one SET x = ? WHERE p = 'a'", "Item size to update has exceeded the maximum allowed size", `"Parameters":[{"S":"`+long+`x"}]`)
	s.expectError(t, "UpdateItem", `{"TableName":"one","Key":{"p":{"S":"a"}},"UpdateExpression":"SET x = :x","ExpressionAttributeValues":{":x":{"S":"`+long+`"}}}`,
		"ValidationException", "Item size to update has exceeded the maximum allowed size")
}

func TestStatementNesting(t *testing.T) {
	s := withStatements(t)
	deep := func(n int) string { return strings.Repeat(`{"L":[`, n) + `{"N":"1"}` + strings.Repeat("]}", n) }
	s.mustSend(t, "ExecuteStatement", execute("INSERT INTO one VALUE {'p': 'a', 'd': ?, 'e': {'f': 1}}", `"Parameters":[`+deep(30)+`]`))
	s.mustSend(t, "ExecuteStatement", execute("UPDATE one SET e.f = ? WHERE p = 'a'", `"Parameters":[`+deep(30)+`]`))
	s.expectInvalid(t, "UPDATE one SET e.f = ? WHERE p = 'a'", "Nesting Levels have exceeded supported limits", `"Parameters":[`+deep(31)+`]`)
}

func TestConditionOfStatement(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 1}")
	const text = "The conditional request failed"
	failed := func(statement string, more ...string) {
		t.Helper()
		s.expectError(t, "ExecuteStatement", execute(statement, more...), "ConditionalCheckFailedException", text)
	}
	failed("UPDATE one SET n = 2 WHERE p = 'a' AND n = 2")
	failed("UPDATE one SET n = 2 WHERE p = 'b'")
	failed("UPDATE one SET n = 2 WHERE p = 'b' AND n IS MISSING")
	failed("DELETE FROM one WHERE p = 'a' AND n <> 1")
	item := `"Item":{"p":{"S":"a"},"n":{"N":"1"}}`
	for _, statement := range []string{"UPDATE one SET n = 2 WHERE p = 'a' AND n = 2", "DELETE FROM one WHERE p = 'a' AND n = 2"} {
		if _, reply := s.send(t, "ExecuteStatement", execute(statement, `"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`)); !strings.Contains(reply, item) {
			t.Errorf("%s: got %s", statement, reply)
		}
		if _, reply := s.send(t, "ExecuteStatement", execute(statement)); strings.Contains(reply, item) {
			t.Errorf("%s: got %s", statement, reply)
		}
	}
}

func TestDelete(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO two VALUE {'p': 'a', 's': 1, 'n': 1}", "INSERT INTO two VALUE {'p': 'a', 's': 2}")
	f := func(rest, want string) {
		t.Helper()
		if got := s.mustSend(t, "ExecuteStatement", execute("DELETE FROM two WHERE "+rest)); got != want {
			t.Errorf("%s: got %s, want %s", rest, got, want)
		}
	}
	f("p = 'a' AND s = 3", `{"Items":[]}`)
	f("p = 'a' AND s = 3 AND n = 7", `{"Items":[]}`)
	f("p = 'a' AND s = 3 RETURNING ALL OLD *", `{"Items":[]}`)
	f("p = 'a' AND s = 1 AND n = 1 RETURNING ALL OLD *", `{"Items":[{"p":{"S":"a"},"s":{"N":"1"},"n":{"N":"1"}}]}`)
	f("p = 'a' AND s = 2", `{"Items":[]}`)
	if got := s.rows(t, "SELECT * FROM two"); got != `[]` {
		t.Errorf("got %v", got)
	}
}

func TestCapacityOfStatements(t *testing.T) {
	s := withStatements(t)
	f := func(statement, want string, more ...string) {
		t.Helper()
		reply := s.mustSend(t, "ExecuteStatement", execute(statement, append(more, `"ReturnConsumedCapacity":"INDEXES"`)...))
		if _, got, _ := strings.Cut(reply, `"ConsumedCapacity":`); got != want+"}" {
			t.Errorf("%s: got %s, want %s", statement, got, want)
		}
	}
	write := func(table, total, own, local, global string) string {
		text := `{"TableName":"` + table + `","CapacityUnits":` + total + `,"Table":{"CapacityUnits":` + own + `}`
		if local != "" {
			text += `,"LocalSecondaryIndexes":{"loc":{"CapacityUnits":` + local + `}}`
		}
		if global != "" {
			text += `,"GlobalSecondaryIndexes":{"glob":{"CapacityUnits":` + global + `}}`
		}
		return text + "}"
	}
	big := `"Parameters":[{"S":"` + strings.Repeat("x", 5000) + `"}]`
	f("INSERT INTO one VALUE {'p': 'a'}", write("one", "1.0", "1.0", "", ""))
	f("UPDATE one SET x = ? WHERE p = 'a'", write("one", "5.0", "5.0", "", ""), big)
	f("DELETE FROM one WHERE p = 'a'", write("one", "5.0", "5.0", "", ""))
	f("DELETE FROM one WHERE p = 'a'", write("one", "1.0", "1.0", "", ""))
	f("INSERT INTO two VALUE {'p': 'a', 's': 1, 'g': 'x', 'l': 'y', 'b': ?}", write("two", "7.0", "5.0", "1.0", "1.0"), big)
	f("INSERT INTO two VALUE {'p': 'b', 's': 1, 'b': ?}", write("two", "5.0", "5.0", "", ""), big)

	f("SELECT * FROM two", write("two", "1.5", "1.5", "", ""))
	f("SELECT * FROM two WHERE p = 'a'", write("two", "1.0", "1.0", "", ""))
	f("SELECT * FROM two WHERE p = 'a'", write("two", "2.0", "2.0", "", ""), `"ConsistentRead":true`)
	f("SELECT p FROM two WHERE p IN ['a', 'b'] AND s = 1", write("two", "2.0", "2.0", "", ""))
	f("SELECT * FROM two WHERE p = 'c'", write("two", "0.5", "0.5", "", ""))
	f("SELECT * FROM two WHERE p = 'c' AND p = 'd'", write("two", "0.5", "0.5", "", ""))
	f("SELECT * FROM two.glob WHERE g = 'x'", write("two", "0.5", "0.0", "", "0.5"))
	f("SELECT * FROM two.loc WHERE p = 'a'", write("two", "0.5", "0.0", "0.5", ""))
	f("SELECT l, b FROM two.loc WHERE p = 'a'", write("two", "1.5", "1.0", "0.5", ""))
}
