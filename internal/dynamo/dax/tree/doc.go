// Package tree converts the expressions of DAX clients back to text.
//
// A client compiles an expression to a tree of operations that contains the attribute names
// and values, and sends that instead. DynamoDB requires text with placeholders. Placeholders
// writes the text and collects names and values under its own placeholders. The text is
// equivalent to the tree, and has no parentheses that DynamoDB would reject as redundant.
//
//	condition    [1, expression, [value, ...]]     also filters and key conditions
//	update       [1, [action, ...], [value, ...]]
//	projection   [1, [path, ...]]
package tree
