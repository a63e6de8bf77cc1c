package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

var (
	// ErrCorrupt is returned for values that cannot be decoded.
	ErrCorrupt = errors.New("value: contradicts its flags or first bytes")
	// ErrTooLarge is returned for values that are larger than allowed when decoded.
	ErrTooLarge = errors.New("value: too large when decoded")
)

// ReasonOf returns the reason for an error of AppendPlain.
func ReasonOf(err error) Reason {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, ErrTooLarge):
		return TooLarge
	}
	return Corrupt
}

// Bounds of decompression: up to free bytes for any value, since memcached would hold as
// much uncompressed, and above that at most ratio times the value's size, so that an item
// cannot cost more than its writer could reasonably have saved.
const (
	free  = 1 << 20
	ratio = 256
)

// bound returns the maximum size of the decoded body, given a limit.
func (v *Value) bound(limit int64) int64 {
	return min(limit, max(free, ratio*int64(len(v.Body))))
}

// AppendPlain appends the decoded value to dst. It returns ErrTooLarge for a value of more
// than limit bytes, or one that is too large for its compressed size. With an error, dst is
// returned unchanged.
func (v *Value) AppendPlain(dst []byte, limit int64) ([]byte, error) {
	bound := v.bound(limit)
	if v.Length > bound {
		return dst, ErrTooLarge
	}
	start := len(dst)
	out, err := v.decode(dst, bound)
	if err == nil && v.Length >= 0 && int64(len(out)-start) != v.Length {
		err = ErrCorrupt
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

func (v *Value) decode(dst []byte, bound int64) ([]byte, error) {
	switch v.Coding {
	case Gzip:
		return decodeWith(&gzips, v, dst, bound)
	case Zlib:
		return decodeWith(&zlibs, v, dst, bound)
	case Zstd:
		return decodeWith(&zstds, v, dst, bound)
	case FastLZ:
		return appendFastLZ(dst, v.Body, int(v.Length))
	case Decimal:
		return v.appendDecimal(dst), nil
	}
	return append(dst, v.Body...), nil
}

// decoder is a reusable reader of one coding. It refers to no value between uses.
type decoder struct {
	in    bytes.Reader
	out   io.Reader
	reset func(in io.Reader) error
}

var (
	gzips = sync.Pool{New: func() any { return newGzip() }}
	zlibs = sync.Pool{New: func() any { return newZlib() }}
	zstds = sync.Pool{New: func() any { return newZstd() }}
)

func newGzip() *decoder {
	r := new(gzip.Reader)
	return &decoder{out: r, reset: r.Reset}
}

// emptyZlib is an empty stream, from which a reader of zlib is made.
var emptyZlib = []byte{0x78, 0x9c, 3, 0, 0, 0, 0, 1}

func newZlib() *decoder {
	r, err := zlib.NewReader(bytes.NewReader(emptyZlib))
	if err != nil {
		panic(err) // the stream above is valid
	}
	again := r.(zlib.Resetter)
	return &decoder{out: r, reset: func(in io.Reader) error { return again.Reset(in, nil) }}
}

// maxWindow is the largest window of a frame of zstd: the limit of decoders for HTTP.
const maxWindow = 8 << 20

// newZstd returns a decoder that works in the caller's goroutine.
func newZstd() *decoder {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		panic(err) // the options above are valid
	}
	return &decoder{out: r, reset: r.Reset}
}

func decodeWith(pool *sync.Pool, v *Value, dst []byte, bound int64) ([]byte, error) {
	d := pool.Get().(*decoder)
	d.in.Reset(v.Body)
	err := d.reset(&d.in)
	if err == nil {
		dst, err = appendFrom(dst, d.out, v.estimate(), bound)
	}
	if err == nil && d.in.Len() > 0 {
		err = ErrCorrupt
	}
	d.in.Reset(nil)
	pool.Put(d)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		err = ErrCorrupt
	}
	return dst, err
}

// estimate returns the probable size of the decoded value.
func (v *Value) estimate() int64 {
	switch {
	case v.Length >= 0:
		return v.Length
	case v.Coding == Gzip:
		return int64(binary.LittleEndian.Uint32(v.Body[len(v.Body)-4:]))
	}
	return 4 * int64(len(v.Body))
}

// appendFrom appends all of r, unless that is more than bound bytes.
func appendFrom(dst []byte, r io.Reader, likely, bound int64) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, int(min(likely, bound))+1) // and one to detect the end
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(len(dst)-start, bytes.MinRead))
		}
		end := min(int64(cap(dst)), int64(start)+bound+1)
		n, err := r.Read(dst[len(dst):end])
		dst = dst[:len(dst)+n]
		switch {
		case int64(len(dst)-start) > bound:
			return dst, ErrTooLarge
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}
