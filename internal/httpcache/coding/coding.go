// Package coding has the content codings that stored responses are offered in, and
// says which responses are worth it.
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

// Names are the codings, the one that usually makes the smallest bodies first.
var Names = []string{"br", "zstd", "gzip"}

// Ordered returns those of names that are codings here, in the order of Names.
func Ordered(names []string) []string {
	var out []string
	for _, n := range Names {
		if slices.Contains(names, n) {
			out = append(out, n)
		}
	}
	return out
}

// Writer encodes what is written to it. Close ends the body and not what lies
// below; Reset begins another one.
type Writer interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// Levels that take a few milliseconds for 100 KiB: what is made once and sent many
// times may cost that, and the next levels cost several times as much for one
// hundredth less.
const (
	brotliLevel = 5
	gzipLevel   = 6
)

// window is how far back an encoder of zstd looks. Clients need not take more than 8 MiB.
const window = 1 << 20

// NewWriter makes a writer for one of Names.
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

// texts are media types beside text/* whose content is text.
var texts = []string{
	"application/javascript", "application/json", "application/manifest+json", "application/rtf", "application/wasm",
	"application/x-javascript", "application/x-ndjson", "application/xml", "application/vnd.ms-fontobject",
	"font/otf", "font/ttf", "image/bmp", "image/svg+xml", "image/x-icon",
}

// Fits tells whether content of this type gets smaller: text, and what is like it. A
// stream of events must not wait for the end of a block, and does not fit.
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
