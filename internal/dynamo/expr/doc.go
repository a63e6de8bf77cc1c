// Package expr reads DynamoDB's expressions: projections, conditions, filters,
// key conditions and updates, the maps of placeholders that they draw on, and
// the legacy AttributesToGet, KeyConditions and AttributeUpdates.
//
// # Two ways in
//
// The cache asks little and often. Projection, AppendCanonical and KeyCondition
// work on the tokens alone, into memory that the caller reuses, and answer false
// for whatever the origin might refuse or read differently; the request then
// goes to the origin, which finds the words for it.
//
// A store asks for everything. ParseCondition, ParseUpdate and ParsePaths build
// a syntax tree and return, for what is wrong, the *Error with DynamoDB's text.
// Where several things are wrong the service has an order of preference, so the
// parser runs to the end of the text and keeps the first fault of each class
// (see faults); only a syntax error ends it at once.
//
// # The tree
//
// A Condition is a tree of Nodes (And, Or, Not, Compare, Between, In, Call)
// whose leaves are Operands; an Update is a list of Actions, each a Path and,
// except for REMOVE, an Operand. Placeholders are resolved while parsing: a Path
// has the names themselves, a constant Operand the JSON text of its attribute
// value, which aliases the request. Nothing in the tree refers to an item, so it
// may be evaluated many times and concurrently.
package expr
