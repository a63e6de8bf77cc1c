package expr

import (
	"strconv"
	"strings"
)

// Step is one step of a document path: a member's name or a list index.
type Step struct {
	Name  string
	Index int // -1 for a name
}

// Path is a document path; the first step is the name of an attribute.
type Path []Step

// String writes the path as DynamoDB's messages do: [a, b, [1]].
func (p Path) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, s := range p {
		if i > 0 {
			b.WriteString(", ")
		}
		if s.Index >= 0 {
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.Index))
			b.WriteByte(']')
		} else {
			b.WriteString(s.Name)
		}
	}
	b.WriteByte(']')
	return b.String()
}

// meeting says how two paths relate.
type meeting uint8

const (
	apart    meeting = iota
	overlap          // one is, or leads to, the other
	conflict         // they take one value for a map and for a list
)

func (p Path) meet(q Path) meeting {
	for i := range min(len(p), len(q)) {
		switch {
		case p[i] == q[i]:
		case p[i].Index < 0 != (q[i].Index < 0):
			return conflict
		default:
			return apart
		}
	}
	return overlap
}

// OperandKind says what an operand is.
type OperandKind uint8

const (
	PathOperand OperandKind = iota + 1
	ValueOperand
	CallOperand
	SumOperand        // of two; in an update only
	DifferenceOperand // of two; in an update only
)

// Function is the name of a function, as written.
type Function string

const (
	AttributeExists    Function = "attribute_exists"
	AttributeNotExists Function = "attribute_not_exists"
	AttributeType      Function = "attribute_type"
	BeginsWith         Function = "begins_with"
	Contains           Function = "contains"
	Size               Function = "size"
	IfNotExists        Function = "if_not_exists"
	ListAppend         Function = "list_append"
)

// Operand is something that has a value when it is evaluated over an item.
type Operand struct {
	Kind     OperandKind
	Path     Path       // of PathOperand
	Value    []byte     // of ValueOperand: the attribute value's text
	Function Function   // of CallOperand
	Args     []*Operand // of CallOperand, SumOperand, DifferenceOperand
}

// NodeKind says how a condition is composed.
type NodeKind uint8

const (
	And     NodeKind = iota + 1 // Nodes
	Or                          // Nodes
	Not                         // Nodes[0]
	Compare                     // Args[0] Op Args[1]
	Between                     // Args[1] <= Args[0] <= Args[2]
	In                          // Args[0] equals one of Args[1:]
	Call                        // Function(Args...)
)

// Comparator is the operator of a comparison.
type Comparator string

const (
	Equal        Comparator = "="
	NotEqual     Comparator = "<>"
	Less         Comparator = "<"
	LessEqual    Comparator = "<="
	Greater      Comparator = ">"
	GreaterEqual Comparator = ">="
)

var comparators = [...]Comparator{tokenEqual: Equal, tokenNotEqual: NotEqual, tokenLess: Less,
	tokenLessEqual: LessEqual, tokenGreater: Greater, tokenGreaterEqual: GreaterEqual}

// Node is a condition or a part of one.
type Node struct {
	Kind     NodeKind
	Op       Comparator
	Function Function
	Nodes    []*Node
	Args     []*Operand
}

// Condition is a parsed condition, filter or key condition.
type Condition struct{ Root *Node }

// Walk calls f with each path in the condition, in the order of the text.
func (c *Condition) Walk(f func(Path)) { c.Root.walk(f) }

func (n *Node) walk(f func(Path)) {
	for _, sub := range n.Nodes {
		sub.walk(f)
	}
	for _, arg := range n.Args {
		arg.walk(f)
	}
}

func (o *Operand) walk(f func(Path)) {
	if o.Kind == PathOperand {
		f(o.Path)
	}
	for _, arg := range o.Args {
		arg.walk(f)
	}
}
