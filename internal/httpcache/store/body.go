package store

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/pages"
)

// Body is the whole body of a response, in memory or in a file. Its bytes never change, but
// it may move once from the heap to pages.
type Body struct {
	mem       atomic.Pointer[Memory]
	file      *disk.File // nil: it is in memory
	length    int64
	stage     atomic.Uint32
	scanned   atomic.Pointer[jsonpScan] // nil: no callback has needed it yet
	resources int32                     // the number of stored resources that have it, if it is tracked; guarded by BodiesInFlight.mu
}

// Memory is the memory of a body: pieces on the heap, or one piece in pages that is valid as
// long as run is reachable.
type Memory struct {
	chunks [][]byte
	run    *pages.Run
	refs   *refs // nil: it is not tracked
}

// Stages of a body that may move to pages.
const (
	unused uint32 = iota
	usedOnce
	fixed // it has moved, or will not move
)

func onDisk(f *disk.File) *Body { return &Body{file: f, length: f.Len()} }

// Open opens a body that is on disk.
func (b *Body) Open() (*disk.Reader, error) { return b.file.Open() }

// Damaged reports to the tier that the file of a body cannot be read.
func (b *Body) Damaged() { b.file.Damaged() }

// Discard removes the file of a body that was not stored.
func (b *Body) Discard() { b.file.Drop() }

// gone reports whether the body was dropped from the disk.
func (b *Body) gone() bool { return b.file != nil && b.file.Gone() }

// NewBody returns a body of chunks, which must not change any more. None of them may be
// empty.
func NewBody(chunks ...[]byte) *Body {
	b := &Body{}
	b.mem.Store(&Memory{chunks: chunks})
	for _, c := range chunks {
		b.length += int64(len(c))
	}
	return b
}

// Len is the body's length in bytes.
func (b *Body) Len() int64 { return b.length }

// Bytes returns the body if it is in one piece of memory, as bodies of up to MaxContiguous
// bytes are, except on disk. It is valid as long as b is reachable.
func (b *Body) Bytes() (body []byte, ok bool) {
	if b.file != nil {
		return nil, false
	}
	return b.mem.Load().bytes()
}

func (m *Memory) bytes() (body []byte, ok bool) {
	switch len(m.chunks) {
	case 0:
		return nil, true
	case 1:
		return m.chunks[0], true
	}
	return nil, false
}

// Acquire returns what Bytes does, for an answer, which must call Return of from when the
// body is sent. The second call moves a body to pages if that is worth it: most bodies are
// never used again after they are stored.
func (b *Body) Acquire() (body []byte, from *Memory, ok bool) {
	if b.file != nil {
		return nil, nil, false
	}
	if b.movable() && b.stage.Load() != fixed && !b.stage.CompareAndSwap(unused, usedOnce) {
		b.move()
	}
	m := b.mem.Load()
	if body, ok = m.bytes(); !ok {
		return nil, nil, false
	}
	return body, m.Hold(), true
}

// Memory returns the present memory of the body, nil for one on disk.
func (b *Body) Memory() *Memory { return b.mem.Load() }

// Hold counts a sender of the body's memory, which must call Return of it. It returns nil
// for a body on disk.
func (b *Body) Hold() *Memory { return b.mem.Load().Hold() }

func (b *Body) movable() bool { return b.length >= minPaged && b.length <= maxPaged }

// move copies the body into pages, once. Senders that have its bytes on the heap keep them.
func (b *Body) move() {
	if !b.stage.CompareAndSwap(usedOnce, fixed) {
		return
	}
	old := b.mem.Load()
	run := pages.Join(old.chunks...)
	if run == nil {
		return
	}
	next := &Memory{chunks: [][]byte{run.Bytes()}, run: run}
	if old.refs == nil {
		b.mem.Store(next)
		return
	}
	next.refs = newRefs(old.refs.all, next)
	b.replace(old, next)
}

// replace makes next the memory of the body in the store.
func (b *Body) replace(old, next *Memory) {
	l := old.refs.all
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.resources > 0 {
		next.addStore()
	}
	b.mem.Store(next)
	if b.resources > 0 {
		old.removeStore()
	}
}

