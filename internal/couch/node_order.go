package couch

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/couch/follow"
)

// nodeOrder is an order of preference of nodes: the first available one gets the request.
type nodeOrder []int

// configOrder returns the order of the configuration.
func (c *Config) configOrder() nodeOrder {
	o := make(nodeOrder, len(c.Nodes))
	for i := range o {
		o[i] = i
	}
	return o
}

// hashOrder returns an order that depends on key and on the set of nodes only. All nodes are
// first equally often. When a node is removed, the order of the others does not change
// (rendezvous hashing).
func (c *Config) hashOrder(key ...[]byte) nodeOrder {
	o := c.configOrder()
	scores := make([]uint64, len(o))
	for i, url := range c.Nodes {
		h := xxhash.New()
		for _, part := range key {
			h.Write(part)
			h.Write([]byte{0})
		}
		h.WriteString(url)
		scores[i] = h.Sum64()
	}
	slices.SortFunc(o, func(a, b int) int {
		if scores[a] > scores[b] {
			return -1
		}
		return 1
	})
	return o
}

// writeOrder returns the order for writes of a document, or of a whole database if id is
// nil. first is the node that takes the writes if a single node does.
func (c *Config) writeOrder(first int, db, id []byte) nodeOrder {
	if c.Writes == WritesFirst {
		return c.configOrder().startingAt(first)
	}
	return c.hashOrder(db, id)
}

// startingAt moves node to the front.
func (o nodeOrder) startingAt(node int) nodeOrder {
	at := slices.Index(o, node)
	copy(o[1:at+1], o[:at])
	o[0] = node
	return o
}

// prefer moves the nodes of a set to the front.
func (o nodeOrder) prefer(set follow.NodeSet) nodeOrder {
	slices.SortStableFunc(o, func(a, b int) int {
		switch {
		case set.Has(a) == set.Has(b):
			return 0
		case set.Has(a):
			return -1
		}
		return 1
	})
	return o
}
