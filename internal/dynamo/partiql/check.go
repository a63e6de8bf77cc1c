package partiql

import (
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

const (
	maxOperators = 300
	maxInList    = 100
)

// checker makes the checks that don't depend on an item. It checks operands before the
// expression that has them.
type checker struct{ operators int }

// checkCondition checks the condition after WHERE.
func checkCondition(n *expr.Node) error {
	if isSize(n) {
		return errNoCondition
	}
	return new(checker).node(n)
}

// isSize reports whether a node is a call of size, which is not a condition.
func isSize(n *expr.Node) bool { return n.Kind == expr.Call && n.Function == expr.Size }

func (c *checker) count(n int) error {
	if c.operators += n; c.operators > maxOperators {
		return &Error{"The expression contains too many operators; operator count: " + strconv.Itoa(maxOperators+1)}
	}
	return nil
}

var logical = map[expr.NodeKind]string{expr.And: "AND", expr.Or: "OR", expr.Not: "NOT"}

func (c *checker) node(n *expr.Node) error {
	if err := c.count(max(1, len(n.Nodes)-1)); err != nil {
		return err
	}
	if err := c.nodes(n); err != nil {
		return err
	}
	if err := c.operands(n.Args); err != nil {
		return err
	}
	switch n.Kind {
	case expr.Compare:
		if n.Op != expr.Equal && n.Op != expr.NotEqual {
			if err := ordered(string(n.Op), n.Args); err != nil {
				return err
			}
		}
		return distinct(string(n.Op), n.Args)
	case expr.Between:
		return between(n.Args)
	case expr.In:
		if len(n.Args)-1 > maxInList {
			return &Error{"The IN operator is provided with too many operands; number of operands: " + strconv.Itoa(len(n.Args)-1)}
		}
		return distinct("IN", n.Args)
	case expr.Call:
		return call(n.Function, n.Args)
	}
	return nil
}

// nodes checks the operands of AND, OR or NOT. AND and OR are binary operators: the first
// two operands are checked before the type of either is.
func (c *checker) nodes(n *expr.Node) error {
	numeric := false
	for i, sub := range n.Nodes {
		if err := c.node(sub); err != nil {
			return err
		}
		numeric = numeric || isSize(sub)
		if numeric && (i > 0 || n.Kind == expr.Not) {
			return wrongType(logical[n.Kind], value.Number.String())
		}
	}
	return nil
}

func (c *checker) operands(args []*expr.Operand) error {
	for _, o := range args {
		if err := c.operand(o); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) operand(o *expr.Operand) error {
	switch o.Kind {
	case expr.PathOperand:
		return checkDepth(o.Path)
	case expr.ConditionOperand:
		return c.node(o.Node)
	case expr.CallOperand:
		if err := c.count(1); err != nil {
			return err
		}
		if err := c.operands(o.Args); err != nil {
			return err
		}
		return call(o.Function, o.Args)
	case expr.SumOperand, expr.DifferenceOperand:
		return c.arithmetic(o)
	}
	return nil
}

// arithmetic checks a sum or a difference.
func (c *checker) arithmetic(o *expr.Operand) error {
	sign := "+"
	if o.Kind == expr.DifferenceOperand {
		sign = "-"
	}
	if err := c.count(1); err != nil {
		return err
	}
	if err := c.operands(o.Args); err != nil {
		return err
	}
	if len(o.Args) != 2 {
		return wrongCount(sign, len(o.Args))
	}
	return oneOf(sign, o.Args, value.Number)
}

func wrongType(operator, typ string) error {
	return &Error{"Incorrect operand type for operator or function; operator or function: " + operator + ", operand type: " + typ}
}

func wrongCount(operator string, n int) error {
	return &Error{"Incorrect number of operands for operator or function; operator or function: " + operator + ", number of operands: " + strconv.Itoa(n)}
}

// staticType returns the operand's type, or 0 if it depends on the item.
func staticType(o *expr.Operand) value.Type {
	switch {
	case o.Kind == expr.ValueOperand:
		return o.Value.Type
	case o.Kind == expr.ConditionOperand:
		return value.Bool
	case o.Kind == expr.SumOperand, o.Kind == expr.DifferenceOperand, o.Function == expr.Size:
		return value.Number
	case o.Function == expr.ListAppend:
		return value.List
	}
	return 0
}

// oneOf refuses operands whose type is none of types.
func oneOf(operator string, args []*expr.Operand, types ...value.Type) error {
	for _, o := range args {
		if typ := staticType(o); typ != 0 && !slices.Contains(types, typ) {
			return wrongType(operator, typ.String())
		}
	}
	return nil
}

// ordered refuses operands of a type without an order.
func ordered(operator string, args []*expr.Operand) error {
	return oneOf(operator, args, value.String, value.Number, value.Binary)
}

// distinct refuses a path that is compared with itself.
func distinct(operator string, args []*expr.Operand) error {
	if args[0].Kind != expr.PathOperand {
		return nil
	}
	for _, o := range args[1:] {
		if o.Kind == expr.PathOperand && slices.Equal(o.Path, args[0].Path) {
			return &Error{"The first operand must be distinct from the remaining operands for this operator or function; operator: " +
				operator + ", first operand: " + args[0].Path.String()}
		}
	}
	return nil
}

func between(args []*expr.Operand) error {
	if err := ordered("BETWEEN", args); err != nil {
		return err
	}
	if err := distinct("BETWEEN", args); err != nil {
		return err
	}
	low, high := args[1], args[2]
	if low.Kind != expr.ValueOperand || high.Kind != expr.ValueOperand {
		return nil
	}
	bounds := "; lower bound operand: " + attribute(low.Value) + ", upper bound operand: " + attribute(high.Value)
	switch order, ok := value.Compare(low.Value, high.Value); {
	case !ok:
		return &Error{"The BETWEEN operator requires same data type for lower and upper bounds" + bounds}
	case order > 0:
		return &Error{"The BETWEEN operator requires upper bound to be greater than or equal to lower bound" + bounds}
	}
	return nil
}

// attribute formats a scalar as messages do.
func attribute(v *value.Value) string {
	text := string(v.Text)
	if v.Type == value.Binary {
		text = base64.StdEncoding.EncodeToString(v.Text)
	}
	return "AttributeValue: {" + v.Type.String() + ":" + text + "}"
}

// arity maps functions to their number of arguments.
var arity = map[expr.Function]int{expr.AttributeExists: 1, expr.AttributeNotExists: 1, expr.AttributeType: 2, expr.BeginsWith: 2,
	expr.Contains: 2, expr.Size: 1, expr.IfNotExists: 2, expr.ListAppend: 2}

func call(f expr.Function, args []*expr.Operand) error {
	if len(args) != arity[f] {
		return wrongCount(string(f), len(args))
	}
	switch f {
	case expr.AttributeExists, expr.AttributeNotExists, expr.IfNotExists:
		if args[0].Kind != expr.PathOperand {
			return &Error{"Operator or function requires a document path; operator or function: " + string(f)}
		}
	case expr.Size:
		return oneOf(string(f), args, value.String, value.Binary, value.StringSet, value.NumberSet, value.BinarySet, value.List, value.Map)
	case expr.ListAppend:
		return oneOf(string(f), args, value.List)
	}
	if err := distinct(string(f), args); err != nil {
		return err
	}
	switch f {
	case expr.BeginsWith:
		return oneOf(string(f), args, value.String, value.Binary)
	case expr.AttributeType:
		return typeName(args[1])
	}
	return nil
}

// typeName checks the second argument of attribute_type.
func typeName(o *expr.Operand) error {
	switch typ := staticType(o); {
	case typ == 0:
		return wrongType(string(expr.AttributeType), "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	case typ != value.String:
		return wrongType(string(expr.AttributeType), typ.String())
	}
	switch string(o.Value.Text) {
	case "S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M":
		return nil
	}
	return &Error{"Invalid attribute type name found; type: " + string(o.Value.Text) + ", valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}"}
}
