package accel

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/kasoku/kasoku/internal/telemetry"
)

const (
	// maxDecoded is DynamoDB's limit for the decoded size of a compressed request.
	maxDecoded = 16 << 20
	// minEncoded is the minimum size of a compressed reply.
	minEncoded = 4 << 10
)

// decode decodes the body of a request with a Content-Encoding. It reports false if it has
// answered with an error.
func (c *call) decode() bool {
	encoding := c.x.Request.Get("Content-Encoding")
	if len(encoding) == 0 {
		return true
	}
	var r io.Reader
	var err error
	switch strings.ToLower(string(encoding)) {
	case "identity":
		return true
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(c.x.Body))
	case "deflate":
		r, err = inflater(c.x.Body)
	}
	if r == nil || err != nil {
		c.fail("SerializationException", "")
		return false
	}
	body, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	if err != nil {
		c.fail("SerializationException", "")
		return false
	}
	if len(body) > maxDecoded {
		c.x.Reply.Status = http.StatusRequestEntityTooLarge
		c.status(telemetry.Local, nil, false)
		return false
	}
	c.x.Body = body
	return true
}

// inflater reads HTTP's deflate encoding: a zlib stream or, from some clients, a raw deflate
// stream.
func inflater(body []byte) (io.Reader, error) {
	if len(body) >= 2 && body[0]&0x0f == 8 && (uint(body[0])<<8|uint(body[1]))%31 == 0 {
		return zlib.NewReader(bytes.NewReader(body))
	}
	return flate.NewReader(bytes.NewReader(body)), nil
}

// compressor writes one encoding.
type compressor interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// encoding is a content encoding for replies.
type encoding struct {
	name        string
	compressors sync.Pool
}

var encodings = [...]*encoding{
	{"gzip", sync.Pool{New: func() any { w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return w }}},
	{"deflate", sync.Pool{New: func() any { w, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed); return w }}},
}

// encode compresses a large reply if the client accepts it. The checksum covers the
// compressed body.
func (c *call) encode() {
	r := &c.x.Reply
	if len(r.Body) <= minEncoded || c.encoded {
		return
	}
	e := negotiate(c.x.Request.Get("Accept-Encoding"))
	if e == nil {
		return
	}
	w := e.compressors.Get().(compressor)
	var out bytes.Buffer
	w.Reset(&out)
	_, _ = w.Write(r.Body) // writing to a buffer never fails
	_ = w.Close()
	w.Reset(io.Discard) // releases the buffer
	e.compressors.Put(w)
	r.Body = out.Bytes()
	r.Remove("x-amz-crc32", "X-Amz-Crc32")
	r.FieldUint("x-amz-crc32", uint64(crc32.ChecksumIEEE(r.Body)))
	r.Field("Content-Encoding", e.name)
}

// negotiate returns the first encoding in an Accept-Encoding that is supported for replies,
// or nil. "*" matches those that the field doesn't name.
func negotiate(accept []byte) *encoding {
	for part := range bytes.SplitSeq(accept, []byte(",")) {
		name, quality, _ := bytes.Cut(part, []byte(";"))
		name = bytes.TrimSpace(name)
		for _, e := range encodings {
			if (e.is(name) || string(name) == "*" && !e.isNamed(accept)) && !isRefused(quality) {
				return e
			}
		}
	}
	return nil
}

func (e *encoding) is(name []byte) bool {
	return len(name) == len(e.name) && bytes.EqualFold(name, []byte(e.name))
}

// isNamed reports whether an Accept-Encoding names the encoding.
func (e *encoding) isNamed(accept []byte) bool {
	for part := range bytes.SplitSeq(accept, []byte(",")) {
		name, _, _ := bytes.Cut(part, []byte(";"))
		if e.is(bytes.TrimSpace(name)) {
			return true
		}
	}
	return false
}

// isRefused reports whether the quality of an encoding is zero.
func isRefused(quality []byte) bool {
	q, ok := bytes.CutPrefix(bytes.TrimSpace(quality), []byte("q="))
	return ok && len(bytes.Trim(q, "0.")) == 0
}
