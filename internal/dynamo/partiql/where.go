package partiql

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// condition converts the expression after WHERE to a condition. It accepts a call of size,
// which checkCondition refuses.
func (t *translator) condition(n *node) (*expr.Node, error) {
	switch n.kind {
	case nodeOperator:
		return t.operator(n)
	case nodeIs:
		return t.typeTest(n)
	case nodeCall:
		o, err := t.call(n)
		if err != nil {
			return nil, err
		}
		return nodeOf(o), nil
	}
	if _, err := t.operand(n); err != nil {
		return nil, err
	}
	return nil, errNoCondition
}

// errNoCondition is the error for a value in place of a condition, if it has no other fault.
var errNoCondition = &Error{"WHERE clause must contain an expression that resolves to a boolean"}

// nodeOf converts an operand in place of a condition to a node.
func nodeOf(o *expr.Operand) *expr.Node {
	if o.Kind == expr.ConditionOperand {
		return o.Node
	}
	return &expr.Node{Kind: expr.Call, Function: o.Function, Args: o.Args}
}

// unsupported returns the error for a node that is not supported in an expression.
func (n *node) unsupported() error {
	word := n.word
	if n.kind == nodeQuery {
		word = "SELECT"
	}
	return &Error{"Unsupported token in expression: " + word + position(n.pos)}
}

func (t *translator) operator(n *node) (*expr.Node, error) {
	switch n.word {
	case "and":
		return t.chain(n, expr.And)
	case "or":
		return t.chain(n, expr.Or)
	case "not":
		sub, err := t.condition(n.nodes[0])
		if err == errNoCondition {
			err = &Error{"The argument to NOT must be a Type or Expression"}
		}
		return &expr.Node{Kind: expr.Not, Nodes: []*expr.Node{sub}}, err
	case "=", "<>", "<", "<=", ">", ">=":
		args, err := t.operands(n.nodes)
		return &expr.Node{Kind: expr.Compare, Op: expr.Comparator(n.word), Args: args}, err
	case "between":
		args, err := t.operands(n.nodes)
		return &expr.Node{Kind: expr.Between, Args: args}, err
	case "in":
		if r := n.nodes[1]; r.kind != nodeList && r.kind != nodeBag || len(r.nodes) == 0 {
			return nil, &Error{"IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member"}
		}
		args, err := t.operands(append([]*node{n.nodes[0]}, n.nodes[1].nodes...))
		return &expr.Node{Kind: expr.In, Args: args}, err
	}
	return nil, &Error{"Unsupported operator in Condition Expression. Operator: " + n.word}
}

// chain makes one node of the operands of a chain of ANDs or ORs.
func (t *translator) chain(n *node, kind expr.NodeKind) (*expr.Node, error) {
	var parts []*node // in reverse: in the grammar all operands except the last are below the first
	left := n
	for ; left.kind == nodeOperator && left.word == n.word; left = left.nodes[0] {
		parts = append(parts, left.nodes[1])
	}
	parts = append(parts, left)
	chain := &expr.Node{Kind: kind}
	var fault error // of the first operand: faults of the second are reported before it
	for i := len(parts) - 1; i >= 0; i-- {
		sub, err := t.condition(parts[i])
		switch {
		case err == errNoCondition:
			fault = &Error{"The arguments to AND/OR must be Expressions"}
		case err != nil:
			return nil, err
		}
		if fault != nil && i < len(parts)-1 {
			return nil, fault
		}
		chain.Nodes = append(chain.Nodes, sub)
	}
	return chain, nil
}

func (t *translator) operands(nodes []*node) ([]*expr.Operand, error) {
	list := make([]*expr.Operand, len(nodes))
	for i, n := range nodes {
		var err error
		if list[i], err = t.operand(n); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t *translator) operand(n *node) (*expr.Operand, error) {
	switch n.kind {
	case nodeName, nodePath:
		path, err := pathOf(n)
		return &expr.Operand{Kind: expr.PathOperand, Path: path}, err
	case nodeParameter:
		v, err := t.parameter(n)
		return &expr.Operand{Kind: expr.ValueOperand, Value: v}, err
	case nodeMissing:
		return nil, errMissing
	case nodeQuery, nodeOther:
		return nil, n.unsupported()
	case nodeCall:
		return t.call(n)
	case nodeOperator, nodeIs:
		sub, err := t.condition(n)
		return &expr.Operand{Kind: expr.ConditionOperand, Node: sub}, err
	}
	v, err := literal(n, root, 0)
	return &expr.Operand{Kind: expr.ValueOperand, Value: &v}, err
}

// The functions of conditions and of updates.
var (
	conditionFunctions = words("attribute_exists attribute_not_exists attribute_type begins_with contains size")
	updateFunctions    = words("if_not_exists list_append")
)

// call translates a function in a condition.
func (t *translator) call(n *node) (*expr.Operand, error) {
	args, err := t.operands(n.nodes)
	switch {
	case err != nil:
		return nil, err
	case updateFunctions()[n.word]:
		return nil, &Error{"The function is not allowed in a condition expression; function: " + n.word}
	case !conditionFunctions()[n.word]:
		return nil, &Error{"Unrecognized function: " + n.word + position(n.pos)}
	}
	f := expr.Function(n.word)
	if f == expr.Size {
		return &expr.Operand{Kind: expr.CallOperand, Function: f, Args: args}, nil
	}
	return &expr.Operand{Kind: expr.ConditionOperand, Node: &expr.Node{Kind: expr.Call, Function: f, Args: args}}, nil
}

// isTypes maps the types that IS supports to the names of attribute types.
var isTypes = map[string]string{"null": "NULL", "boolean": "BOOL", "blob": "B", "string": "S", "numeric": "N", "struct": "M", "tuple": "M", "list": "L"}

// typeTest translates IS to functions.
func (t *translator) typeTest(n *node) (*expr.Node, error) {
	switch n.nodes[0].kind {
	case nodeName, nodePath, nodeText, nodeNumber, nodeBoolean, nodeNull, nodeIon:
	default:
		return nil, &Error{"The left hand side argument to IS must be a Variable Reference, Literal, or Path"}
	}
	x, err := t.operand(n.nodes[0])
	if err != nil {
		return nil, err
	}
	typ, ok := isTypes[n.word]
	switch {
	case !ok && n.word != "missing":
		return nil, &Error{"Unsupported data type for IS operator: " + strings.ToUpper(n.word) +
			". Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]" + position(n.pos)}
	case !ok:
		return &expr.Node{Kind: expr.Call, Function: expr.AttributeNotExists, Args: []*expr.Operand{x}}, nil
	}
	name := &expr.Operand{Kind: expr.ValueOperand, Value: &value.Value{Type: value.String, Text: []byte(typ)}}
	return &expr.Node{Kind: expr.Call, Function: expr.AttributeType, Args: []*expr.Operand{x, name}}, nil
}
