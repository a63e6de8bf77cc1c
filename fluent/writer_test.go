package fluent

import (
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/fluent/internal/race"
)

func TestWriter(t *testing.T) {
	f := func(opts *WriterOptions, want string, writes ...string) {
		t.Helper()
		s := &keeper{t: t}
		w := newWriter(s, "app.log", opts)
		for _, p := range writes {
			if n, err := io.WriteString(w, p); n != len(p) || err != nil {
				t.Fatalf("%q: %d, %v", p, n, err)
			}
		}
		s.bodies = append(s.bodies, []byte("\xa5Close"))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.take(), " "); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
	f(nil, `{"message":"one"} {"message":"two"} "Close"`, "one\ntwo\n")
	f(nil, `{"message":"one"} "Close" {"message":"two"}`, "o", "", "ne\nt", "wo")
	f(nil, `{"message":"one"} {"message":"a\rb"} "Close"`, "one\r\n", "\n\r\n\n", "a\rb\n")
	f(nil, `{"message":"one"} "Close"`, "one\r", "\n")
	f(nil, `"Close"`)
	f(&WriterOptions{Key: "log"}, `{"log":"one"} "Close"`, "one\n")

	four := &WriterOptions{MaxLine: 4}
	f(four, `{"message":"1234"} {"message":"1234","partial":true} {"message":"5"} "Close"`, "1234\n", "12345\n")
	f(four, `{"message":"1234"} "Close"`, "12", "34", "\n")
	f(four, `{"message":"1234","partial":true} {"message":"5678","partial":true} "Close" {"message":"9"}`, "123", "456", "789")
	f(four, `{"message":"1234","partial":true} "Close" {"message":"56"}`, "1234", "56")
	f(four, `{"message":"éa","partial":true} {"message":"éb"} "Close"`, "éaéb\n")
	f(four, `{"message":"abc","partial":true} {"message":"é"} "Close"`, "abcé\n")
	f(four, `{"message":"abc","partial":true} {"message":"é"} "Close"`, "abc", "é", "\n")
	f(&WriterOptions{MaxLine: 1}, `{"message":"a","partial":true} {"message":"b"} "Close"`, "ab\n")
}

// TestWriterRefused checks that the bytes that Write counts are posted once, and the others
// can be written again.
func TestWriterRefused(t *testing.T) {
	s := &keeper{t: t}
	w := newWriter(s, "app", nil)
	if _, err := io.WriteString(w, "be"); err != nil {
		t.Fatal(err)
	}
	s.refuse = 1
	const text = "gin\nmiddle\nend"
	if n, err := io.WriteString(w, text); n != 0 || err != errRefused {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := io.WriteString(w, text); n != len(text) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	s.refuse = 1
	if err := w.Close(); err != errRefused {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.take(), " "); got != `{"message":"begin"} {"message":"middle"} {"message":"end"}` {
		t.Fatal(got)
	}
	if n, err := io.WriteString(w, "late\n"); n != 0 || err != ErrClosed {
		t.Fatalf("after Close: %d, %v", n, err)
	}
	if err := w.Close(); err != nil || len(s.take()) != 0 {
		t.Fatalf("a second Close: %v", err)
	}
}

// TestWriterPieces checks that however a text is cut into writes, and wherever
// posts are refused, the same text arrives.
func TestWriterPieces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\né日\r")), 0, 60, -1).Draw(r, "text")
		limit := rapid.IntRange(1, 10).Draw(r, "limit")
		got := &joiner{r: r}
		w := newWriter(got, "app", &WriterOptions{MaxLine: limit})
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "write")
			got.refuse = rapid.Bool().Draw(r, "refuse")
			n, err := io.WriteString(w, rest[:n])
			if err != nil && err != errRefused {
				r.Fatal(err)
			}
			rest = rest[n:]
		}
		got.refuse = false
		if err := w.Close(); err != nil {
			r.Fatal(err)
		}
		var want strings.Builder
		for line := range strings.SplitSeq(text, "\n") {
			want.WriteString(line)
		}
		drop := strings.NewReplacer("\r", "")
		if g, w := drop.Replace(got.text.String()), drop.Replace(want.String()); g != w {
			r.Fatalf("got %q, want %q", g, w)
		}
		if got.longest > limit {
			r.Fatalf("a piece has %d bytes, more than %d", got.longest, limit)
		}
	})
}

func TestWriterConcurrent(t *testing.T) {
	s := &keeper{t: t}
	w := newWriter(s, "app", nil)
	l := log.New(w, "", 0)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range 50 {
				l.Printf("line %d of %d", j, i)
			}
		}()
	}
	wg.Wait()
	count := map[string]int{}
	for _, r := range s.take() {
		count[r]++
	}
	for i := range 4 {
		for j := range 50 {
			if r := fmt.Sprintf(`{"message":"line %d of %d"}`, j, i); count[r] != 1 {
				t.Errorf("%s: %d times", r, count[r])
			}
		}
	}
	if len(count) != 200 {
		t.Errorf("%d different records", len(count))
	}
}

func TestWriterAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	w := newWriter(&discard{}, "app", nil)
	p := []byte("a line\nand another\nand a part")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := w.Write(p); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
