package httpcache

// piece is a run of a body's bytes. buf's length is what has come.
type piece struct {
	start   int64
	buf     []byte
	readers int // tickets that stand in it
}

// pieces are the bytes of a flight that its readers can still get. All of them
// while they are kept; then those that the slowest reader has before it. They
// are numbered from 0: list[0] has the number first. A reader stands in a piece,
// or before the one to come. The flight's mu guards everything.
type pieces struct {
	list  []*piece
	first int
	end   int64 // how many bytes have come
	held  int64 // how much memory list takes
	kept  bool  // all bytes can still be had: nothing was let go but to disk
	ahead int   // readers before the piece to come
	idle  int   // readers that wait for bytes

	// Of a body that goes to disk pieces are let go that readers stand in: these read
	// on there. Readers that stand before the piece lost are cut off, those behind it
	// and before first are counted in back.
	back int
	lost int
}

// enter counts a reader in that stands at the beginning.
func (p *pieces) enter() { *p.standing(0)++ }

// standing is the count of the readers that stand in piece n.
func (p *pieces) standing(n int) *int {
	if n < p.first {
		return &p.back
	}
	if n-p.first < len(p.list) {
		return &p.list[n-p.first].readers
	}
	return &p.ahead
}

// move takes a reader from one piece to another.
func (p *pieces) move(from, to int) {
	*p.standing(from)--
	*p.standing(to)++
}

// leave counts a reader out that stood in piece n.
func (p *pieces) leave(n int) {
	if n >= p.lost {
		*p.standing(n)--
	}
}

// grow appends an empty piece of that size.
func (p *pieces) grow(size int64) {
	p.list = append(p.list, &piece{start: p.end, buf: make([]byte, 0, size), readers: p.ahead})
	p.ahead = 0
	p.held += size
}

// free is the room in the last piece.
func (p *pieces) free() []byte {
	if len(p.list) == 0 {
		return nil
	}
	last := p.list[len(p.list)-1]
	return last.buf[len(last.buf):cap(last.buf)]
}

// came counts bytes that were read into free's room.
func (p *pieces) came(n int) {
	if n == 0 {
		return
	}
	last := p.list[len(p.list)-1]
	last.buf = last.buf[:len(last.buf)+n]
	p.end += int64(n)
}

// letGo takes away the pieces before all readers, and returns their size.
func (p *pieces) letGo() int64 {
	if p.back > 0 {
		return 0
	}
	size := int64(0)
	for len(p.list) > 0 && p.list[0].readers == 0 && p.list[0].full() {
		size += p.shift()
	}
	p.lost = p.first
	return size
}

// sink takes away pieces that end before the byte at offset, which are on disk, until
// less than window is held. It returns their size.
func (p *pieces) sink(offset, window int64) int64 {
	size := int64(0)
	for len(p.list) > 0 && p.held >= window && p.list[0].full() && p.list[0].start+int64(cap(p.list[0].buf)) <= offset {
		p.back += p.list[0].readers
		size += p.shift()
	}
	return size
}

// shift takes the first piece away and returns its size.
func (p *pieces) shift() int64 {
	size := int64(cap(p.list[0].buf))
	p.list[0] = nil
	p.list = p.list[1:]
	p.first++
	p.held -= size
	return size
}

func (p *piece) full() bool { return len(p.buf) == cap(p.buf) }

// overtake counts the readers out that stand in the older half of the pieces, and
// returns how many there were. They find that their piece is gone.
func (p *pieces) overtake() int {
	n := p.back
	p.back, p.lost = 0, p.first
	for _, piece := range p.list[:(len(p.list)+1)/2] {
		n += piece.readers
		piece.readers = 0
	}
	return n
}

// at finds the number of the piece that holds the byte at offset, or the number
// of the one to come; false if it is gone.
func (p *pieces) at(offset int64) (int, bool) {
	for i, piece := range p.list {
		if offset < piece.start {
			return 0, false
		}
		if offset < piece.start+int64(cap(piece.buf)) {
			return p.first + i, true
		}
	}
	return p.first + len(p.list), offset >= p.end
}

// all are the bytes as they lie, with the last ones that have not been counted.
func (p *pieces) all(last int) [][]byte {
	out := make([][]byte, len(p.list))
	for i, piece := range p.list {
		out[i] = piece.buf
	}
	if n := len(out) - 1; last > 0 {
		out[n] = out[n][:len(out[n])+last]
	}
	return out
}
