package partiql

import "strconv"

// Pos is a place in a statement, in characters from 1.
type Pos struct{ Line, Column, Length int }

// String writes the place as messages have it.
func (p Pos) String() string {
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ":" + strconv.Itoa(p.Length)
}

// nodeKind says what a node of the syntax tree is.
type nodeKind uint8

const (
	nodeName     nodeKind = iota + 1 // word
	nodePath                         // nodes: the root, then the steps
	nodeWildcard                     // the step [*]
	nodeUnpivot                      // the step .*
	nodeText                         // word
	nodeNumber                       // word, with its sign
	nodeBoolean                      // word
	nodeNull
	nodeMissing
	nodeIon       // word: the type
	nodeParameter // index
	nodeList      // nodes
	nodeBag       // nodes
	nodeTuple     // nodes: name, value, name, value...
	nodeOperator  // word; nodes
	nodeIs        // word: the type; nodes[0]
	nodeCall      // word: the function; nodes
	nodeQuery     // query
	nodeChange    // change
	nodeOther     // word: what nothing further is done with
)

// node is an expression, or what may stand for one. pos is zero where it has no
// place of its own.
type node struct {
	kind  nodeKind
	pos   Pos
	word  string
	index int
	nodes []*node

	query  *query
	change *change

	class string // what the service's messages call such a node, where it has a say
}

// query is a SELECT.
type query struct {
	pos         Pos
	value       bool // SELECT VALUE or PIVOT
	columns     []column
	from        *node // nil where several tables are joined
	alias       bool  // of from
	where       *node
	order       []order
	group       bool
	having      *node
	limit       *node
	otherClause string // another clause that is in the way
}

// column is one of a SELECT's.
type column struct {
	expr  *node // nil for *
	star  bool  // expr.*
	alias bool
}

// order is one term of ORDER BY.
type order struct {
	expr       *node
	descending bool
}

// change is a statement that writes.
type change struct {
	pos       Pos
	from      *node // nil if the statement names none, as SET a = 1
	alias     bool
	ops       []operation
	where     *node
	returning []returning
}

type operationKind uint8

const (
	setOperation    operationKind = iota + 1 // target = value
	removeOperation                          // target
	deleteOperation
	insertOperation // INSERT INTO target VALUE value
	insertAll       // INSERT INTO target <expression>
)

type operation struct {
	kind          operationKind
	pos           Pos
	target, value *node
	at            bool // AT position
	conflict      bool // ON CONFLICT
}

// returning is one element of RETURNING.
type returning struct {
	mapping string // "all_old"
	star    bool
}

// Error is a statement that DynamoDB refuses with a ValidationException of this
// text.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// malformed is the error for what breaks the grammar.
func malformed(detail string) *Error {
	return &Error{"Statement wasn't well formed, can't be processed: " + detail}
}
