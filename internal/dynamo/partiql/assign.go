package partiql

import (
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
)

// update translates an UPDATE.
func (t *translator) update(c *change) error {
	if err := t.where(c.where); err != nil {
		return err
	}
	u := new(expr.Update)
	for i := range c.ops {
		a, err := t.action(&c.ops[i])
		if err != nil {
			return err
		}
		u.Actions = append(u.Actions, a)
	}
	if err := checkPaths(u.Paths()); err != nil {
		return err
	}
	check := new(checker)
	for i := range u.Actions {
		if v := u.Actions[i].Value; v != nil {
			if err := check.operand(v); err != nil {
				return err
			}
		}
	}
	t.out.Update = u
	t.returning(c.returning)
	return t.target(c)
}

// action translates one assignment or removal.
func (t *translator) action(op *operation) (a expr.Action, err error) {
	if op.kind != setOperation && op.kind != removeOperation {
		return a, &Error{"Only SET and REMOVE are supported in update expressions at this time"}
	}
	if a.Path, err = pathOf(op.target); err != nil {
		return a, err
	}
	switch {
	case op.kind == removeOperation:
		a.Clause = expr.Remove
	case op.value.kind == nodeCall && (op.value.word == "set_add" || op.value.word == "set_delete"):
		err = t.membership(&a, op.value)
	default:
		a.Clause = expr.Set
		a.Value, err = t.assignedValue(op.value)
	}
	return a, err
}

// membership translates SET a = set_add(a, <<...>>), which is an ADD, and
// set_delete, which is a DELETE.
func (t *translator) membership(a *expr.Action, n *node) error {
	name := strings.ToUpper(n.word)
	if len(n.nodes) != 2 {
		return &Error{name + " must have exactly two arguments" + position(n.pos)}
	}
	first, err := t.assignedValue(n.nodes[0])
	if err != nil {
		return err
	}
	if a.Value, err = t.assignedValue(n.nodes[1]); err != nil {
		return err
	}
	if first.Kind != expr.PathOperand || !slices.Equal(first.Path, a.Path) {
		return &Error{"The first argument to " + name + " must equal the assignment value" + position(n.pos)}
	}
	if a.Value.Kind != expr.ValueOperand || a.Value.Value.Type.Element() == 0 {
		return &Error{"The second argument to " + name + " must be a value with type SET" + position(n.nodes[0].start())}
	}
	if a.Clause = expr.Add; n.word == "set_delete" {
		a.Clause = expr.Delete
	}
	return nil
}

// start returns the position of a node, or of the first node below it that has one.
func (n *node) start() Pos {
	for n.pos.Line == 0 && len(n.nodes) > 0 {
		n = n.nodes[0]
	}
	return n.pos
}

// assignedValue translates the value that is assigned to an attribute.
func (t *translator) assignedValue(n *node) (*expr.Operand, error) {
	switch n.kind {
	case nodeIs:
		return nil, &Error{"IS operator is not supported in update expressions"}
	case nodeOperator:
		return t.arithmetic(n)
	case nodeCall:
		return t.updateCall(n)
	}
	return t.operand(n)
}

// arithmetic translates a sum or a difference.
func (t *translator) arithmetic(n *node) (*expr.Operand, error) {
	o := &expr.Operand{Kind: expr.SumOperand}
	switch n.word {
	case "+":
	case "-":
		o.Kind = expr.DifferenceOperand
	default:
		return nil, &Error{"Unsupported operator in Update Expression. Operator: " + n.word}
	}
	var err error
	o.Args, err = t.assignedValues(n.nodes)
	return o, err
}

func (t *translator) assignedValues(nodes []*node) (list []*expr.Operand, err error) {
	for _, x := range nodes {
		v, err := t.assignedValue(x)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (t *translator) updateCall(n *node) (*expr.Operand, error) {
	args, err := t.assignedValues(n.nodes)
	if err != nil {
		return nil, err
	}
	o := &expr.Operand{Kind: expr.CallOperand, Function: expr.Function(n.word), Args: args}
	switch {
	case conditionFunctions()[n.word]:
		return nil, &Error{"The function is not allowed in an update expression; function: " + n.word}
	case !updateFunctions()[n.word]:
		return nil, &Error{"Unrecognized function: " + n.word + position(n.pos)}
	}
	return o, nil
}
