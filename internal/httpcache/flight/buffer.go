package flight

// buffer holds the bytes of a body while readers can still get them: all of them while
// retain is set, and otherwise the bytes that the slowest reader has not passed.
//
// It is a list of pieces, numbered from 0: pieces[0] has the number first. A reader is
// positioned in a piece, or after the last one. Flight.mu guards all fields.
type buffer struct {
	pieces []*piece
	first  int
	end    int64 // number of bytes that have arrived
	held   int64 // memory of pieces, in bytes
	retain bool  // all bytes can still be read; none was dropped except to disk
	atEnd  int   // readers positioned after the last piece
	idle   int   // readers that wait for bytes

	// A body that is spilled to disk drops pieces although readers are positioned in them:
	// they continue from disk.
	behind int // readers positioned in pieces between cut and first
	cut    int // readers positioned before this piece have been cut off
}

// piece is a part of a body. The length of buf is the number of bytes that have arrived.
type piece struct {
	start   int64
	buf     []byte
	readers int // positioned in it
}

// add counts a reader at the beginning.
func (b *buffer) add() { *b.readers(0)++ }

// readers returns the counter of the readers positioned in piece n.
func (b *buffer) readers(n int) *int {
	if n < b.first {
		return &b.behind
	}
	if n-b.first < len(b.pieces) {
		return &b.pieces[n-b.first].readers
	}
	return &b.atEnd
}

// move repositions a reader from one piece to another.
func (b *buffer) move(from, to int) {
	*b.readers(from)--
	*b.readers(to)++
}

// remove uncounts a reader positioned in piece n.
func (b *buffer) remove(n int) {
	if n >= b.cut {
		*b.readers(n)--
	}
}

// grow appends an empty piece of that size.
func (b *buffer) grow(size int64) {
	b.pieces = append(b.pieces, &piece{start: b.end, buf: make([]byte, 0, size), readers: b.atEnd})
	b.atEnd = 0
	b.held += size
}

// free returns the unused room of the last piece.
func (b *buffer) free() []byte {
	if len(b.pieces) == 0 {
		return nil
	}
	last := b.pieces[len(b.pieces)-1]
	return last.buf[len(last.buf):cap(last.buf)]
}

// fill counts n bytes that were read into the room that free returned.
func (b *buffer) fill(n int) {
	if n == 0 {
		return
	}
	last := b.pieces[len(b.pieces)-1]
	last.buf = last.buf[:len(last.buf)+n]
	b.end += int64(n)
}

// dropRead drops the pieces that all readers have passed and returns their size.
func (b *buffer) dropRead() int64 {
	if b.behind > 0 {
		return 0
	}
	size := int64(0)
	for len(b.pieces) > 0 && b.pieces[0].readers == 0 && b.pieces[0].full() {
		size += b.shift()
	}
	b.cut = b.first
	return size
}

// dropSpilled drops pieces that end before offset, which are on disk, until less than
// window is held. It returns their size.
func (b *buffer) dropSpilled(offset, window int64) int64 {
	size := int64(0)
	for len(b.pieces) > 0 && b.held >= window && b.pieces[0].full() && b.pieces[0].start+int64(cap(b.pieces[0].buf)) <= offset {
		b.behind += b.pieces[0].readers
		size += b.shift()
	}
	return size
}

// shift drops the first piece and returns its size.
func (b *buffer) shift() int64 {
	size := int64(cap(b.pieces[0].buf))
	b.pieces[0] = nil
	b.pieces = b.pieces[1:]
	b.first++
	b.held -= size
	return size
}

func (p *piece) full() bool { return len(p.buf) == cap(p.buf) }

// cutSlowest cuts off the readers positioned in the older half of the pieces and returns
// their number. They find that their piece is gone.
func (b *buffer) cutSlowest() int {
	n := b.behind
	b.behind, b.cut = 0, b.first
	for _, p := range b.pieces[:(len(b.pieces)+1)/2] {
		n += p.readers
		p.readers = 0
	}
	return n
}

// find returns the number of the piece that holds the byte at offset, or the number after
// the last piece. It returns false if the byte was dropped.
func (b *buffer) find(offset int64) (int, bool) {
	for i, p := range b.pieces {
		if offset < p.start {
			return 0, false
		}
		if offset < p.start+int64(cap(p.buf)) {
			return b.first + i, true
		}
	}
	return b.first + len(b.pieces), offset >= b.end
}

// chunks returns the bytes of all pieces, with the last ones that fill has not counted.
func (b *buffer) chunks(last int) [][]byte {
	out := make([][]byte, len(b.pieces))
	for i, p := range b.pieces {
		out[i] = p.buf
	}
	if n := len(out) - 1; last > 0 {
		out[n] = out[n][:len(out[n])+last]
	}
	return out
}
