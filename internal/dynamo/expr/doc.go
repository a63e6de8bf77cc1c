// Package expr reads and evaluates DynamoDB's expressions: projections, conditions, filters,
// key conditions and updates, with their maps of placeholders, and the legacy parameters
// with the same meaning.
//
// # Two APIs
//
// The cache needs little, on every request. Projection, AppendCanonical and
// ParseKeyCondition work on the tokens alone, use memory that the caller reuses, and return
// false for anything that the origin might refuse or read differently. The origin
// then answers such a request.
//
// A store needs everything. ParseCondition, ParseUpdate, ParsePaths and the Legacy functions
// build a syntax tree and return an *Error with DynamoDB's text for an invalid expression.
// If an expression has several faults, DynamoDB reports them by precedence, so the parser
// reads to the end of the text and keeps the first fault of each class (see faultClass).
// Only a syntax error ends it at once.
//
// A store evaluates a request in this order:
//
//  1. Names.Reset and Values.Load read the placeholders.
//  2. All expressions are parsed.
//  3. Names.Unused and Values.Unused find placeholders that no expression uses.
//  4. Condition.KeyQuery extracts the comparisons of a key condition.
//  5. KeyQuery.Against, Condition.CheckFilter and CheckScalars check them with the table.
//  6. Condition.Match, Update.Apply and Selection.Of are called with an item.
//
// # The tree
//
// A Condition is a tree of Nodes (And, Or, Not, Compare, Between, In, Call) whose leaves are
// Operands; an Update is a list of Actions, each a Path and, except for REMOVE, an Operand.
// Placeholders are resolved while parsing: a Path has the names themselves. A constant
// Operand has the value, which is read once for all uses, and its text, which aliases the
// request. The tree does not refer to an item, so it may be evaluated many times and
// concurrently. Package partiql builds such trees from statements.
package expr
