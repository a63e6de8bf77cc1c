package expr

import (
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
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

// relation is the relation of two paths.
type relation uint8

const (
	apart    relation = iota
	overlap           // one is, or leads to, the other
	conflict          // they use one value both as a map and as a list
)

func (p Path) relationTo(q Path) relation {
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

var clashes = [...]string{overlap: "overlap", conflict: "conflict"}

// Clash returns the kind of conflict between two paths as messages name it, for example
// "overlap" for a and a.b. It returns "" if there is none.
func (p Path) Clash(q Path) string { return clashes[p.relationTo(q)] }

// OperandKind is the kind of an operand.
type OperandKind uint8

const (
	PathOperand OperandKind = iota + 1
	ValueOperand
	CallOperand
	SumOperand        // of two operands, in an update only
	DifferenceOperand // of two operands, in an update only
	ConditionOperand  // a Bool, the result of a condition; in statements only
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

// Operand is an expression that has a value for an item.
type Operand struct {
	Kind     OperandKind
	Path     Path         // for PathOperand
	Value    *value.Value // for ValueOperand
	Text     []byte       // for ValueOperand: the text of the request, nil for trees from other sources
	Function Function     // for CallOperand
	Args     []*Operand   // for CallOperand, SumOperand, DifferenceOperand
	Node     *Node        // for ConditionOperand

	at int // position of Function in the text, for faults
}

// NodeKind is the kind of a condition.
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

// Condition is a parsed condition, filter or key condition, or one of the legacy parameters
// Expected, QueryFilter and ScanFilter.
type Condition struct {
	Root   *Node
	Legacy bool // not from an expression
}

// Paths returns the paths in the condition, in the order of the text.
func (c *Condition) Paths() []Path { return c.Root.paths(nil) }

func (n *Node) paths(list []Path) []Path {
	for _, sub := range n.Nodes {
		list = sub.paths(list)
	}
	for _, arg := range n.Args {
		list = arg.paths(list)
	}
	return list
}

func (o *Operand) paths(list []Path) []Path {
	if o.Kind == PathOperand {
		list = append(list, o.Path)
	}
	if o.Node != nil {
		list = o.Node.paths(list)
	}
	for _, arg := range o.Args {
		list = arg.paths(list)
	}
	return list
}
