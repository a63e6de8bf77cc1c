package value

import "slices"

// maxNear is the distance from which FastLZ's level 2 uses two more bytes.
const maxNear = 8191

// appendFastLZ appends the decoded form of in, a block of FastLZ, which must be size bytes.
// A block is a list of instructions. If the first byte of an instruction is below 32, it is
// followed by that number of literals plus one. Otherwise it copies earlier output: its
// upper three bits are the length and its lower five the distance, both continued in the
// bytes that follow. The first instruction has only literals, and the level in its upper
// bits.
func appendFastLZ(dst, in []byte, size int) ([]byte, error) {
	if size < 0 || len(in) == 0 || in[0]>>5 > 1 {
		return dst, ErrCorrupt
	}
	l := lz{in: in, out: slices.Grow(dst, size), start: len(dst), end: len(dst) + size, second: in[0]>>5 == 1}
	op := l.next() & 31
	for {
		if op < 32 {
			l.literals(int(op) + 1)
		} else {
			l.copy(op)
		}
		if l.bad || len(l.in) == 0 {
			break
		}
		op = l.next()
	}
	if l.bad || len(l.out) != l.end {
		return dst, ErrCorrupt
	}
	return l.out, nil
}

// lz is the state of decoding a block.
type lz struct {
	in         []byte // the rest of the input
	out        []byte
	start, end int  // of the block in out
	second     bool // level 2
	bad        bool
}

// next returns the next byte. Without one the block is corrupt.
func (l *lz) next() byte {
	if len(l.in) == 0 {
		l.bad = true
		return 0
	}
	b := l.in[0]
	l.in = l.in[1:]
	return b
}

func (l *lz) literals(n int) {
	if n > len(l.in) || n > l.end-len(l.out) {
		l.bad = true
		return
	}
	l.out = append(l.out, l.in[:n]...)
	l.in = l.in[n:]
}

// copy copies bytes from a distance. Source and destination may overlap, which encodes runs
// of a pattern.
func (l *lz) copy(op byte) {
	n := l.length(op)
	from := len(l.out) - l.distance(op)
	if l.bad || from < l.start || n > l.end-len(l.out) {
		l.bad = true
		return
	}
	for n > 0 {
		k := min(n, len(l.out)-from)
		l.out = append(l.out, l.out[from:from+k]...)
		n -= k
	}
}

// length reads the length of a copy, which is at least 3.
func (l *lz) length(op byte) int {
	n := int(op>>5) + 2
	if op>>5 < 7 {
		return n
	}
	for {
		more := l.next()
		n += int(more)
		if more != 255 || !l.second || n > l.end {
			return n
		}
	}
}

// distance reads the distance of a copy, which is at least 1.
func (l *lz) distance(op byte) int {
	high, low := int(op&31)<<8, l.next()
	if l.second && low == 255 && high == 31<<8 {
		return int(l.next())<<8 + int(l.next()) + maxNear + 1
	}
	return high + int(low) + 1
}
