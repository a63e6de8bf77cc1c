package coding

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// A body may be much when little came, and very much when much came.
func TestReaderIsBounded(t *testing.T) {
	f := func(contentEncoding, body string, want error) {
		t.Helper()
		packed := []byte(body)
		for _, name := range strings.Split(contentEncoding, ", ") {
			w, err := NewWriter(name)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			w.Reset(&b)
			if _, err := w.Write(packed); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			packed = b.Bytes()
		}
		r, err := NewReader(contentEncoding, bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r)
		if err != want || want == nil && n != int64(len(body)) || n > int64(len(body)) {
			t.Errorf("%s of %d in %d: %d, %v; want %v", contentEncoding, len(body), len(packed), n, err, want)
		}
	}
	zeros := func(n int) string { return strings.Repeat("0", n) }
	for _, name := range []string{"gzip", "br", "zstd", "gzip, gzip"} {
		f(name, zeros(free), nil)
		f(name, zeros(free+1<<20), ErrTooMuch)
	}
	var b strings.Builder // a hundredth of it is not to be compressed
	for i := range 2 * free / 3200 {
		x := uint32(i) * 2654435761
		for range 8 {
			x = x*1664525 + 1013904223
			b.WriteString(string([]byte{byte(x >> 24), byte(x >> 16), byte(x >> 8), byte(x >> 20)}))
		}
		b.WriteString(zeros(3168))
	}
	f("gzip", b.String(), nil)
}
