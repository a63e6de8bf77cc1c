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

// relation says how two paths relate.
type relation uint8

const (
	apart    relation = iota
	overlap           // one is, or leads to, the other
	conflict          // they take one value for a map and for a list
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

// Clash is how two paths get in each other's way, in the word that messages have;
// empty if they don't.
func (p Path) Clash(q Path) string { return clashes[p.relationTo(q)] }

// OperandKind says what an operand is.
type OperandKind uint8

const (
	PathOperand OperandKind = iota + 1
	ValueOperand
	CallOperand
	SumOperand        // of two; in an update only
	DifferenceOperand // of two; in an update only
	ConditionOperand  // a Bool: whether a condition holds; of statements only
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
	Path     Path         // of PathOperand
	Value    *value.Value // of ValueOperand
	Text     []byte       // of ValueOperand: how the request writes it; nil for trees made otherwise
	Function Function     // of CallOperand
	Args     []*Operand   // of CallOperand, SumOperand, DifferenceOperand
	Node     *Node        // of ConditionOperand

	at int // where Function stands in the text, for faults
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

// Condition is a parsed condition, filter or key condition, or one of the legacy
// Expected, QueryFilter and ScanFilter in the same terms.
type Condition struct {
	Root   *Node
	Legacy bool // not from an expression
}

// Paths are the paths in the condition, in the order of the text.
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
