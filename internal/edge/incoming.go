package edge

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/http1"
)

// Errors of reading a request's body, besides io.ErrUnexpectedEOF for a body that the client
// did not send completely and *http1.Error for one that is refused: malformed (400), over
// Limits.BodyBytes (413), with too large a trailer (431), too slow (408). The handler need
// not answer a body that was refused or cut: if nothing of the answer was sent when Serve
// returns, the server answers instead.
var (
	// ErrBodyTooLarge is returned for a body over the limit given to ReadBody.
	ErrBodyTooLarge = errors.New("edge: the request body is beyond what is to be held in memory")
	// ErrOver is returned after Serve has returned.
	ErrOver = errors.New("edge: the exchange is over")
)

// BodyLength returns the announced length of the request's body: 0 for no body, -1 if the
// length is unknown until the body ends.
func (x *Exchange) BodyLength() int64 {
	if x.body != nil {
		return x.body.length
	}
	return int64(len(x.Body))
}

// BodyReader returns a reader of the request's body without its framing, as it arrives. It
// may be read by another goroutine than Serve's, and while the answer is sent. A Read that
// is blocked when Serve returns is woken, and every later one fails with ErrOver.
//
// The first Read that has to wait answers "Expect: 100-continue". The server reads and
// discards up to 256 KiB of an unread body; otherwise the connection closes.
func (x *Exchange) BodyReader() io.Reader {
	if x.body == nil {
		x.body = newIncoming(int64(len(x.Body)), nil)
		x.body.buffered = x.Body
	}
	return x.body
}

// ReadBody reads the whole body into memory that is valid until Serve returns. A body of
// more than limit bytes fails with ErrBodyTooLarge and is not lost: BodyReader returns it
// from its first byte on in any case.
func (x *Exchange) ReadBody(limit int) ([]byte, error) {
	if x.body == nil {
		if len(x.Body) > limit {
			return nil, ErrBodyTooLarge
		}
		return x.Body, nil
	}
	return x.body.readAll(x, limit)
}

// StopBody ends the reading of the body: a blocked Read is woken, and every later one fails
// with ErrOver. It is for handlers that gave the reader to another goroutine and must be
// sure that it reads no more.
func (x *Exchange) StopBody() {
	if x.body != nil {
		x.body.finish()
	}
}

// BodyTrailer returns the fields after the body that are allowed there.
// It is complete once BodyReader has returned io.EOF.
func (x *Exchange) BodyTrailer() http1.Fields {
	if x.body == nil {
		return nil
	}
	trailer, dropped := x.body.trailer(), func(f http1.Field) bool { return x.set.head.Drops(f.Name) }
	if slices.ContainsFunc(trailer, dropped) {
		trailer = slices.DeleteFunc(slices.Clone(trailer), dropped)
	}
	return trailer
}

// incoming is a request body that its handler reads. It is never reused for another
// exchange: a goroutine that reads on after its exchange has ended gets an error and no
// bytes of others.
type incoming struct {
	length int64

	// mu is held by the reader, also while it waits. It guards all below.
	mu       sync.Mutex
	over     atomic.Bool // set without mu, read with it
	from     bodySource  // nil: buffered is the whole body
	buffered []byte      // read ahead of Read
	err      error       // with which the source ended
}

// bodySource is the source of a body's bytes.
type bodySource interface {
	// read returns bytes of the body, and io.EOF at its end. After errWoken the source is
	// unchanged; every other error ends it.
	read(p []byte) (int, error)
	// wake makes a blocked read, or one that is about to block, return errWoken. It is
	// called by another goroutine than read.
	wake()
	trailer() http1.Fields
	// discardable reports whether the rest is small enough to be discarded to keep the
	// connection.
	discardable() bool
}

var errWoken = errors.New("edge: reading the body was interrupted")

func newIncoming(length int64, from bodySource) *incoming {
	b := &incoming{length: length, from: from}
	if from == nil {
		b.err = io.EOF
	}
	return b
}

// Read implements io.Reader.
func (b *incoming) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.over.Load():
		return 0, ErrOver
	case len(b.buffered) > 0:
		n := copy(p, b.buffered)
		b.buffered = b.buffered[n:]
		return n, nil
	}
	n, err := b.pull(p)
	if err == errWoken {
		err = ErrOver
	}
	return n, err
}

// pull reads from the source.
func (b *incoming) pull(p []byte) (n int, err error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	n, err = b.from.read(p)
	if err != errWoken {
		b.err = err
	}
	return n, err
}

// readAll reads up to limit bytes ahead, into the exchange's buffer.
func (b *incoming) readAll(x *Exchange, limit int) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.length > int64(limit) {
		return nil, ErrBodyTooLarge
	}
	if b.from == nil || len(b.buffered) > 0 { // read before
		if len(b.buffered) > limit {
			return nil, ErrBodyTooLarge
		}
		if b.err == io.EOF {
			return b.buffered, nil
		}
	}
	data := append(x.in.data[:0], b.buffered...)
	for b.err == nil && len(data) <= limit {
		if len(data) == cap(data) {
			data = grow(data, limit+1)
		}
		n, _ := b.pull(data[len(data):min(cap(data), limit+1)])
		data = data[:len(data)+n]
		if x.in.data = data; !x.countBody() {
			limit = 0
		}
	}
	x.in.data, b.buffered = data, data
	switch {
	case len(data) > limit:
		return nil, ErrBodyTooLarge
	case b.err != io.EOF:
		return nil, b.err
	}
	return data, nil
}

func (b *incoming) trailer() http1.Fields {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from == nil {
		return nil
	}
	return b.from.trailer()
}

// atEnd reports whether the whole body was read. b may be nil.
func (b *incoming) atEnd() bool {
	if b == nil || b.length == 0 {
		return true
	}
	if !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	return b.err == io.EOF
}

// finish stops other readers. The source then belongs to the caller.
func (b *incoming) finish() {
	b.over.Store(true)
	if !b.mu.TryLock() {
		if b.from != nil {
			b.from.wake()
		}
		b.mu.Lock()
	}
	b.buffered = nil
	b.mu.Unlock()
}

// broken reports whether the connection is known to be unusable after this body, which may
// still be read.
func (b *incoming) broken() bool {
	if !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	return b.refusal() != nil
}

// discardable reports whether the connection is usable after this body, which is no longer
// read.
func (b *incoming) discardable() bool {
	return b.err == io.EOF || b.err == nil && b.from.discardable()
}

// refusal returns the answer for a body that could not be read, or nil for one that was or
// still can be.
func (b *incoming) refusal() *http1.Error {
	var e *http1.Error
	switch {
	case b.err == nil || b.err == io.EOF:
		return nil
	case errors.As(b.err, &e):
		return e
	}
	return errBodyCut
}

var errBodyCut = &http1.Error{Status: 400, Reason: "body not whole"}

// maxDiscarded is how much of an unread body is discarded to keep the connection.
const maxDiscarded = 256 << 10

// drop reads the rest of the body and reports whether it is complete.
func (b *incoming) drop(scratch []byte) bool {
	for left := maxDiscarded; left >= 0; {
		n, err := b.pull(scratch)
		if left -= n; err != nil {
			return err == io.EOF
		}
	}
	return false
}
