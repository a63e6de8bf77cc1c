package httpcache

import (
	"io"
	"runtime"
	"slices"

	"github.com/kasoku/kasoku/internal/pages"
)

// Body is the whole body of a response, in pieces. It is immutable.
type Body struct {
	chunks [][]byte
	run    *pages.Run // that the one chunk lies in, if it does
	length int64
}

// NewBody makes a body of chunks, which must not change any more. Empty ones must
// not be among them.
func NewBody(chunks ...[]byte) *Body {
	b := &Body{chunks: chunks}
	for _, c := range chunks {
		b.length += int64(len(c))
	}
	return b
}

// paged makes a body of pieces in pages of its own, nil if that is not worth it or
// can't be.
func paged(pieces [][]byte, total int) *Body {
	if total < leastPaged || total > mostPaged {
		return nil
	}
	run := pages.Join(pieces...)
	if run == nil {
		return nil
	}
	return &Body{chunks: [][]byte{run.Bytes()}, run: run, length: int64(total)}
}

// Len is the body's length in bytes.
func (b *Body) Len() int64 { return b.length }

// Bytes returns the body if it lies in one piece, as those up to onePiece do. It is
// valid as long as b is reachable.
func (b *Body) Bytes() (body []byte, ok bool) {
	switch len(b.chunks) {
	case 0:
		return nil, true
	case 1:
		return b.chunks[0], true
	}
	return nil, false
}

// WriteRange writes n bytes from offset from on, with a Write for each piece. The
// range must lie within the body.
func (b *Body) WriteRange(w io.Writer, from, n int64) error {
	defer runtime.KeepAlive(b)
	for _, c := range b.chunks {
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

// weight is what the body takes of memory.
func (b *Body) weight() int64 {
	if b.run != nil {
		return b.run.Size() + runOverhead
	}
	w := int64(0)
	for _, c := range b.chunks {
		w += int64(cap(c)) + chunkOverhead
	}
	return w
}

const (
	// onePiece is up to which length a body is put into one piece, so that it is
	// sent with the head in one write.
	onePiece = 1 << 20
	// smallestChunk and largestChunk are what is taken for the next bytes of a
	// body: less at first when its length is not known.
	smallestChunk = 4 << 10
	largestChunk  = 256 << 10
	// chunkOverhead is a piece's slice header.
	chunkOverhead = 24
	// leastPaged and mostPaged bound the bodies that are moved to pages, from where
	// they are sent without being copied: below, copying costs less; above, those who
	// wait for the end of the body would have to wait for it to be moved.
	leastPaged = 64 << 10
	mostPaged  = 16 << 20
	// runOverhead is what a run takes beside its pages.
	runOverhead = 128
)

// chunkSize is how much to take for the next bytes of a body of which got bytes
// are there. length is -1 when it is not known.
func chunkSize(got, length int64) int64 {
	switch {
	case length < 0:
		return min(max(got, smallestChunk), largestChunk)
	case length <= onePiece:
		return length - got
	}
	return min(length-got, largestChunk)
}

// gather makes a body of the pieces that came.
func gather(pieces [][]byte) *Body {
	total := 0
	for _, p := range pieces {
		total += len(p)
	}
	if b := paged(pieces, total); b != nil {
		return b
	}
	return onHeap(pieces, total)
}

// onHeap makes a body of pieces on the heap: in one if it is short, and without more
// unused memory than an eighth.
func onHeap(pieces [][]byte, total int) *Body {
	switch {
	case total == 0:
		return NewBody()
	case len(pieces) > 1 && total <= onePiece:
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
