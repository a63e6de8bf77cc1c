package forward

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compression is the compression of the entries of a message.
type Compression int

// The compressions that servers support.
const (
	NoCompression Compression = iota
	Gzip
	Zstd
)

// name returns the value of the option "compressed".
func (c Compression) name() string {
	if c == Zstd {
		return "zstd"
	}
	return "gzip"
}

// append appends b compressed. Compressors are shared by all connections: each has hundreds
// of KiB of tables, and is in use only while a batch is written.
func (c Compression) append(dst, b []byte) ([]byte, error) {
	if c == Zstd {
		return zstdEncoder().EncodeAll(b, dst), nil
	}
	out := bytes.NewBuffer(dst)
	z := gzips.Get().(*gzip.Writer)
	defer gzips.Put(z)
	z.Reset(out)
	if _, err := z.Write(b); err != nil {
		return dst, err
	}
	err := z.Close()
	return out.Bytes(), err
}

// The fastest level compresses repetitive text such as logs well enough; a slower one would
// cost the logging program more than the network gains.
var gzips = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level exists
	}
	return z
}}

// zstdEncoder is shared: EncodeAll may be called concurrently.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options exist
	}
	return z
})
