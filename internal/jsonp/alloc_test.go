package jsonp

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// hit has the state for answering requests from one stored body.
type hit struct {
	filter            *Filter
	body              []byte
	about             Body
	packed            *Packed
	query, tag, match []byte

	name, key, head, tail, lines, whole []byte
	answer                              Answer
}

func newHit(t testing.TB, set func(*Config)) *hit {
	h := &hit{filter: with(t, Dotted, set), body: []byte(strings.Repeat(`{"a":"b"},`, 100) + ls + "\n"), tag: []byte(`"0123456789abcdef"`)}
	h.about = scan(h.filter, string(h.body), 0)
	h.packed = pack(t, packer(t, h.filter), string(h.body), 0)
	h.query = []byte("id=7&callback=angular.callbacks%2E_0&_=1700000000000&lang=de")
	h.match = []byte(`"x", W/"0123456789abcdef;jp-0"`)
	for _, b := range []*[]byte{&h.name, &h.key, &h.head, &h.tail, &h.lines, &h.whole} {
		*b = make([]byte, 0, 4<<10)
	}
	h.answer = Answer{Status: 200, ContentType: []byte("application/json; charset=utf-8"), Kind: h.about.Kind}
	return h
}

// serve returns the number of bytes that it made, so that no call is optimized away.
func (h *hit) serve() int64 {
	f := h.filter
	name, status := f.Name(h.name, h.query)
	if f.Admit(&Request{Method: []byte("GET"), Name: status}) != Wrapped {
		return -1
	}
	key := f.Strip(h.key, h.query)
	why := f.Judge(&h.answer)
	c := f.Call(name, why, h.answer.Status)
	lines := c.AppendETag(c.AppendLines(h.lines), h.tag)
	if f.Drops([]byte("Cache-Control")) || c.NotModified(h.match, h.tag) || len(key)+len(lines) == 0 {
		return -1
	}
	whole := c.Append(h.whole, h.body, &h.about)
	head, tail := h.packed.Call(h.head, h.tail, &c)
	return int64(len(whole)+len(head)+len(tail)) + c.Length(&h.about) + h.packed.CallLength(&c)
}

func TestHitAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates by itself")
		return
	}
	for name, set := range map[string]func(*Config){
		"defaults": func(c *Config) { c.Strip = []string{"_"} },
		"all": func(c *Config) {
			c.Strip, c.Aliases, c.Names, c.Guard, c.Newline, c.Errors = []string{"_"}, []string{"jsonp"}, []string{"angular."}, true, true, Envelope
		},
	} {
		h := newHit(t, set)
		if n := testing.AllocsPerRun(100, func() {
			if h.serve() < 0 {
				t.Fatal("the request is not a hit")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// A writer that is reused allocates nothing.
func TestWriterAllocatesNothing(t *testing.T) {
	f := with(t, Dotted, nil)
	c := f.Call([]byte("f"), Wrapped, 200)
	var w Writer
	body := []byte(strings.Repeat("x"+ls, 10_000) + " \n")
	w.Reset(io.Discard, &c)
	if n := testing.AllocsPerRun(20, func() {
		w.Reset(io.Discard, &c)
		_, _ = w.Write(body)
		_ = w.Close()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkScan measures the scan of a stored body: text with and without characters that
// begin as separators do.
func BenchmarkScan(b *testing.B) {
	for name, unit := range map[string]string{"ascii": `{"a":"b"},`, "dashes": "a \u2014 b", "separators": "a" + ls} {
		b.Run(name, func(b *testing.B) {
			s := with(b, Dotted, nil).NewScanner()
			body := bytes.Repeat([]byte(unit), 100<<10/len(unit))
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				s.Reset()
				_, _ = s.Write(body) // no error is possible
			}
		})
	}
}

func BenchmarkHit(b *testing.B) {
	h := newHit(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		h.serve()
	}
}
