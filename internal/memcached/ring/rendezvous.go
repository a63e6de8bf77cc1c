package ring

import (
	"math/bits"
	"unicode/utf8"
)

// node is a server of rendezvous-pymemcache: its label, and the hash's state after label and
// "-".
type node struct {
	label string
	state murmur3
}

// layRendezvous is pymemcache's HashClient: the server wins whose label, a "-" and the key
// have the greatest hash, and the greater label if two are equal. There is no ring, so a
// look-up computes a hash for each server. key_prefix is not hashed. Keys are read as text;
// a writer that passes bytes hashes b'...' instead, including the quotes.
func layRendezvous(r *Ring, p plan) error {
	r.method = rendezvous
	for _, label := range p.labels {
		n := node{label: label}
		n.state.write([]byte(label))
		n.state.write([]byte("-"))
		r.nodes = append(r.nodes, n)
	}
	return nil
}

// highest returns the server with the greatest score for text.
func (r *Ring) highest(text []byte) Place {
	best, score := 0, uint32(0)
	for i := range r.nodes {
		state := r.nodes[i].state
		state.write(text)
		s := state.sum()
		if s > score || s == score && r.nodes[i].label > r.nodes[best].label {
			best, score = i, s
		}
	}
	return Place{uint64(score), uint64(score), best}
}

// murmur3 is the 32-bit MurmurHash3 of pymemcache: over the low 8 bits of each character,
// not over bytes.
type murmur3 struct {
	h       uint32
	block   uint32 // fewer than four characters
	written uint32 // total number of characters
}

func (m *murmur3) write(b []byte) {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		m.block |= uint32(r&0xff) << (8 * (m.written & 3))
		m.written++
		if m.written&3 == 0 {
			m.h ^= scramble(m.block)
			m.h = bits.RotateLeft32(m.h, 13)*5 + 0xe6546b64
			m.block = 0
		}
	}
}

func scramble(k uint32) uint32 {
	return bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593
}

// sum returns the hash of the characters written. It does not change the state.
func (m *murmur3) sum() uint32 {
	h := m.h ^ scramble(m.block) ^ m.written
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
