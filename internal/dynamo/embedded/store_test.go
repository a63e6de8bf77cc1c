package embedded

import (
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
)

// TestPanics checks that a panic ends only the request or the background work that caused it,
// and leaves no table or item locked.
func TestPanics(t *testing.T) {
	s := newStore(t)
	s.mustSend(t, "CreateTable", createP("tab"))
	const put = `{"TableName":"tab","Item":{"p":{"S":"a"}}}`
	s.mustSend(t, "PutItem", put)

	fragile := handlers["PutItem"]
	defer func() { handlers["PutItem"] = fragile }()
	handlers["PutItem"] = func(c *call) error {
		return c.write(func(body []byte) (writeRequest, error) {
			w, err := parsePutItem(body)
			w.Condition = &expr.Condition{Root: &expr.Node{Kind: expr.Not}} // without an operand, which panics
			return w, err
		})
	}
	s.expectError(t, "PutItem", put, "InternalServerError", "Internal server error")
	handlers["PutItem"] = fragile
	s.mustSend(t, "PutItem", put)
	s.mustSend(t, "DeleteTable", `{"TableName":"tab"}`)

	rounds := make(chan int)
	n := 0
	s.repeat(time.Millisecond, "testing", func(time.Time) error {
		if n++; n == 1 {
			panic("a defect")
		}
		select {
		case rounds <- n:
		case <-s.background.Done():
		}
		return nil
	})
	if got := <-rounds; got != 2 {
		t.Errorf("round %d of the background work after the panic", got)
	}
}
