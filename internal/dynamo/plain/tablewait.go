package plain

import (
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
)

// operate forwards the exchange to the service. If a table of the operation is still being
// created, it waits for the table and repeats the operation.
func (t *task) operate(target, body []byte) {
	t.forward(target, body)
	if !tableMayBeCreating(&t.x.Reply) {
		return
	}
	w := tableWait{t: t, retryBudget: t.retryBudget()}
	for w.shouldRepeat(target, body, &t.x.Reply) {
		t.x.Reply.Reset()
		t.forward(target, body)
	}
}

// tableWait waits for the tables of one operation.
type tableWait struct {
	retryBudget
	t        *task
	repeated bool // repeated once because all tables were active when they were checked
}

// The bounds of the pause between polls of a table.
const (
	minPoll = 50 * time.Millisecond
	maxPoll = time.Second
)

// shouldRepeat reports whether an operation with this reply should be repeated because one
// of its tables was being created. It blocks until the tables are active.
func (w *tableWait) shouldRepeat(target, body []byte, reply *edge.Reply) bool {
	if !tableMayBeCreating(reply) {
		return false
	}
	tables := tableNames(target, body)
	if len(tables) == 0 {
		return false
	}
	waited := false
	for pause := minPoll; ; pause = min(2*pause, maxPoll) {
		switch w.blockingStatus(tables) {
		case "ACTIVE":
			repeat := waited || !w.repeated
			w.repeated = true
			return repeat
		case "CREATING":
			waited = true
		default:
			return false
		}
		if !w.sleep(pause) {
			return false
		}
	}
}

// blockingStatus returns the status of the first table that isn't active, or ACTIVE.
func (w *tableWait) blockingStatus(tables [][]byte) string {
	for _, name := range tables {
		if status, _ := w.t.tableStatus(w.ctx, name); status != "ACTIVE" {
			return status
		}
	}
	return "ACTIVE"
}

// tableMayBeCreating reports whether an operation failed with an error that a table in
// creation can cause.
func tableMayBeCreating(reply *edge.Reply) bool {
	if reply.Status != http.StatusBadRequest {
		return false
	}
	switch string(wire.ErrorType(reply.Body)) {
	case "ResourceNotFoundException", "ResourceInUseException":
		return true
	}
	return false
}

// tableNames returns the names, as JSON strings, of the tables that must exist for an
// operation.
func tableNames(target, body []byte) (names [][]byte) {
	op, _ := wire.FindOperation(target)
	switch op.Tables {
	case wire.InTableName:
		if op.Kind == wire.CreateTable || op.Kind == wire.DescribeTable {
			return nil
		}
		return appendName(nil, body)
	case wire.InRequestItems:
		items, _ := wire.Lookup(body, "RequestItems")
		for it := wire.Object(items); it.Next(); {
			names = append(names, it.QuotedName())
		}
	case wire.InTransactItems:
		actions, _ := wire.Lookup(body, "TransactItems")
		for it := wire.Array(actions); it.Next(); {
			for action := wire.Object(it.Value()); action.Next(); {
				names = appendName(names, action.Value())
			}
		}
	}
	return names
}

func appendName(names [][]byte, obj []byte) [][]byte {
	if name, ok := wire.Lookup(obj, "TableName"); ok && wire.Kind(name) == '"' {
		names = append(names, name)
	}
	return names
}
