package partiql

import (
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// ErrNoKey is the error for an UPDATE or a DELETE that does not identify its item.
var ErrNoKey = &Error{"Where clause does not contain a mandatory equality on all key attributes"}

// Command is a statement translated to the native operations. It has passed all checks that
// need no table, except for the two faults, which are reported after the checks that need
// the table.
type Command struct {
	Kind  Kind
	Table string // name or ARN
	Index string // empty for the table

	Columns []Column        // for a SELECT; nil for *
	Where   *expr.Condition // nil for none
	Order   []Order
	Item    value.Value  // for an INSERT, a Map
	Update  *expr.Update // for an UPDATE

	Returning      Returning
	OrderFault     error // in ORDER BY
	ReturningFault error // in RETURNING
}

// Column is a column of a SELECT. The result has the value at Path under Name.
type Column struct {
	Path expr.Path
	Name string
}

// Order is a term of ORDER BY.
type Order struct {
	Name       string
	Descending bool
}

// Returning is the effect of RETURNING.
type Returning uint8

const (
	ReturnNothing Returning = iota
	ReturnAllOld
	ReturnAllNew
	ReturnModifiedOld
	ReturnModifiedNew
)

var returnings = [...]string{"", "ALL OLD", "ALL NEW", "MODIFIED OLD", "MODIFIED NEW"}

// String formats the clause as messages do.
func (r Returning) String() string { return "RETURNING " + returnings[r] + " *" }

var mappings = map[string]Returning{"all_old": ReturnAllOld, "all_new": ReturnAllNew, "modified_old": ReturnModifiedOld,
	"modified_new": ReturnModifiedNew}

// OrderOf reports whether ORDER BY has the attribute, and its direction.
func (c *Command) OrderOf(name string) (descending, ok bool) {
	for _, o := range c.Order {
		if o.Name == name {
			return o.Descending, true
		}
	}
	return false, false
}

// translator makes a Command from a syntax tree. It returns the first fault in the order in
// which the service looks for them.
type translator struct {
	parameters  []value.Value
	transaction bool
	out         *Command
}

// Translate translates an unescaped statement. In a transaction EXISTS is allowed, and an
// UPDATE or DELETE without WHERE is reported as one with a wrong key. The error is an *Error
// with the service's text.
func Translate(stmt []byte, parameters []value.Value, transaction bool) (*Command, error) {
	n, marks, fault := parse(stmt)
	if fault != nil {
		return nil, fault
	}
	t := translator{parameters: parameters, transaction: transaction, out: new(Command)}
	if err := t.statement(n); err != nil {
		return nil, err
	}
	if marks < len(parameters) {
		return nil, errParameters
	}
	return t.out, nil
}

func (t *translator) statement(n *node) error {
	switch {
	case n.kind == nodeQuery:
		t.out.Kind = Select
		return t.query(n.query)
	case n.kind == nodeChange:
		return t.change(n.change)
	case n.kind != nodeCall:
		return &Error{"Unsupported operation: " + n.className()}
	case !t.transaction:
		return &Error{"EXISTS can only be used in ExecuteTransaction write requests."}
	case n.word != "exists" || len(n.nodes) != 1 || n.nodes[0].kind != nodeQuery:
		return &Error{"Unsupported operation in transaction."}
	}
	t.out.Kind = Exists
	return t.query(n.nodes[0].query)
}

// position returns the position as a message has it, with the text before it.
func position(p Pos) string {
	if p.Line == 0 {
		return ""
	}
	return " at " + p.String()
}

// query translates a SELECT.
func (t *translator) query(q *query) error {
	if err := q.checkClauses(); err != nil {
		return err
	}
	if err := t.source(q.from, q.alias); err != nil {
		return err
	}
	if q.value {
		return &Error{"Select projection doesn't support value or pivot keywords"}
	}
	if err := t.columns(q.columns); err != nil {
		return err
	}
	t.order(q.order)
	return t.where(q.where)
}

// checkClauses refuses the clauses that DynamoDB doesn't support.
func (q *query) checkClauses() error {
	switch {
	case q.group:
		return &Error{"Unsupported clause: GROUP BY"}
	case q.having != nil:
		return &Error{"Unsupported clause: HAVING" + position(q.having.pos)}
	case q.limit != nil:
		return &Error{"Unsupported clause: LIMIT" + position(q.limit.pos)}
	case q.otherClause != "":
		return &Error{"Unsupported token in expression: " + q.otherClause}
	}
	return nil
}

// source reads the table, and the index, of a statement.
func (t *translator) source(n *node, alias bool) error {
	switch {
	case n == nil:
		return &Error{"Only select from a single table or index is supported."}
	case alias:
		return &Error{"Aliasing is not supported"}
	case n.kind != nodeName && n.kind != nodePath:
		return &Error{"Unexpected from source"}
	}
	path, err := pathOf(n)
	switch {
	case err != nil:
		return err
	case len(path) > 2:
		return &Error{"A path may contain at most 2 components in the FROM clause"}
	}
	t.out.Table = path[0].Name
	if len(path) == 2 {
		if path[1].Index >= 0 {
			return &Error{"Invalid list expression in source."}
		}
		t.out.Index = path[1].Name
	}
	return nil
}

// target reads the table that the statement writes to.
func (t *translator) target(c *change) error {
	err := t.source(c.from, c.alias)
	switch {
	case err != nil:
		return err
	case t.out.Index != "":
		return &Error{"This operation is not supported on an index"}
	case c.where == nil && !t.transaction:
		return ErrNoKey
	}
	return nil
}

func (t *translator) columns(list []column) error {
	if list[0].expr == nil {
		return nil
	}
	var paths []expr.Path
	for _, c := range list {
		switch {
		case c.star:
			return &Error{"Changing item's hierarchy while reading isn't supported"}
		case c.alias:
			return &Error{"Aliasing is not supported"}
		}
		path, err := pathOf(c.expr)
		if err != nil {
			return err
		}
		paths = append(paths, path)
		t.out.Columns = append(t.out.Columns, Column{path, columnName(path)})
	}
	named := make(map[string]bool, len(list))
	for _, c := range t.out.Columns {
		if named[c.Name] {
			return &Error{"Duplicate identifiers in select clause: " + c.Name}
		}
		named[c.Name] = true
	}
	return checkPaths(paths)
}

// order keeps a fault of ORDER BY for later.
func (t *translator) order(terms []order) {
	for _, o := range terms {
		if o.expr.kind != nodeName {
			t.out.OrderFault = &Error{"Argument to ORDER BY must be of type VariableReference. Type: " + o.expr.sortName()}
			return
		}
		t.out.Order = append(t.out.Order, Order{o.expr.word, o.descending})
	}
}

// sortName returns the name of a term in messages about ORDER BY.
func (n *node) sortName() string {
	switch n.kind {
	case nodePath:
		return "PATH"
	case nodeParameter:
		return "PARAMETER"
	case nodeText:
		return `"` + n.word + `"`
	}
	return n.word
}

func (t *translator) where(n *node) error {
	if n == nil {
		return nil
	}
	root, err := t.condition(n)
	if err != nil {
		return err
	}
	if err := checkCondition(root); err != nil {
		return err
	}
	t.out.Where = &expr.Condition{Root: root}
	return nil
}

// change translates a statement that writes.
func (t *translator) change(c *change) error {
	switch c.ops[0].kind {
	case deleteOperation:
		t.out.Kind = Delete
		if c.where == nil && !t.transaction {
			return ErrNoKey
		}
		if err := t.where(c.where); err != nil {
			return err
		}
		t.returning(c.returning)
		return t.target(c)
	case setOperation, removeOperation:
		t.out.Kind = Update
		return t.update(c)
	}
	return t.insert(c, &c.ops[0])
}

func (t *translator) insert(c *change, op *operation) error {
	t.out.Kind = Insert
	switch {
	case op.kind == insertAll:
		return &Error{"Unsupported operation: Insert"}
	case c.from != nil:
		return &Error{"Unsupported FROM ... WHERE ... clause in INSERT statement." + position(c.pos)}
	case op.at:
		return &Error{"AT is not supported in insert statements." + position(op.pos)}
	case op.conflict:
		return &Error{"Unsupported clause: ON CONFLICT"}
	}
	if err := t.item(op.value); err != nil {
		return err
	}
	if op.target.kind != nodeName {
		return &Error{"FROM clause may only contain a single table name in data manipulation statements" + position(op.target.nodes[0].pos)}
	}
	if t.out.Table = op.target.word; t.out.Table == "" {
		return errEmptyComponent
	}
	if c.returning != nil {
		t.out.ReturningFault = &Error{"RETURNING is not supported in INSERT"}
	}
	return nil
}

// returning keeps a fault of RETURNING for later.
func (t *translator) returning(list []returning) {
	switch {
	case len(list) == 0:
		return
	case len(list) > 1:
		t.out.ReturningFault = &Error{"Invalid syntax with multiple returning elements in RETURNING clause"}
	case !list[0].star:
		t.out.ReturningFault = &Error{"Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause"}
	}
	t.out.Returning = mappings[list[0].mapping]
	if t.out.Kind == Delete && t.out.ReturningFault == nil && t.out.Returning != ReturnAllOld {
		t.out.ReturningFault = &Error{"Invalid returning clause: " + t.out.Returning.String() + ". Only RETURNING ALL OLD * is allowed in DELETE statements."}
	}
}
