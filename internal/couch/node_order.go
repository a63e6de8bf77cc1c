package couch

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/couch/follow"
)

// nodeOrder is in which order nodes are asked: the first one that is available is.
type nodeOrder []int

// configOrder is the order of the configuration.
func (c *Config) configOrder() nodeOrder {
	o := make(nodeOrder, len(c.Nodes))
	for i := range o {
		o[i] = i
	}
	return o
}

// hashOrder is an order that is the same for the same key, as long as the nodes are, and
// in which all nodes come first equally often. When a node leaves, nothing moves
// between the others (rendezvous hashing).
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

// writeOrder is the order for writes: of a document, or of a whole database with id nil.
// Where one node takes the writes, first is that one.
func (c *Config) writeOrder(first int, db, id []byte) nodeOrder {
	if c.Writes == WritesFirst {
		return c.configOrder().startingAt(first)
	}
	return c.hashOrder(db, id)
}

// startingAt puts node before all others.
func (o nodeOrder) startingAt(node int) nodeOrder {
	at := slices.Index(o, node)
	copy(o[1:at+1], o[:at])
	o[0] = node
	return o
}

// preferred puts the nodes of a set before the others.
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
