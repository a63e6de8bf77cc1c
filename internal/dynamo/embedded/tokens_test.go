package embedded

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const mismatchedToken = "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical"

// counted returns the number to which actUpdate has counted.
func (s *Store) counted(t testing.TB) string {
	t.Helper()
	got := s.mustSend(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"up"}},"ProjectionExpression":"v"}`)
	return strings.TrimSuffix(strings.TrimPrefix(got, `{"Item":{"v":{"N":"`), `"}}}`)
}

// TestTokens repeats transactions with their token: at once, after a restart, with other
// parameters, and after the token has expired.
func TestTokens(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	dir := t.TempDir()
	open := func() *Store {
		t.Helper()
		return openIdle(t, onDisk{Dir: dir}, func() time.Time { return now })
	}
	s := open()
	s.mustSend(t, "CreateTable", plainTable)
	body := transact(`,"ClientRequestToken":"one"`, actUpdate)
	counts := func(want string) {
		t.Helper()
		if got := s.counted(t); got != want {
			t.Errorf("got the count %s; want %s", got, want)
		}
	}
	s.expectReply(t, "TransactWriteItems", body, `{}`)
	s.expectReply(t, "TransactWriteItems", body, `{}`)
	counts("1")
	spaced := strings.ReplaceAll(body, `"TableName":"plain","Key":{"p":{"S":"up"}}`, ` "Key" : {"p":{"S":"\u0075p"}}, "TableName":"plain"`)
	s.expectReply(t, "TransactWriteItems", spaced, `{}`)
	counts("1")
	s.expectError(t, "TransactWriteItems", transact(`,"ClientRequestToken":"one"`, strings.Replace(actUpdate, `"N":"1"`, `"N":"2"`, 1)), "IdempotentParameterMismatchException", mismatchedToken)
	s.expectError(t, "TransactWriteItems", transact(`,"ClientRequestToken":"one"`, actUpdate, actPut), "IdempotentParameterMismatchException", mismatchedToken)
	wrongKey := strings.Replace(actUpdate, `{"S":"up"}`, `{"N":"1"}`, 1) // which would cancel the transaction
	s.expectError(t, "TransactWriteItems", transact(`,"ClientRequestToken":"one"`, wrongKey), "IdempotentParameterMismatchException", mismatchedToken)
	counts("1")
	s.mustSend(t, "TransactWriteItems", transact(`,"ClientRequestToken":"two"`, actUpdate))
	counts("2")

	s.Close()
	s = open()
	s.expectReply(t, "TransactWriteItems", body, `{}`)
	counts("2")
	now = now.Add(tokenLife - time.Nanosecond)
	if err := s.forgetTokens(now); err != nil {
		t.Fatal(err)
	}
	s.expectReply(t, "TransactWriteItems", body, `{}`)
	counts("2")
	now = now.Add(time.Nanosecond)
	s.expectReply(t, "TransactWriteItems", body, `{}`) // new again
	counts("3")
	if err := s.forgetTokens(now); err != nil { // removes "two", and the first use of "one"
		t.Fatal(err)
	}
	s.expectReply(t, "TransactWriteItems", body, `{}`)
	counts("3")
	now = now.Add(tokenLife)
	if err := s.forgetTokens(now); err != nil {
		t.Fatal(err)
	}
	it, err := s.db.Iter([]byte{spaceToken}, []byte{spaceToken + 1})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	if it.First() {
		t.Errorf("the key %q is left", it.Key())
	}
}

// TestFailedRequestFreesToken checks that only tokens of completed requests are kept.
func TestFailedRequestFreesToken(t *testing.T) {
	s := withTables(t)
	body := transact(`,"ClientRequestToken":"one"`, actUpdate, actCheck)
	s.expectCanceled(t, "TransactWriteItems", body, "None, ConditionalCheckFailed", none, checkFailed)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"check"}}}`)
	s.mustSend(t, "TransactWriteItems", body)
	s.mustSend(t, "DeleteItem", `{"TableName":"plain","Key":{"p":{"S":"check"}}}`)
	s.mustSend(t, "TransactWriteItems", body)
	if got := s.counted(t); got != "1" {
		t.Errorf("got the count %s", got)
	}
}

// TestConcurrentToken sends one request with a token many times concurrently.
func TestConcurrentToken(t *testing.T) {
	s := withTables(t)
	for _, token := range []string{"1", "2", "3"} {
		var workers sync.WaitGroup
		for range 20 {
			workers.Go(func() { s.mustSend(t, "TransactWriteItems", transact(`,"ClientRequestToken":"`+token+`"`, actUpdate)) })
		}
		workers.Wait()
		if got := s.counted(t); got != token {
			t.Fatalf("got the count %s; want %s", got, token)
		}
	}
}

// TestConcurrentTokenConflict sends different requests with one token concurrently: only one of
// them may be executed.
func TestConcurrentTokenConflict(t *testing.T) {
	s := withTables(t)
	for round := range 10 {
		var workers sync.WaitGroup
		var done atomic.Int64
		for i := range 10 {
			workers.Go(func() {
				put := fmt.Sprintf(`{"Put":{"TableName":"plain","Item":{"p":{"S":"%d-%d"}}}}`, round, i)
				if status, _ := s.send(t, "TransactWriteItems", transact(fmt.Sprintf(`,"ClientRequestToken":"t%d"`, round), put)); status == 200 {
					done.Add(1)
				}
			})
		}
		workers.Wait()
		if done.Load() != 1 {
			t.Fatalf("%d requests were executed, want 1", done.Load())
		}
	}
}

// TestManyTokens expires more tokens than fit into one batch.
func TestManyTokens(t *testing.T) {
	s := withTables(t)
	e := s.newEdit()
	old := s.clock().Add(-tokenLife - time.Hour)
	for i := range 3*tokensAtOnce + 1 {
		e.remember(newToken(tokenOfWrites, string(rune('a'+i)), []byte(`{}`), "x"), old.Add(time.Duration(i)), nil)
	}
	if err := e.commit(); err != nil {
		t.Fatal(err)
	}
	e.close()
	if err := s.forgetTokens(s.clock()); err != nil {
		t.Fatal(err)
	}
	if left, err := s.oldTokens(s.clock()); err != nil || len(left) != 0 {
		t.Errorf("%d tokens are left, %v", len(left), err)
	}
}
