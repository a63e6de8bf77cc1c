package ring

import (
	"encoding/binary"
	"math/bits"
)

// Parameters of mcrouter's Ch3.
const (
	ch3Seed   = 4193360111
	ch3Stride = 23
	ch3Tries  = 32
)

// layCh3 is mcrouter's default function: it draws a server's number from the key's hash as
// from a stream of bits, so that few keys move when a server is added at the end. Labels and
// weights are ignored.
func layCh3(r *Ring, _ plan) error {
	r.method = ch3
	return nil
}

// walk draws the server of text. It examines bits from the highest position that a server's
// number can have: the position of the first bit that is set is the number's width, and
// further bits at a fixed stride are its digits. A number that is too large is drawn again
// from the current position.
func (r *Ring) walk(text []byte) Place {
	stream := bitStream{first: murmur64(text)}
	stream.word = stream.first
	server := stream.draw(uint32(r.servers))
	return Place{stream.first, uint64(server), int(server)}
}

// bitStream is a hash of unlimited length: its second word is the hash of the first, and so
// on.
type bitStream struct {
	first uint64
	word  uint64 // the word with index at
	at    uint32
}

func (b *bitStream) bit(i uint32) uint32 {
	n := i / 64
	if n < b.at {
		b.word, b.at = b.first, 0
	}
	for ; b.at < n; b.at++ {
		b.word = murmur64Word(b.word)
	}
	return uint32(b.word >> (i % 64) & 1)
}

// draw returns a number below n.
func (b *bitStream) draw(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	width := uint32(bits.Len32(n - 1))
	at := width
	for range ch3Tries {
		for b.bit(at) == 0 {
			width--
			if width == 0 {
				return 0
			}
			at = width
		}
		at += ch3Stride
		number := uint32(1)
		for range width - 1 {
			number = number<<1 | b.bit(at)
			at += ch3Stride
		}
		if number < n {
			return number
		}
	}
	return 0
}

const murmur64Factor = 0xc6a4a7935bd1e995

// murmur64 is MurmurHash64A with Ch3's seed.
func murmur64(b []byte) uint64 {
	h := ch3Seed ^ uint64(len(b))*murmur64Factor
	for ; len(b) >= 8; b = b[8:] {
		h = murmur64Mix(h, binary.LittleEndian.Uint64(b))
	}
	if len(b) > 0 {
		var tail uint64
		for i, c := range b {
			tail |= uint64(c) << (8 * i)
		}
		h = (h ^ tail) * murmur64Factor
	}
	return murmur64End(h)
}

// murmur64Word is the same for the eight bytes of k.
func murmur64Word(k uint64) uint64 {
	factor := uint64(murmur64Factor)
	return murmur64End(murmur64Mix(ch3Seed^8*factor, k))
}

func murmur64Mix(h, k uint64) uint64 {
	k *= murmur64Factor
	k = (k ^ k>>47) * murmur64Factor
	return (h ^ k) * murmur64Factor
}

func murmur64End(h uint64) uint64 {
	h = (h ^ h>>47) * murmur64Factor
	return h ^ h>>47
}
