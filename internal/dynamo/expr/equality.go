package expr

import "github.com/kasoku/kasoku/internal/dynamo/value"

// Equality returns the sides of a comparison of a top-level attribute with a value. It returns a nil
// value if the node is not such a comparison.
func (n *Node) Equality() (name string, v *value.Value) {
	if n.Kind != Compare || n.Op != Equal {
		return "", nil
	}
	if name, v = AttributeAndValue(n.Args[0], n.Args[1]); v == nil {
		name, v = AttributeAndValue(n.Args[1], n.Args[0])
	}
	return name, v
}

// AttributeAndValue returns the top-level attribute a and the value b. It returns a nil value if they
// are not of these kinds.
func AttributeAndValue(a, b *Operand) (string, *value.Value) {
	if a.Kind != PathOperand || len(a.Path) != 1 || b.Kind != ValueOperand {
		return "", nil
	}
	return a.Path[0].Name, b.Value
}
