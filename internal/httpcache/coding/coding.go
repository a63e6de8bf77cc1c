// Package coding implements the content codings in which stored responses are offered, and
// decides which responses to encode.
package coding

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Names are the supported codings, usually from smallest to largest result.
var Names = []string{"br", "zstd", "gzip"}

// Ordered returns the supported codings among names, in the order of Names.
func Ordered(names []string) []string {
	var out []string
	for _, n := range Names {
		if slices.Contains(names, n) {
			out = append(out, n)
		}
	}
	return out
}

// Writer encodes its input. Close ends the body without closing the underlying writer; Reset
// begins another body.
type Writer interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// The compression levels take a few milliseconds for 100 KiB, which is acceptable for a body
// encoded once and sent many times. The next levels take several times as long for one
// hundredth less.
const (
	brotliLevel = 5
	gzipLevel   = 6
)

// window is the window size of the zstd encoder. Clients need not support more than 8 MiB.
const window = 1 << 20

// NewWriter returns a writer for one of Names.
func NewWriter(name string) (Writer, error) {
	switch name {
	case "br":
		return brotli.NewWriterLevel(nil, brotliLevel), nil
	case "gzip":
		return gzip.NewWriterLevel(nil, gzipLevel)
	case "zstd":
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	}
	return nil, fmt.Errorf("coding: %q is none of %v", name, Names)
}

// texts are media types beside text/* with textual content.
var texts = []string{
	"application/javascript", "application/json", "application/manifest+json", "application/rtf", "application/wasm",
	"application/x-javascript", "application/x-ndjson", "application/xml", "application/vnd.ms-fontobject",
	"font/otf", "font/ttf", "image/bmp", "image/svg+xml", "image/x-icon",
}

// Fits reports whether content of this type is worth compressing: text and similar formats.
// An event stream is not, because events must not wait for the end of a block.
func Fits(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte{';'})
	kind = bytes.ToLower(bytes.TrimSpace(kind))
	switch {
	case string(kind) == "text/event-stream":
		return false
	case bytes.HasPrefix(kind, []byte("text/")), bytes.HasSuffix(kind, []byte("+json")), bytes.HasSuffix(kind, []byte("+xml")):
		return true
	}
	return slices.Contains(texts, string(kind))
}
