package coherence

import "math/bits"

// MaxNodes is how many nodes a service can have.
const MaxNodes = 64

// Nodes is a set of nodes, by their numbers.
type Nodes uint64

// NodesUpTo is the set of the nodes 0 to n-1.
func NodesUpTo(n int) Nodes { return Nodes(1)<<n - 1 }

// Has tells whether the node is in the set.
func (s Nodes) Has(node int) bool { return s&(1<<node) != 0 }

// Len is how many nodes are in the set.
func (s Nodes) Len() int { return bits.OnesCount64(uint64(s)) }

// with and without return the set with and without a node.
func (s Nodes) with(node int) Nodes    { return s | 1<<node }
func (s Nodes) without(node int) Nodes { return s &^ (1 << node) }

// each calls f for every node of the set.
func (s Nodes) each(f func(node int)) {
	for s != 0 {
		f(bits.TrailingZeros64(uint64(s)))
		s &= s - 1
	}
}
