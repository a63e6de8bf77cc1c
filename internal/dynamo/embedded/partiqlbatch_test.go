package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// statementsBody returns the body of a BatchExecuteStatement or an ExecuteTransaction with the
// statements in the member. A statement that begins with a brace is used with its other members.
func statementsBody(member string, more string, statements ...string) string {
	list := make([]string, len(statements))
	for i, text := range statements {
		if list[i] = text; text[0] != '{' {
			list[i] = fmt.Sprintf(`{"Statement":%s}`, wire.AppendQuoted(nil, []byte(text)))
		}
	}
	return fmt.Sprintf(`{"%s":[%s]%s}`, member, strings.Join(list, ","), more)
}

// expectBatch executes statements and checks the response to each.
func (s *Store) expectBatch(t testing.TB, more string, statements []string, responses []string, rest string) {
	t.Helper()
	got := s.mustSend(t, "BatchExecuteStatement", statementsBody("Statements", more, statements...))
	if want := `{"Responses":[` + strings.Join(responses, ",") + `]` + rest + `}`; got != want {
		t.Errorf("%q: got\n%s, want\n%s", statements, got, want)
	}
}

// failedWith returns the response to a failed statement. table is empty if the statement was
// rejected before its item was read.
func failedWith(code, message, table string) string {
	text := fmt.Sprintf(`{"Error":{"Code":"%s","Message":%s}`, code, wire.AppendQuoted(nil, []byte(message)))
	if table != "" {
		text += `,"TableName":"` + table + `"`
	}
	return text + "}"
}

func TestBatchOfReads(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 1, 'm': {'x': 2}}", "INSERT INTO two VALUE {'p': 'a', 's': 1, 'g': 'g'}", "INSERT INTO two VALUE {'p': 'b', 's': 1}")
	const key = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
	s.expectBatch(t, "", []string{
		"SELECT * FROM one WHERE p = 'a'",
		"SELECT m.x FROM one WHERE p IN ['b']",
		"SELECT g, p FROM two WHERE p = 'a' AND s IN [1]",
		"SELECT * FROM two WHERE p = 'a'",
		"SELECT * FROM two WHERE p = 'a' AND s = 2 AND g = 'g'",
		"SELECT * FROM two WHERE p = 'a' AND s > 1",
		"SELECT * FROM one",
		"SELECT * FROM two.glob WHERE g = 'g' AND s = 1",
		"SELECT * FROM one WHERE p = 1",
		"SELECT * FROM one WHERE p = ''",
		"SELECT * FROM none WHERE p = 'a'",
		"SLECT",
		"SELECT * FROM one WHERE p = ?",
		`{"Statement":"SELECT n FROM one WHERE p = ? AND p = ?","Parameters":[{"S":"c"},{"S":"c"}],"ConsistentRead":true}`,
		"EXISTS(SELECT * FROM one WHERE p = 'a' AND n = 1)",
		"SELECT zz FROM two WHERE p = 'b' AND s = 1",
	}, []string{
		`{"TableName":"one","Item":{"p":{"S":"a"},"n":{"N":"1"},"m":{"M":{"x":{"N":"2"}}}}}`,
		`{"TableName":"one"}`,
		`{"TableName":"two","Item":{"g":{"S":"g"},"p":{"S":"a"}}}`,
		failedWith("ValidationError", key, ""),
		failedWith("ValidationError", key, ""),
		failedWith("ValidationError", key, ""),
		failedWith("ValidationError", key, ""),
		failedWith("ValidationError", key, ""),
		failedWith("ValidationError", "Key attribute's data type should match its data type in table's schema: Key p", ""),
		failedWith("ValidationError", emptyText, ""),
		failedWith("ResourceNotFound", "Requested resource not found", ""),
		failedWith("ValidationError", "Unsupported operation: Id", ""),
		failedWith("ValidationError", "Number of parameters in request and statement don't match.", ""),
		`{"TableName":"one"}`,
		failedWith("ValidationError", "EXISTS can only be used in ExecuteTransaction write requests.", ""),
		`{"TableName":"two","Item":{}}`,
	}, "")
}

