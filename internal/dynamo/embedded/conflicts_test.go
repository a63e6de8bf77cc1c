package embedded

import (
	"testing"
	"testing/synctest"
)

// TestTransactionConflicts sends requests while a transaction holds its items.
func TestTransactionConflicts(t *testing.T) {
	const (
		conflict = "Transaction is ongoing for the item"
		write    = `{"TransactItems":[{"Put":{"TableName":"plain","Item":{"p":{"S":"a"}}}},{"Delete":{"TableName":"plain","Key":{"p":{"S":"b"}}}}],"ClientRequestToken":"one"}`
	)
	inBubble(t, func(t *testing.T, s *Store) {
		s.setFaults(t, `{"transaction_conflicts":true,"rules":[{"operations":"TransactWriteItems","count":1,"hold":"1s"}]}`)
		answer := s.startSend("TransactWriteItems", write)
		synctest.Wait()
		for op, body := range map[string]string{
			"PutItem":          putPlain,
			"UpdateItem":       getPlain,
			"DeleteItem":       `{"TableName":"plain","Key":{"p":{"S":"b"}}}`,
			"ExecuteStatement": `{"Statement":"DELETE FROM plain WHERE p='a'"}`,
			"BatchWriteItem":   `{"RequestItems":{"plain":[{"DeleteRequest":{"Key":{"p":{"S":"a"}}}}]}}`,
		} {
			s.expectError(t, op, body, "TransactionConflictException", conflict)
		}
		s.expectError(t, "TransactWriteItems", write, "TransactionInProgressException", "The transaction with the given request token is already in progress.")
		const reasons = "Transaction cancelled, please refer cancellation reasons for specific reasons [None, TransactionConflict]"
		s.expectError(t, "TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"plain","Item":{"p":{"S":"c"}}}},{"Delete":{"TableName":"plain","Key":{"p":{"S":"a"}}}}]}`,
			"TransactionCanceledException", reasons)
		s.expectError(t, "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"plain","Key":{"p":{"S":"c"}}}},{"Get":{"TableName":"plain","Key":{"p":{"S":"a"}}}}]}`,
			"TransactionCanceledException", reasons)
		if got, want := s.mustSend(t, "BatchWriteItem", `{"RequestItems":{"plain":[{"DeleteRequest":{"Key":{"p":{"S":"a"}}}},{"PutRequest":{"Item":{"p":{"S":"d"}}}}]}}`),
			`{"UnprocessedItems":{"plain":[{"DeleteRequest":{"Key":{"p":{"S":"a"}}}}]}}`; got != want {
			t.Errorf("got %s; want %s", got, want)
		}
		if got, want := s.mustSend(t, "BatchExecuteStatement", `{"Statements":[{"Statement":"DELETE FROM plain WHERE p='a'"},{"Statement":"INSERT INTO plain VALUE {'p':'e'}"}]}`),
			`{"Responses":[{"Error":{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"},"TableName":"plain"},{"TableName":"plain"}]}`; got != want {
			t.Errorf("got %s; want %s", got, want)
		}
		s.expectError(t, "ExecuteTransaction", `{"TransactStatements":[{"Statement":"SELECT * FROM plain WHERE p='c'"},{"Statement":"SELECT * FROM plain WHERE p='a'"}]}`,
			"TransactionCanceledException", reasons)
		if got := s.mustSend(t, "BatchExecuteStatement", `{"Statements":[{"Statement":"SELECT p FROM plain WHERE p='e'"}]}`); got != `{"Responses":[{"TableName":"plain","Item":{"p":{"S":"e"}}}]}` {
			t.Errorf("the statement beside the one that failed: got %s", got)
		}
		if got := s.mustSend(t, "GetItem", getPlain); got != `{}` {
			t.Errorf("a read during the transaction: got %s", got)
		}
		if a := <-answer; a.Status != 200 {
			t.Errorf("the transaction: got %s", a.Body)
		}
		s.mustSend(t, "TransactWriteItems", write) // completed before
		if got := s.mustSend(t, "GetItem", getPlain); got != `{"Item":{"p":{"S":"a"}}}` {
			t.Errorf("after the transaction: got %s", got)
		}
		s.mustSend(t, "PutItem", putPlain)
	})
}
