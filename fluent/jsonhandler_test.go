package fluent

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/forward"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

func TestFallbackJSON(t *testing.T) {
	b := newBatch("app.\"x\"", 0)
	for i := range 2 {
		entry := msgpack.AppendEventTime([]byte{0x92}, time.Unix(1700000000, int64(i)*500_000_000))
		r, err := new(Record).Int("i", i).Str("s", "a\nb").payload()
		if err != nil {
			t.Fatal(err)
		}
		b.entries = append(append(b.entries, entry...), r...)
		b.records++
	}
	data, err := forward.AppendSingles(nil, &forward.Message{Tag: b.tag, Entries: b.entries})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	h := NewFallbackJSONHandler(&out)
	const want = `["app.\"x\"",1700000000,{"i":0,"s":"a\nb"}]
["app.\"x\"",1700000000.5,{"i":1,"s":"a\nb"}]
`
	for range 2 {
		out.Reset()
		if err := h.HandleError(errors.New("down"), data); err != nil || out.String() != want {
			t.Fatalf("got %v\n%s", err, out.String())
		}
	}
	if err := h.HandleError(nil, data[:len(data)-1]); !errors.Is(err, msgpack.ErrShort) || out.String() != want {
		t.Fatalf("half a message: %v, and the output is\n%s", err, out.String())
	}
}

// brokenWriter fails every write.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestFallbackJSONFailure(t *testing.T) {
	f := func(err, want error) {
		t.Helper()
		h := NewFallbackJSONHandler(brokenWriter{err})
		if err := h.HandleError(nil, []byte{0x90}); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	f(os.ErrClosed, os.ErrClosed)
	f(nil, io.ErrShortWrite)
}