func TestBatchOfWrites(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 1}", "INSERT INTO one VALUE {'p': 'd', 'n': 1}", "INSERT INTO one VALUE {'p': 'e', 'n': 1}")
	deep := strings.Repeat(`{"L":[`, 31) + `{"N":"1"}` + strings.Repeat("]}", 31)
	s.run(t, "INSERT INTO one VALUE {'p': 'f', 'm': {}}")
	s.expectBatch(t, "", []string{
		"INSERT INTO one VALUE {'p': 'b'}",
		"INSERT INTO one VALUE {'p': 'a'}",
		"UPDATE one SET n = n + 1 WHERE p = 'd' RETURNING MODIFIED NEW *",
		"UPDATE one SET n = 2 WHERE p = 'none'",
		"DELETE FROM one WHERE p = 'e' RETURNING ALL OLD *",
		"DELETE FROM one WHERE p = 'gone' RETURNING ALL OLD *",
		"UPDATE one SET n = 2 WHERE n = 1",
		"UPDATE two.glob SET n = 2 WHERE p = 'a'",
		"INSERT INTO two VALUE {'p': 'a'}",
		"INSERT INTO none VALUE {'p': 'a'}",
		"DELETE FROM one WHERE p = 'h' RETURNING ALL NEW *",
		`{"Statement":"UPDATE one SET m.x = ? WHERE p = 'f'","Parameters":[` + deep + `]}`,
		"UPDATE one SET n = zz WHERE p = 'g'",
	}, []string{
		`{"TableName":"one"}`,
		failedWith("DuplicateItem", "Duplicate primary key exists in table", "one"),
		`{"TableName":"one","Item":{"n":{"N":"2"}}}`,
		failedWith("ConditionalCheckFailed", "The conditional request failed", "one"),
		`{"TableName":"one","Item":{"p":{"S":"e"},"n":{"N":"1"}}}`,
		`{"TableName":"one"}`,
		failedWith("ValidationError", "Where clause does not contain a mandatory equality on all key attributes", ""),
		failedWith("ValidationError", "This operation is not supported on an index", ""),
		failedWith("ValidationError", "Key attribute should be present in the item: Key s", ""),
		failedWith("ResourceNotFound", "Requested resource not found", ""),
		failedWith("ValidationError", "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.", ""),
		failedWith("ValidationError", "Nesting Levels have exceeded supported limits", "one"),
		failedWith("ConditionalCheckFailed", "The conditional request failed", "one"),
	}, "")
	for key, want := range map[string]string{"a": `[{"p":{"S":"a"},"n":{"N":"1"}}]`, "b": `[{"p":{"S":"b"}}]`, "d": `[{"p":{"S":"d"},"n":{"N":"2"}}]`, "e": `[]`, "f": `[{"p":{"S":"f"},"m":{"M":{}}}]`} {
		if got := s.rows(t, "SELECT * FROM one WHERE p = '"+key+"'"); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	s.expectBatch(t, "", []string{`{"Statement":"UPDATE one SET n = 3 WHERE p = 'd' AND n = 1","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		[]string{`{"Error":{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":{"p":{"S":"d"},"n":{"N":"2"}}},"TableName":"one"}`}, "")
}

func TestBatchRefusals(t *testing.T) {
	s := withStatements(t)
	f := func(message string, statements ...string) {
		t.Helper()
		s.expectError(t, "BatchExecuteStatement", statementsBody("Statements", "", statements...), "ValidationException", message)
	}
	const mixed = "Read and write requests together in the same batch is not supported."
	f(mixed, "SELECT * FROM one WHERE p = 'a'", "DELETE FROM one WHERE p = 'b'")
	f(mixed, "SLECT", "INSERT INTO none VALUE {}", "SELECT * FROM none")
	const twice = "Provided list of item keys contains duplicates"
	f(twice, "SELECT * FROM one WHERE p = 'a'", "SLECT", "SELECT n FROM one WHERE p IN ['a']")
	f(twice, "INSERT INTO two VALUE {'p': 'a', 's': 1}", "DELETE FROM two WHERE p = 'a' AND s = 1.0")
	if got := s.rows(t, "SELECT * FROM two"); got != `[]` {
		t.Errorf("got %v", got)
	}
}

func TestCapacityOfBatches(t *testing.T) {
	s := withStatements(t)
	const inUnits = `,"ReturnConsumedCapacity":"INDEXES"`
	big := `"Parameters":[{"S":"` + strings.Repeat("x", 5000) + `"}]`
	s.mustSend(t, "ExecuteStatement", execute("INSERT INTO one VALUE {'p': 'big', 'x': ?}", big))
	s.expectBatch(t, inUnits, []string{
		"INSERT INTO one VALUE {'p': 'a'}",
		"INSERT INTO one VALUE {'p': 'big'}",
		`{"Statement":"INSERT INTO two VALUE {'p': 'a', 's': 1, 'g': 'x', 'y': ?}",` + big + `}`,
		`{"Statement":"UPDATE one SET n = ? WHERE p = 'none'",` + big + `}`,
		"UPDATE one SET n = 1",
	}, []string{
		`{"TableName":"one"}`,
		failedWith("DuplicateItem", "Duplicate primary key exists in table", "one"),
		`{"TableName":"two"}`,
		failedWith("ConditionalCheckFailed", "The conditional request failed", "one"),
		failedWith("ValidationError", "Where clause does not contain a mandatory equality on all key attributes", ""),
	}, `,"ConsumedCapacity":[{"TableName":"one","CapacityUnits":7.0,"Table":{"CapacityUnits":1.0}},`+
		`{"TableName":"two","CapacityUnits":6.0,"Table":{"CapacityUnits":5.0},"GlobalSecondaryIndexes":{"glob":{"CapacityUnits":1.0}}}]`)
	s.expectBatch(t, inUnits, []string{"INSERT INTO one VALUE {'p': 'a'}"}, []string{failedWith("DuplicateItem", "Duplicate primary key exists in table", "one")}, "")
	s.expectBatch(t, inUnits, []string{"INSERT INTO one VALUE {'p': 'a'}", "INSERT INTO two VALUE {'p': 'c', 's': 1}"},
		[]string{failedWith("DuplicateItem", "Duplicate primary key exists in table", "one"), `{"TableName":"two"}`},
		`,"ConsumedCapacity":[{"TableName":"two","CapacityUnits":1.0,"Table":{"CapacityUnits":1.0}}]`)
	s.expectBatch(t, `,"ReturnConsumedCapacity":"TOTAL"`, []string{
		"SELECT p FROM one WHERE p = 'big'",
		`{"Statement":"SELECT p FROM two WHERE p = 'a' AND s = 1","ConsistentRead":true}`,
		"SELECT p FROM one WHERE p = 'none'",
		"SELECT p FROM one WHERE p = 1",
	}, []string{`{"TableName":"one","Item":{"p":{"S":"big"}}}`, `{"TableName":"two","Item":{"p":{"S":"a"}}}`, `{"TableName":"one"}`,
		failedWith("ValidationError", "Key attribute's data type should match its data type in table's schema: Key p", "")},
		`,"ConsumedCapacity":[{"TableName":"one","CapacityUnits":1.5},{"TableName":"two","CapacityUnits":2.0}]`)
}
