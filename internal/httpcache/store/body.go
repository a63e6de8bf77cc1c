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

// Body is the whole body of a response, in memory or in a file. Its bytes never change,
// but once they may move.
type Body struct {
	mem       atomic.Pointer[Memory]
	file      *disk.File // nil: it is in memory
	length    int64
	stage     atomic.Uint32
	scanned   atomic.Pointer[jsonpScan] // nil: nobody has asked for it in a call
	resources int32                     // how many stored resources have it, if its senders are counted; lent.mu guards it
}

// Memory is where a body lies: in pieces on the heap, or in pages, whose one piece is
// valid as long as run is reachable.
type Memory struct {
	chunks [][]byte
	run    *pages.Run
	refs   *refs // nil: its senders are not counted
}

// Stages of a body that may move to pages.
const (
	unused uint32 = iota
	usedOnce
	fixed // it has moved, or stays where it is
)

// onDisk makes a body of a file.
func onDisk(f *disk.File) *Body { return &Body{file: f, length: f.Len()} }

// Open opens a body that is on disk.
func (b *Body) Open() (*disk.Reader, error) { return b.file.Open() }

// Damaged reports to the tier that a body on disk can't be read.
func (b *Body) Damaged() { b.file.Damaged() }

// Discard drops a body from the disk that was not stored.
func (b *Body) Discard() { b.file.Drop() }

// gone tells whether the body was dropped from the disk.
func (b *Body) gone() bool { return b.file != nil && b.file.Gone() }

// NewBody makes a body of chunks, which must not change any more. Empty ones must
// not be among them.
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

// Bytes returns the body if it lies in one piece of memory, as those up to MaxContiguous
// that are not on disk do. It is valid as long as b is reachable.
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

// Acquire is Bytes for an answer, which has to return the memory that the body lies in. A
// body that is lent for the second time moves to pages if that is worth it: most are
// stored and never asked for again.
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

// Memory is where the body lies now, nil for one on disk.
func (b *Body) Memory() *Memory { return b.mem.Load() }

// Hold has the memory that the body lies in counted for a sender, which has to return it. It
// returns nil for a body on disk.
func (b *Body) Hold() *Memory { return b.mem.Load().Hold() }

func (b *Body) movable() bool { return b.length >= minPaged && b.length <= maxPaged }

// move puts the body into pages, once. Who has its bytes on the heap keeps them.
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

// replace has the store keep the body in other memory.
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

// WriteRange writes n bytes from offset from on, with a Write for each piece. The
// range must lie within the body. An error that wraps disk.ErrDamaged or disk.ErrGone
// is the body's, any other is w's.
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

// weight is what the body takes of memory, wherever it lies there.
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

// Run is the pages that m lies in, nil if it is on the heap.
func (m *Memory) Run() *pages.Run { return m.run }

// Starts reports whether m begins with the very bytes of p, and not with a copy.
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
	// MaxContiguous is up to which length a body is put into one piece, so that it is
	// sent with the head in one write.
	MaxContiguous = 1 << 20
	// chunkOverhead is a piece's slice header.
	chunkOverhead = 24
	// minPaged and maxPaged bound the bodies that move to pages, from where they
	// are sent without being copied: below, copying costs as little; above, moving would
	// keep its client waiting for more than a few milliseconds.
	minPaged = 64 << 10
	maxPaged = 16 << 20
	// runOverhead is what a run takes beside its pages.
	runOverhead = 128
)

// Gather makes a body of the pieces that came: in one if it is short, and
// without more unused memory than an eighth.
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

// Reader reads all of it.
func (m *Memory) Reader() io.Reader {
	all := make([]io.Reader, len(m.chunks))
	for i, c := range m.chunks {
		all[i] = bytes.NewReader(c)
	}
	return &memoryReader{io.MultiReader(all...), m}
}

// memoryReader keeps the memory while it is read.
type memoryReader struct {
	chunks io.Reader
	memory *Memory
}

func (r *memoryReader) Read(p []byte) (int, error) {
	defer runtime.KeepAlive(r.memory)
	return r.chunks.Read(p)
}

// ScanJSONP is what has to be known of the body before it is wrapped by f. It is found out
// when it is first needed, by reading the body, which must not be on disk.
func (b *Body) ScanJSONP(f *jsonp.Filter) *jsonp.Body {
	if k := b.scanned.Load(); k != nil && k.filter.Alike(f) {
		return &k.body
	}
	s := f.NewScanner()
	_ = b.WriteRange(s, 0, b.Len()) // memory and a scanner don't fail
	k := &jsonpScan{f, s.Body()}
	b.scanned.Store(k)
	return &k.body
}

// jsonpScan is what is known of a body for filters like one.
type jsonpScan struct {
	filter *jsonp.Filter
	body   jsonp.Body
}
