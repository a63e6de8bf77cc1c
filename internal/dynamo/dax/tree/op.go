package tree

// The operations of trees, as numbered by clients.
const (
	opEqual = iota
	opNotEqual
	opLess
	opGreaterOrEqual
	opGreater
	opLessOrEqual
	opAnd
	opOr
	opNot
	opBetween
	opIn
	opExists
	opNotExists
	opType
	opBeginsWith
	opContains
	opSize
	opValue
	opPath
	opSet
	opAdd
	opDelete
	opRemove
	opIfNotExists
	opListAppend
	opPlus
	opMinus
	opCount
)

// tagIndex marks the index of an element in a path.
const tagIndex = 3324

// infix are the operations written between their operands.
var infix = [opCount]string{
	opEqual: " = ", opNotEqual: " <> ", opLess: " < ", opGreaterOrEqual: " >= ", opGreater: " > ", opLessOrEqual: " <= ",
	opAnd: " AND ", opOr: " OR ", opPlus: " + ", opMinus: " - ",
}

// function are the operations written before their arguments.
var function = [opCount]string{
	opExists: "attribute_exists", opNotExists: "attribute_not_exists", opType: "attribute_type", opBeginsWith: "begins_with",
	opContains: "contains", opSize: "size", opIfNotExists: "if_not_exists", opListAppend: "list_append",
}

// The precedence of operations. One with a lower precedence than its context requires
// parentheses.
const (
	holdsOr = iota + 1
	holdsAnd
	holdsNot
	holdsAtom
)

func holds(op int64) int {
	switch op {
	case opOr:
		return holdsOr
	case opAnd:
		return holdsAnd
	case opNot:
		return holdsNot
	}
	return holdsAtom
}
