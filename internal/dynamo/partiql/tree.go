package partiql

import "strconv"

// Pos is a position in a statement. Lines, columns and lengths count characters, from 1.
type Pos struct{ Line, Column, Length int }

// String formats the position as messages do.
func (p Pos) String() string {
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ":" + strconv.Itoa(p.Length)
}

// nodeKind is the kind of a node in the syntax tree.
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
	nodeOther     // word: expressions that are not used further
)

// node is an expression or a statement in the place of one. pos is zero if the node has no
// position of its own.
type node struct {
	kind  nodeKind
	pos   Pos
	word  string
	index int
	nodes []*node

	query  *query
	change *change

	class string // the name of such a node in the service's messages, if it has one
}

// query is a SELECT.
type query struct {
	pos         Pos
	value       bool // SELECT VALUE or PIVOT
	columns     []column
	from        *node // nil for a join
	alias       bool  // from has an alias
	where       *node
	order       []order
	group       bool
	having      *node
	limit       *node
	otherClause string // the first other clause, which is refused
}

// column is a column of a SELECT.
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
	from      *node // nil if the statement names no table, as SET a = 1
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

// Error is a ValidationException of DynamoDB with this text.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// malformed returns the error for a statement that breaks the grammar.
func malformed(detail string) *Error {
	return &Error{"Statement wasn't well formed, can't be processed: " + detail}
}
