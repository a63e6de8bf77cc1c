package embedded

import (
	"errors"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var errDuplicateItem = &wire.Error{Type: "DuplicateItemException", Message: "Duplicate primary key exists in table"}

var writeKinds = map[partiql.Kind]writeKind{partiql.Insert: writePut, partiql.Update: writeUpdate, partiql.Delete: writeDelete, partiql.Exists: writeCheck}

var returnModes = [...]returnMode{partiql.ReturnNothing: returnNone, partiql.ReturnAllOld: returnAllOld, partiql.ReturnAllNew: returnAllNew,
	partiql.ReturnModifiedOld: returnUpdatedOld, partiql.ReturnModifiedNew: returnUpdatedNew}

// writeOf converts a statement to a write. It lacks the key if the WHERE clause names the
// item.
func writeOf(cmd *partiql.Command, r *statementRequest) *writeRequest {
	w := &writeRequest{Kind: writeKinds[cmd.Kind], Item: cmd.Item, Update: cmd.Update, Condition: cmd.Where, Return: returnModes[cmd.Returning],
		ReturnItemOnFailure: r.ReturnItemOnFailure, Statement: true}
	w.Table, w.Named = tableOf(cmd.Table)
	return w
}

// onlyIfNew makes an INSERT conditional on there being no item with its key.
func (w *writeRequest) onlyIfNew(key *catalog.Key) {
	w.Condition = &expr.Condition{Root: noItem(key)}
}

// orNoItem makes a DELETE succeed if there is no item.
func (w *writeRequest) orNoItem(key *catalog.Key) {
	w.Condition = &expr.Condition{Root: &expr.Node{Kind: expr.Or, Nodes: []*expr.Node{noItem(key), w.Condition.Root}}}
}

// noItem returns the condition that there is no item.
func noItem(key *catalog.Key) *expr.Node {
	path := &expr.Operand{Kind: expr.PathOperand, Path: expr.Path{{Name: key.Hash[0].Name, Index: -1}}}
	return &expr.Node{Kind: expr.Call, Function: expr.AttributeNotExists, Args: []*expr.Operand{path}}
}

// resolve finds the item that a statement writes, and checks the result as far as possible.
func (w *writeRequest) resolve(t *catalog.Table, returning error) error {
	if err := w.findItem(t, returning); err != nil {
		return err
	}
	return w.checkResult(t)
}

// findItem finds the item that a statement writes, and the write's condition.
func (w *writeRequest) findItem(t *catalog.Table, returning error) (err error) {
	switch w.Kind {
	case writePut:
		if err := checkStatementItem(&t.Key, &w.Item); err != nil {
			return err
		}
		w.onlyIfNew(&t.Key)
	default:
		if err := checkScalars(t, w.Condition.Paths()); err != nil {
			return err
		}
		terms := keyTermsOf(w.Condition, &t.Key, false)
		if w.Item, err = terms.key(&t.Key); err != nil {
			return statementFault(err)
		}
		if w.Kind == writeDelete {
			w.orNoItem(&t.Key)
		}
	}
	return statementFault(returning)
}

// checkResult checks the item after the statement, as far as it is known before the item is
// read.
func (w *writeRequest) checkResult(t *catalog.Table) error {
	if w.Kind == writePut {
		if err := w.checkSize(); err != nil {
			return err
		}
	}
	return statementFault(w.check(t))
}

// statementFault converts an error of the translation of a statement to a reply.
func statementFault(err error) error {
	var e *partiql.Error
	if errors.As(err, &e) {
		return wire.Invalid("%s", e.Text)
	}
	return err
}

// applyError returns the error for an update that can't be applied to the item.
func (w *writeRequest) applyError(err error) error {
	const nesting = "Nesting Levels have exceeded supported limits"
	var e *expr.Error
	if w.Statement && errors.As(err, &e) && strings.HasPrefix(e.Text, nesting) {
		return wire.Invalid(nesting)
	}
	return invalid(err)
}

// executeWrite answers an ExecuteStatement that writes.
func (c *call) executeWrite(r *executeRequest, cmd *partiql.Command) error {
	w := writeOf(cmd, &r.statementRequest)
	w.Capacity = r.Capacity
	if err := c.s.writable(w.deletes()); err != nil {
		return err
	}
	t, err := c.s.table(w.Table)
	if err != nil {
		return errStatementTable(w.Named)
	}
	e := c.s.newEdit(t)
	defer e.close()
	if err := w.resolve(t.info, cmd.ReturningFault); err != nil {
		return err
	}
	done, after, err := c.writeOne(e, t, w)
	if err != nil {
		return err
	}
	o := c.object()
	o.member("Items")
	c.out = append(c.out, '[')
	if start := len(c.out); !c.appendReturned(w, done, after) {
		c.out = c.out[:start]
	}
	c.out = append(c.out, ']')
	if r.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		cost := consumed{named: w.Named}
		cost.write(done)
		c.out = cost.append(c.out, r.Capacity)
	}
	o.end()
	return nil
}
