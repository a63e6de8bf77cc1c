package follow

import "math/bits"

// MaxNodes is the maximum number of nodes of a service.
const MaxNodes = 64

// NodeSet is a set of nodes, by their indexes.
type NodeSet uint64

// AllNodes returns the set of the nodes 0 to n-1.
func AllNodes(n int) NodeSet { return NodeSet(1)<<n - 1 }

// Has reports whether the node is in the set.
func (s NodeSet) Has(node int) bool { return s&(1<<node) != 0 }

// Len returns the number of nodes in the set.
func (s NodeSet) Len() int { return bits.OnesCount64(uint64(s)) }

// with and without return the set with and without a node.
func (s NodeSet) with(node int) NodeSet    { return s | 1<<node }
func (s NodeSet) without(node int) NodeSet { return s &^ (1 << node) }

// forEach calls f for each node of the set.
func (s NodeSet) forEach(f func(node int)) {
	for s != 0 {
		f(bits.TrailingZeros64(uint64(s)))
		s &= s - 1
	}
}
