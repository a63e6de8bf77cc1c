package embedded

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

func (s *Store) expectTransaction(t testing.TB, more, want string, statements ...string) {
	t.Helper()
	if got := s.mustSend(t, "ExecuteTransaction", statementsBody("TransactStatements", more, statements...)); got != want {
		t.Errorf("%q: got %s, want %s", statements, got, want)
	}
}

// reasonJSON returns a cancellation reason as JSON.
func reasonJSON(code, message string) string {
	return fmt.Sprintf(`{"Code":"%s","Message":%s}`, code, wire.AppendQuoted(nil, []byte(message)))
}

func TestTransactionOfStatements(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 1}", "INSERT INTO two VALUE {'p': 'd', 's': 1}")
	s.expectTransaction(t, "", `{"Responses":[]}`,
		"INSERT INTO one VALUE {'p': 'b', 'n': 1}",
		`{"Statement":"UPDATE one SET n = n + ? WHERE p = 'a' AND n = 1","Parameters":[{"N":"5"}]}`,
		"DELETE FROM two WHERE p = 'd' AND s = 1",
		"DELETE FROM two WHERE p = 'd' AND s = 2 AND n = 1",
		"INSERT INTO two VALUE {'p': 'e', 's': 1}")
	s.expectTransaction(t, "", `{"Responses":[{"Item":{"p":{"S":"a"},"n":{"N":"6"}}},{},{"Item":{"n":{"N":"1"}}},{},{}]}`,
		"SELECT * FROM one WHERE p = 'a'",
		"SELECT * FROM two WHERE p = 'd' AND s = 1",
		"SELECT n, zz FROM one WHERE p IN ['b']",
		"SELECT zz FROM two WHERE p = 'e' AND s = 1",
		"SELECT p FROM one WHERE p = 'zz' ORDER BY p")
	s.expectTransaction(t, "", `{"Responses":[]}`, "EXISTS(SELECT p FROM one WHERE p = 'a' AND n > 5)", "UPDATE one SET n = 0 WHERE p = 'b'")
	if got := s.rows(t, "SELECT n FROM one WHERE p = 'b'"); got != `[{"n":{"N":"0"}}]` {
		t.Errorf("got %v", got)
	}
}

func TestCancellationsOfStatements(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 1}")
	before := s.rows(t, "SELECT * FROM one")
	f := func(codes string, reasons []string, statements ...string) {
		t.Helper()
		s.expectCanceled(t, "ExecuteTransaction", statementsBody("TransactStatements", "", statements...), codes, reasons...)
		if got := s.rows(t, "SELECT * FROM one"); got != before {
			t.Errorf("%q was cancelled, but wrote %s", statements, got)
		}
	}
	duplicate, schema, missing := reasonJSON("DuplicateItem", "Duplicate primary key exists in table"), reasonJSON("ValidationError", mismatch), reasonJSON("ResourceNotFound", "Requested resource not found")
	f("DuplicateItem, None", []string{duplicate, none}, "INSERT INTO one VALUE {'p': 'a'}", "INSERT INTO one VALUE {'p': 'b'}")
	f("None, ConditionalCheckFailed, DuplicateItem, ConditionalCheckFailed", []string{none, checkFailed, duplicate, checkFailed},
		"INSERT INTO one VALUE {'p': 'b'}", "UPDATE one SET n = 1 WHERE p = 'c'", "INSERT INTO one VALUE {'p': 'a'}", "UPDATE one SET n = 1 WHERE p = 'd' AND n IS MISSING")
	f("ConditionalCheckFailed, None", []string{checkFailed, none}, "DELETE FROM one WHERE p = 'a' AND n = 2", "INSERT INTO one VALUE {'p': 'b'}")
	f("ConditionalCheckFailed, None", []string{checkFailed, none}, "EXISTS(SELECT * FROM one WHERE p = 'a' AND n = 2)", "INSERT INTO one VALUE {'p': 'b'}")
	f("ConditionalCheckFailed", []string{checkFailed}, "EXISTS(SELECT * FROM one WHERE p = 'b' AND n IS MISSING)")
	f("ConditionalCheckFailed", []string{`{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":{"p":{"S":"a"},"n":{"N":"1"}}}`},
		`{"Statement":"EXISTS(SELECT * FROM one WHERE p = 'a' AND n = 2)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`)

	f("ResourceNotFound, None, ResourceNotFound", []string{missing, none, missing}, "INSERT INTO none VALUE {}", "UPDATE one SET n = 1 WHERE n = 1", "DELETE FROM other WHERE p = 'a'")
	f("ResourceNotFound", []string{missing}, "SELECT * FROM none")
	f("ValidationError, None, ValidationError, ValidationError, ValidationError, ValidationError", []string{schema, none, schema, schema, schema, schema},
		"UPDATE one SET n = 1 WHERE n = 1", "INSERT INTO one VALUE {'p': 'b'}", "DELETE FROM one WHERE p IN ['x']", "DELETE FROM one WHERE p = 'x' AND p = 'y'",
		"UPDATE two SET n = 1 WHERE p = 'a' AND s = 'b'", "DELETE FROM one")
	f("ValidationError", []string{schema}, "SELECT * FROM one WHERE p = 1")
	f("ValidationError", []string{schema}, "EXISTS(SELECT * FROM one WHERE p = 1 AND n = 1)")
	f("ValidationError", []string{reasonJSON("ValidationError", "One or more parameter values were invalid: Missing the key s in the item")}, "INSERT INTO two VALUE {'p': 'a'}")
	f("ValidationError, None", []string{reasonJSON("ValidationError", "One or more parameter values were invalid: Cannot update attribute p. This attribute is part of the key"), none},
		"UPDATE one SET p = 'x' WHERE p = 'a'", "INSERT INTO one VALUE {'p': 'b'}")
	f("None, ValidationError", []string{none, reasonJSON("ValidationError", "The provided expression refers to an attribute that does not exist in the item")},
		"INSERT INTO one VALUE {'p': 'b'}", "UPDATE one SET n = zz WHERE p = 'a'")
	f("ValidationError", []string{reasonJSON("ValidationError", "Item size has exceeded the maximum allowed size")},
		`{"Statement":"INSERT INTO one VALUE {'p': 'b', 'x': ?}","Parameters":[{"S":"`+strings.Repeat("x", 400<<10)+`"}]}`)
}

