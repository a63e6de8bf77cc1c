// Package tree turns the expressions of DAX clients back into text.
//
// A client compiles an expression into a tree of operations, with the attributes' names
// and the values in it, and sends that instead. DynamoDB takes text with placeholders:
// Words writes the text anew and collects names and values under placeholders of its
// own. The text means exactly what the tree does, and has no parentheses that DynamoDB
// would find redundant.
//
//	condition    [1, expression, [value, ...]]     also filters and key conditions
//	update       [1, [action, ...], [value, ...]]
//	projection   [1, [path, ...]]
package tree
