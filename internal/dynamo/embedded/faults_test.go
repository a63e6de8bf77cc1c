package embedded

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
)

// inBubble runs f in a bubble with a store in memory that has the tables of createTables.
func inBubble(t *testing.T, f func(t *testing.T, s *Store)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := open(memory.New(), Config{}, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.createTables(t)
		f(t, s)
	})
}

// setFaults sets the faults of a store.
func (s *Store) setFaults(t testing.TB, plan string) {
	t.Helper()
	p, err := faults.Parse([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetFaults(p); err != nil {
		t.Fatal(err)
	}
}

// startSend sends a request in a goroutine of its own. The channel gets the answer.
func (s *Store) startSend(op, body string) <-chan Answer {
	answers := make(chan Answer, 1)
	go func() {
		a, err := s.Do(&Request{Method: "POST", Path: "/", Target: []byte("DynamoDB_20120810." + op), Body: []byte(body)})
		if err != nil {
			a.Body = []byte(err.Error())
		}
		answers <- a
	}()
	return answers
}

const (
	getPlain = `{"TableName":"plain","Key":{"p":{"S":"a"}}}`
	putPlain = `{"TableName":"plain","Item":{"p":{"S":"a"}}}`
)

// TestDelay checks that a request is delayed, and that its delay ends with the faults.
func TestDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		s.setFaults(t, `{"rules":[{"operations":"GetItem","delay":"3s"}]}`)
		begun := time.Now()
		s.mustSend(t, "GetItem", getPlain)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		begun = time.Now()
		time.AfterFunc(time.Second, func() { s.setFaults(t, `{}`) })
		s.mustSend(t, "GetItem", getPlain)
		if took := time.Since(begun); took != time.Second {
			t.Errorf("took %s after the faults were cleared", took)
		}
		s.setFaults(t, `{"rules":[{"operations":"GetItem","delay":"3s"}]}`)
		begun = time.Now()
		s.startSend("GetItem", getPlain)
		synctest.Wait()
		s.Close()
		if took := time.Since(begun); took != 0 {
			t.Errorf("Close waited %s for a delayed request", took)
		}
	})
}

// TestHold checks that a write that is held keeps its item locked, for every operation that
// writes.
func TestHold(t *testing.T) {
	for op, body := range map[string]string{
		"PutItem":            putPlain,
		"BatchWriteItem":     `{"RequestItems":{"plain":[{"PutRequest":{"Item":{"p":{"S":"a"}}}}]}}`,
		"TransactWriteItems": `{"TransactItems":[{"Put":{"TableName":"plain","Item":{"p":{"S":"a"}}}}]}`,
		"ExecuteStatement":   `{"Statement":"INSERT INTO plain VALUE {'p':'a'}"}`,
		"ExecuteTransaction": `{"TransactStatements":[{"Statement":"INSERT INTO plain VALUE {'p':'a'}"}]}`,
	} {
		t.Run(op, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *Store) {
				s.setFaults(t, `{"rules":[{"operations":"`+op+`","count":1,"hold":"2s"}]}`)
				begun := time.Now()
				answer := s.startSend(op, body)
				synctest.Wait()
				if reply := s.mustSend(t, "GetItem", getPlain); reply != `{}` {
					t.Errorf("a write that is held is visible: %s", reply)
				}
				if a := <-answer; a.Status != 200 || time.Since(begun) != 2*time.Second {
					t.Errorf("got %d %s after %s", a.Status, a.Body, time.Since(begun))
				}
				if reply := s.mustSend(t, "GetItem", getPlain); reply != `{"Item":{"p":{"S":"a"}}}` {
					t.Errorf("got %s after the write", reply)
				}
			})
		})
	}
}

// TestSetFaultsChecks checks that a plan that was made in Go is checked like one in JSON.
func TestSetFaultsChecks(t *testing.T) {
	s := newMemoryStore(t)
	err := s.SetFaults(faults.Plan{Rules: []faults.Rule{{Error: &faults.Error{Type: "Throttling"}}}})
	if want := `rules[0].error.type: "Throttling" is no error (did you mean "ThrottlingException"?)`; err == nil || err.Error() != want {
		t.Errorf("got error %v", err)
	}
	err = s.AddFault(faults.Rule{Operations: faults.Patterns{"PutItem"}})
	if want := "rules[0]: nothing happens: give an error, a reset, a delay, a hold or a share unprocessed"; err == nil || err.Error() != want {
		t.Errorf("got error %v", err)
	}
	if err := s.AddFault(faults.Rule{Reset: true}); err != nil {
		t.Fatal(err)
	}
	if r := s.Faults(); len(r.Rules) != 1 || !r.BypassCache || !s.BypassCache() {
		t.Errorf("got %+v", r)
	}
}

// TestHistory checks that the number of past states is bounded, and that none is left open.
func TestHistory(t *testing.T) {
	diskAndMemory(t, func(t *testing.T, s *Store) {
		h := newHistory(80 * time.Millisecond)
		now := time.Now()
		for range 1000 {
			h.keep(s.db, now)
			now = now.Add(time.Millisecond)
		}
		if n := len(h.states); n < historySteps || n > historySteps+1 {
			t.Errorf("got %d states", n)
		}
		state, done := h.reader(now)
		h.clear(true)
		if _, _, err := state.Get([]byte("k")); err != nil {
			t.Errorf("a state in use was closed: %v", err)
		}
		done()
		if h.keep(s.db, now.Add(time.Hour)); len(h.states) > 0 {
			t.Error("an ended history keeps a state")
		}
	})
}

// TestResetWithHistory checks that the past states are dropped with the data.
func TestResetWithHistory(t *testing.T) {
	diskAndMemory(t, func(t *testing.T, s *Store) {
		s.createTables(t)
		s.setFaults(t, `{"eventual_reads":{"lag":"1m"},"deleting":"1m"}`)
		s.mustSend(t, "DeleteTable", `{"TableName":"range"}`)
		s.mustSend(t, "PutItem", putPlain)
		if reply := s.mustSend(t, "GetItem", getPlain); reply != `{}` {
			t.Errorf("got %s", reply)
		}
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		s.createTables(t)
		if reply := s.mustSend(t, "GetItem", getPlain); reply != `{}` {
			t.Errorf("got %s after a reset", reply)
		}
	})
}