func TestRefusalsOfTransactions(t *testing.T) {
	s := withStatements(t)
	f := func(message string, statements ...string) {
		t.Helper()
		s.expectError(t, "ExecuteTransaction", statementsBody("TransactStatements", "", statements...), "ValidationException", message)
	}
	const insert = "INSERT INTO one VALUE {'p': 'a'}"
	in := func(i int) string { return fmt.Sprintf("Validation failed in TransactStatements[%d]: ", i) }
	f(in(1)+"Statement wasn't well formed, can't be processed: Unexpected keyword", insert, "INSERT")
	f(in(0)+"Unsupported operation in transaction.", "EXISTS(p)", "SELECT")
	f(in(1)+"Number of parameters in request and statement don't match.", insert, "UPDATE one SET n = ? WHERE p = 'b'")
	f(in(0)+"RETURNING clause is not supported in ExecuteTransaction.", "UPDATE one SET n = 1 WHERE p = 'b' RETURNING ALL OLD *")
	f(in(0)+"RETURNING clause is not supported in ExecuteTransaction.", "DELETE FROM one WHERE p = 'b' RETURNING ALL NEW *")
	f(in(0)+"RETURNING clause is not supported in ExecuteTransaction.", "INSERT INTO none VALUE {} RETURNING ALL OLD *")
	f(in(0)+"Reads on indices are not supported within transactions.", "SELECT * FROM two.glob WHERE g = 'a'")
	f(in(0)+"Operations on indices are not supported in transactions", "EXISTS(SELECT * FROM two.glob WHERE g = 'a')")
	f(in(0)+"This operation is not supported on an index", "DELETE FROM two.glob")
	f(in(0)+"Argument to ORDER BY must be of type VariableReference. Type: 1", "SELECT * FROM one WHERE p = 'a' ORDER BY 1")
	f("The parameter cannot be converted to a numeric value: x", "SLECT", `{"Statement":"SLECT","Parameters":[{"N":"x"}]}`)

	const mixed = "ExecuteTransaction API does not support both read and write operations in the same request."
	f(mixed, insert, "SELECT * FROM none")
	f(mixed, "SELECT * FROM one", "EXISTS(SELECT * FROM one)")

	const item = "Select statements within ExecuteTransaction must specify the primary key in the where clause."
	f(in(0)+item, "SELECT * FROM one")
	f(in(1)+item, "SELECT * FROM one WHERE p = 'a'", "SELECT * FROM two WHERE p = 'a'", "SELECT * FROM none")
	f(in(0)+item, "SELECT * FROM one WHERE p = 'a' AND n = 1")
	f(in(0)+item, "SELECT * FROM one WHERE p IN ['a', 'b']")
	const exists = "EXISTS() must contain a single item read with additional condition"
	f(in(0)+exists, "EXISTS(SELECT * FROM one WHERE p = 'a')")
	f(in(0)+exists, "EXISTS(SELECT * FROM two WHERE p = 'a' AND n = 1)")
	f(in(0)+exists, "EXISTS(SELECT * FROM one)")

	const twice = "Transaction request cannot include multiple operations on one item"
	f(twice, insert, "DELETE FROM one WHERE p = 'a'")
	f(twice, "EXISTS(SELECT * FROM one WHERE p = 'a' AND n = 1)", "UPDATE two SET n = 1 WHERE p = 'a'", insert)
	f(twice, "SELECT * FROM one WHERE p = 'a'", "SELECT p FROM one WHERE p IN ['a']")
	f(emptyText, "INSERT INTO one VALUE {'p': ''}", insert)
	f(emptyText, "SELECT * FROM one WHERE p = ''")

	var large []string
	for i := range 11 {
		large = append(large, fmt.Sprintf(`{"Statement":"INSERT INTO one VALUE {'p': 'k%02d', 'x': ?}","Parameters":[{"S":"%s"}]}`, i, strings.Repeat("x", 399<<10)))
	}
	f(fmt.Sprintf("Transaction payload size cannot exceed 4MB. Payload Size: : Transaction payload size cannot exceed 4MB. Payload Size: %d", 11*(399<<10+5)), large...)
	if got := s.rows(t, "SELECT * FROM one"); got != `[]` {
		t.Errorf("got %v", got)
	}
}