// WriteRange writes the n bytes that begin at offset from, with one Write for each piece.
// The range must be within the body. An error that wraps disk.ErrDamaged or disk.ErrGone is
// the body's, any other is w's.
func (b *Body) WriteRange(w io.Writer, from, n int64) error {
	if b.file != nil {
		r, err := b.file.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		return r.WriteRange(w, from, n)
	}
	m := b.mem.Load().Hold()
	defer m.Return()
	for _, c := range m.chunks {
		if n <= 0 {
			return nil
		}
		if from >= int64(len(c)) {
			from -= int64(len(c))
			continue
		}
		c = c[from:]
		c = c[:min(n, int64(len(c)))]
		from, n = 0, n-int64(len(c))
		if _, err := w.Write(c); err != nil {
			return err
		}
	}
	return nil
}

// weight returns the memory that the body takes, on the heap and in pages.
func (b *Body) weight() int64 {
	if b.file != nil {
		return 0
	}
	w := b.mem.Load().weight()
	if b.movable() {
		w = max(w, pages.SizeOf(b.length)+runOverhead)
	}
	return w
}

// Run returns the pages of m, nil if it is on the heap.
func (m *Memory) Run() *pages.Run { return m.run }

// Starts reports whether m begins with the memory of p, not with a copy of it.
func (m *Memory) Starts(p []byte) bool {
	return m != nil && len(m.chunks) > 0 && unsafe.SliceData(m.chunks[0]) == unsafe.SliceData(p)
}

func (m *Memory) weight() int64 {
	if m.run != nil {
		return pages.SizeOf(int64(len(m.run.Bytes()))) + runOverhead
	}
	w := int64(0)
	for _, c := range m.chunks {
		w += int64(cap(c)) + chunkOverhead
	}
	return w
}

const (
	// MaxContiguous is the length up to which a body is put into one piece, so that it is
	// sent with the head in one write.
	MaxContiguous = 1 << 20
	// chunkOverhead is the slice header of a piece.
	chunkOverhead = 24
	// minPaged and maxPaged bound the bodies that move to pages, from which they are sent
	// without a copy. Below, copying costs as little; above, the move would delay the client
	// by more than a few milliseconds.
	minPaged = 64 << 10
	maxPaged = 16 << 20
	// runOverhead is the memory of a run besides its pages.
	runOverhead = 128
)

// Gather returns a body of these pieces. Up to MaxContiguous bytes are joined into one
// piece, and at most an eighth of the last piece is unused memory.
func Gather(pieces [][]byte) *Body {
	total := 0
	for _, p := range pieces {
		total += len(p)
	}
	switch {
	case total == 0:
		return NewBody()
	case len(pieces) > 1 && total <= MaxContiguous:
		return NewBody(slices.Concat(pieces...))
	}
	last := &pieces[len(pieces)-1]
	switch {
	case len(*last) == 0:
		pieces = pieces[:len(pieces)-1]
	case cap(*last)-len(*last) > len(*last)/8:
		*last = slices.Clip(append([]byte(nil), *last...))
	}
	return NewBody(pieces...)
}

// Reader returns a reader of all of m.
func (m *Memory) Reader() io.Reader {
	all := make([]io.Reader, len(m.chunks))
	for i, c := range m.chunks {
		all[i] = bytes.NewReader(c)
	}
	return &memoryReader{io.MultiReader(all...), m}
}

// memoryReader keeps the memory reachable while it is read.
type memoryReader struct {
	chunks io.Reader
	memory *Memory
}

func (r *memoryReader) Read(p []byte) (int, error) {
	defer runtime.KeepAlive(r.memory)
	return r.chunks.Read(p)
}

// ScanJSONP returns the properties of the body that f needs before it wraps it. The first
// call reads the body, which must not be on disk.
func (b *Body) ScanJSONP(f *jsonp.Filter) *jsonp.Body {
	if k := b.scanned.Load(); k != nil && k.filter.Alike(f) {
		return &k.body
	}
	s := f.NewScanner()
	_ = b.WriteRange(s, 0, b.Len()) // cannot fail
	k := &jsonpScan{f, s.Body()}
	b.scanned.Store(k)
	return &k.body
}

// jsonpScan is the result of a scan, valid for all filters like filter.
type jsonpScan struct {
	filter *jsonp.Filter
	body   jsonp.Body
}
