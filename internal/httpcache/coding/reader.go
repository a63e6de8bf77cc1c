package coding

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxCodings is the maximum number of nested codings.
const maxCodings = 3

// ErrTooMuch is returned by readers of a body that expands too much.
var ErrTooMuch = errors.New("coding: the body expands too much")

// Limits for decoded bodies: up to free bytes for any input, and beyond that at most ratio
// times the input, as a protection against compression bombs.
const (
	free  = 8 << 20
	ratio = 256
)

// NewReader returns a reader that decodes r, which has the given Content-Encoding. It may
// read from r at once. It fails if a coding is unsupported; reading fails with ErrTooMuch.
func NewReader(contentEncoding string, r io.Reader) (io.Reader, error) {
	names := strings.Split(contentEncoding, ",")
	if len(names) > maxCodings {
		return nil, fmt.Errorf("coding: %d codings on top of each other", len(names))
	}
	var err error
	from := &counter{r: r}
	r = from
	for i := len(names) - 1; i >= 0 && err == nil; i-- { // the last coding was applied last
		r, err = newReader(strings.ToLower(strings.TrimSpace(names[i])), r)
	}
	return &bounded{r: r, from: from}, err
}

// counter counts the bytes read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded fails if the body expands too much.
type bounded struct {
	r    io.Reader
	from *counter
	n    int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n += int64(n); b.n > max(free, ratio*b.from.n) {
		return 0, ErrTooMuch
	}
	return n, err
}

func newReader(name string, r io.Reader) (io.Reader, error) {
	switch name {
	case "identity", "":
		return r, nil
	case "br":
		return brotli.NewReader(r), nil
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "zstd":
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	case "deflate":
		return inflate(r)
	}
	return nil, fmt.Errorf("coding: %q is not known", name)
}

// maxWindow is the maximum window size of a zstd body (RFC 9659).
const maxWindow = 8 << 20

// inflate decodes deflate, which is in zlib format (RFC 9110, section 8.4.1.2). It also
// accepts raw deflate, which some servers send.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}
