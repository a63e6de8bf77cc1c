// Package expr reads DynamoDB's expressions: projections, conditions, filters,
// key conditions and updates, the maps of placeholders that they draw on, and
// the legacy parameters that say the same; and it evaluates them.
//
// # Two ways in
//
// The cache asks little and often. Projection, AppendCanonical and
// ParseKeyCondition work on the tokens alone, into memory that the caller reuses,
// and answer false for whatever the origin might refuse or read differently; the
// request then goes to the origin, which finds the words for it.
//
// A store asks for everything. ParseCondition, ParseUpdate, ParsePaths and the
// Legacy functions build a syntax tree and return, for what is wrong, the *Error
// with DynamoDB's text. Where several things are wrong the service has an order
// of preference, so the parser runs to the end of the text and keeps the first
// fault of each class (see faultClass); only a syntax error ends it at once.
//
// A store's request goes this way: 1) Names.Reset and Values.Load. 2) All
// expressions are parsed. 3) Names.Unused and Values.Unused. 4) Condition.KeyQuery
// takes a key condition apart. 5) With the table at hand: KeyQuery.Against,
// Condition.CheckFilter, CheckScalars. 6) With an item: Condition.Match,
// Update.Apply, Selection.Of.
//
// # The tree
//
// A Condition is a tree of Nodes (And, Or, Not, Compare, Between, In, Call)
// whose leaves are Operands; an Update is a list of Actions, each a Path and,
// except for REMOVE, an Operand. Placeholders are resolved while parsing: a Path
// has the names themselves, a constant Operand the value, read once for all uses,
// and its text, which aliases the request. Nothing in the tree refers to an item,
// so it may be evaluated many times and concurrently. PartiQL makes such trees
// out of statements.
package expr
