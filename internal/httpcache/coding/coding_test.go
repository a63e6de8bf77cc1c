package coding

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decode decodes b with the coding of that name.
func decode(t *testing.T, name string, b []byte) string {
	t.Helper()
	var r io.Reader
	var err error
	switch in := bytes.NewReader(b); name {
	case "br":
		r = brotli.NewReader(in)
	case "gzip":
		r, err = gzip.NewReader(in)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
		}
		r = d
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

// A writer that is reused writes complete bodies that do not depend on earlier ones.
func TestWriters(t *testing.T) {
	for _, name := range Names {
		w, err := NewWriter(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "a", strings.Repeat("hello, world. ", 10_000), "again"} {
			var b bytes.Buffer
			w.Reset(&b)
			for s := text; len(s) > 0; s = s[min(len(s), 1000):] {
				if _, err := io.WriteString(w, s[:min(len(s), 1000)]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := decode(t, name, b.Bytes()); got != text {
				t.Fatalf("%s: %d bytes were decoded to %d", name, len(text), len(got))
			}
			if len(text) > 1000 && b.Len() > len(text)/10 {
				t.Errorf("%s: %d bytes were encoded to %d, want less than a tenth", name, len(text), b.Len())
			}
		}
	}
	if _, err := NewWriter("compress"); err == nil {
		t.Error("an unknown coding was accepted")
	}
}

func TestOrdered(t *testing.T) {
	if got := Ordered([]string{"gzip", "x", "br"}); !slices.Equal(got, []string{"br", "gzip"}) {
		t.Errorf("got %v, want br, gzip", got)
	}
	if got := Ordered(nil); got != nil {
		t.Errorf("Ordered(nil) = %v, want nil", got)
	}
}

func TestFits(t *testing.T) {
	f := func(contentType string, want bool) {
		t.Helper()
		if got := Fits([]byte(contentType)); got != want {
			t.Fatalf("Fits(%q) = %v, want %v", contentType, got, want)
		}
	}
	f("text/html", true)
	f("Text/HTML ; charset=utf-8", true)
	f("application/json", true)
	f("application/problem+json", true)
	f("image/svg+xml;x=y", true)
	f("text/event-stream", false)
	f("image/png", false)
	f("application/octet-stream", false)
	f("", false)
}