func TestCapacityOfStatementTransactions(t *testing.T) {
	s := withStatements(t)
	const inUnits = `,"ReturnConsumedCapacity":"INDEXES"`
	units := func(table, kind, total, own, more string) string {
		return fmt.Sprintf(`{"TableName":"%s","CapacityUnits":%s,"%sCapacityUnits":%s,"Table":{"CapacityUnits":%s,"%sCapacityUnits":%s}%s}`, table, total, kind, total, own, kind, own, more)
	}
	const global = `,"GlobalSecondaryIndexes":{"glob":{"CapacityUnits":1.0,"WriteCapacityUnits":1.0}}`
	token := inUnits + `,"ClientRequestToken":"a"`
	writes := []string{"INSERT INTO one VALUE {'p': 'a'}", "INSERT INTO one VALUE {'p': 'b'}", "INSERT INTO two VALUE {'p': 'a', 's': 1, 'g': 'x'}"}
	s.expectTransaction(t, token, `{"Responses":[],"ConsumedCapacity":[`+units("one", "Write", "4.0", "4.0", "")+`,`+units("two", "Write", "3.0", "2.0", global)+`]}`, writes...)
	s.expectTransaction(t, token, `{"Responses":[],"ConsumedCapacity":[`+units("one", "Read", "4.0", "4.0", "")+`,`+units("two", "Read", "2.0", "2.0", "")+`]}`, writes...)
	s.expectTransaction(t, inUnits, `{"Responses":[{"Item":{"p":{"S":"a"}}},{}],"ConsumedCapacity":[`+units("one", "Read", "4.0", "4.0", "")+`]}`,
		"SELECT * FROM one WHERE p = 'a'", "SELECT * FROM one WHERE p = 'zz'")
}

func TestTokensOfStatements(t *testing.T) {
	s := withStatements(t)
	s.run(t, "INSERT INTO one VALUE {'p': 'a', 'n': 0}")
	const token = `,"ClientRequestToken":"token"`
	body := statementsBody("TransactStatements", token, `{"Statement":"UPDATE one SET n = n + ? WHERE p = 'a'","Parameters":[{"N":"1"}]}`)
	for range 3 {
		s.mustSend(t, "ExecuteTransaction", body)
	}
	s.mustSend(t, "ExecuteTransaction", strings.Replace(body, `{"N":"1"}`, `{ "N" : "1.0" }`, 1))
	s.expectError(t, "ExecuteTransaction", strings.Replace(body, `{"N":"1"}`, `{"N":"2"}`, 1), "IdempotentParameterMismatchException",
		"The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical")
	s.mustSend(t, "TransactWriteItems", transact(token, `{"Update":{"TableName":"one","Key":{"p":{"S":"a"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"10"}}}}`))
	if got := s.rows(t, "SELECT n FROM one"); got != `[{"n":{"N":"11"}}]` {
		t.Errorf("got %v", got)
	}
}

// Counters that transactions of statements raise, each two of three, lose nothing.
func TestTransactionsOfStatementsAreAtomic(t *testing.T) {
	s := withStatements(t)
	const workers, rounds = 4, 25
	for _, p := range []string{"0", "1", "2"} {
		s.run(t, "INSERT INTO one VALUE {'p': '"+p+"', 'n': 0}")
	}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range rounds {
				a, b := (w+i)%3, (w+i+1)%3
				s.mustSend(t, "ExecuteTransaction", statementsBody("TransactStatements", "", fmt.Sprintf("UPDATE one SET n = n + 1 WHERE p = '%d'", a), fmt.Sprintf("UPDATE one SET n = n + 1 WHERE p = '%d'", b)))
			}
		})
	}
	group.Wait()
	sum := 0
	for _, p := range []string{"0", "1", "2"} {
		var n int
		if _, err := fmt.Sscanf(s.rows(t, "SELECT n FROM one WHERE p = '"+p+"'"), `[{"n":{"N":"%d"}}]`, &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if sum != 2*workers*rounds {
		t.Errorf("the counters add up to %d, want %d", sum, 2*workers*rounds)
	}
}
