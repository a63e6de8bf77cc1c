package http2

import (
	"errors"
	"sync"
)

// huffmanState is a transition of the decoder, for a state and the next four bits. A state is
// an inner node of the code's tree.
type huffmanState struct {
	next   uint8
	symbol byte
	emits  bool
	bad    bool // the bits are part of the code EOS, which is not allowed
}

// huffmanDecoder has the transitions of all states, and whether a text may end there: the bits
// since the last symbol are fewer than eight and all ones.
type huffmanDecoder struct {
	table [256][16]huffmanState
	ends  [256]bool
}

// huffman is the decoder, which is made for the first connection.
var huffman = sync.OnceValue(newHuffmanDecoder)

// huffmanNode is a node of the code's tree while the table is built: children are indices of
// inner nodes, or ^symbol for leaves.
type huffmanNode struct{ child [2]int }

func newHuffmanDecoder() *huffmanDecoder {
	h := new(huffmanDecoder)
	nodes := huffmanTree()
	for at, n := 0, 0; n < 8; n++ { // the path of ones from the root
		h.ends[at] = true
		at = nodes[at].child[1]
	}
	for from := range nodes {
		for bits := range 16 {
			h.table[from][bits] = follow(nodes, from, bits)
		}
	}
	return h
}

// follow walks four bits from a node.
func follow(nodes []huffmanNode, from, bits int) (s huffmanState) {
	at := from
	for i := 3; i >= 0; i-- {
		switch child := nodes[at].child[bits>>i&1]; {
		case child == 0: // only EOS is left unassigned
			return huffmanState{bad: true}
		case child < 0:
			s.symbol, s.emits = byte(^child), true
			at = 0
		default:
			at = child
		}
	}
	s.next = uint8(at)
	return s
}

// huffmanTree returns the inner nodes of the code's tree, the root first. A child of 0 is the
// leaf of EOS.
func huffmanTree() []huffmanNode {
	nodes := make([]huffmanNode, 1, 256)
	insert := func(code uint32, length uint8, leaf int) {
		at := 0
		for i := int(length) - 1; i > 0; i-- {
			bit := code >> i & 1
			if nodes[at].child[bit] == 0 {
				nodes = append(nodes, huffmanNode{})
				nodes[at].child[bit] = len(nodes) - 1
			}
			at = nodes[at].child[bit]
		}
		nodes[at].child[code&1] = leaf
	}
	for symbol, code := range huffmanCodes {
		insert(code, huffmanLengths[symbol], ^symbol)
	}
	return nodes
}

var errHuffman = errors.New("http2: malformed Huffman code")

// append appends the text that the bytes of src are the code of.
func (h *huffmanDecoder) append(dst, src []byte) ([]byte, error) {
	state := uint8(0)
	for _, b := range src {
		s := &h.table[state][b>>4]
		if s.emits {
			dst = append(dst, s.symbol)
		}
		if s.bad {
			return dst, errHuffman
		}
		s = &h.table[s.next][b&15]
		if s.emits {
			dst = append(dst, s.symbol)
		}
		if s.bad {
			return dst, errHuffman
		}
		state = s.next
	}
	if !h.ends[state] {
		return dst, errHuffman
	}
	return dst, nil
}
