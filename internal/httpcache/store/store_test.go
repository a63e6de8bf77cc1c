package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

func TestFindAfterFill(t *testing.T) {
	s := open(t, Limits{})
	q := get("http://h/a")
	if f := s.Find(q); f.Object != nil || f.Miss != MissURI || f.Uncacheable {
		t.Fatalf("an empty store returned %+v", f)
	}
	o := fill(t, s, q, "hello", "ETag", `"1"`, "Age", "7", "Content-Length", "5")
	want := "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\n"
	if string(o.Head.Lines) != want {
		t.Errorf("a hit has the fields %q, want %q", o.Head.Lines, want)
	}
	if f := s.Find(get("http://h/b")); f.Object != nil {
		t.Error("found under another URL")
	}
}

// wantFound looks q up and compares the body; "" for none.
func wantFound(t *testing.T, s *Store, q *Query, want string) Found {
	t.Helper()
	f := s.Find(q)
	got := ""
	if f.Object != nil {
		got = text(f.Object)
	}
	if got != want {
		t.Fatalf("%s with %s: found %q (%+v), want %q", q.Key, q.Fields, got, f, want)
	}
	return f
}

func TestVariants(t *testing.T) {
	s := open(t, Limits{})
	in := func(language string) *Query { return get("http://h/a", "Accept-Language", language) }
	fill(t, s, in("de"), "Hallo", "Vary", "Accept-Language")
	fill(t, s, in("fr"), "Salut", "Vary", "Accept-Language")
	wantFound(t, s, in("de"), "Hallo")
	wantFound(t, s, in(" DE "), "Hallo")
	wantFound(t, s, in("fr"), "Salut")
	if f := wantFound(t, s, in("it"), ""); f.Miss != MissVary {
		t.Errorf("the kind of miss is %d, want %d", f.Miss, MissVary)
	}
	wantFound(t, s, get("http://h/a"), "")
	fill(t, s, in("de"), "Moin", "Vary", "Accept-Language")
	wantFound(t, s, in("de"), "Moin")
	if r := s.resource(get("http://h/a").Key); len(r.variants) != 2 {
		t.Errorf("%d variants are stored; want 2", len(r.variants))
	}
	s.Drop(in("de").Key, s.Find(in("de")).Object)
	wantFound(t, s, in("de"), "")
	wantFound(t, s, in("fr"), "Salut")
	s.Drop(in("fr").Key, s.Find(in("fr")).Object)
	if n := s.space.Usage().Entries; n != 0 {
		t.Errorf("%d resources without variants are stored, want 0", n)
	}
}

// Of several variants that match, the one with the latest Date is returned, in whichever
// order they are stored. A negotiated one precedes one that was not.
func TestBestVariant(t *testing.T) {
	date := func(second string) []string { return []string{"Date", "Fri, 15 Jan 2027 08:00:" + second + " GMT"} }
	put := func(s *Store, body string, fields ...string) {
		q := get("http://h/a", "A", "1", "B", "1")
		f := http1.FieldsOf(append([]string{"Cache-Control", "max-age=60"}, fields...)...)
		put(t, s, q, NewHead(policy.ParseResponse(200, f, noon, noon, &options), f, q.Fields, &options), body)
	}
	f := func(want string, order ...int) {
		t.Helper()
		s := open(t, Limits{})
		responses := []func(){
			func() { put(s, "plain", date("09")...) },
			func() { put(s, "early", append(date("01"), "Vary", "A")...) },
			func() { put(s, "late", append(date("05"), "Vary", "B")...) },
		}
		for _, i := range order {
			responses[i]()
		}
		wantFound(t, s, get("http://h/a", "A", "1", "B", "1"), want)
	}
	f("late", 0, 1, 2)
	f("late", 2, 1, 0)
	f("late", 1, 2)
	f("early", 0, 1)
	f("early", 1, 0)
	f("plain", 0)
}

// variantsOf returns the variants under a URL.
func (s *Store) variantsOf(url string) []*Object {
	if r := s.resource(get(url).Key); r != nil {
		return r.variants
	}
	return nil
}

// A variant keeps its own fence when another one is stored.
func TestVariantsKeepTheirFences(t *testing.T) {
	s := open(t, Limits{})
	one, two := get("http://h/a", "A", "1"), get("http://h/a", "A", "2")
	o := fill(t, s, one, "one", "Vary", "A")
	s.Invalidate(context.Background(), one.Key)
	fill(t, s, two, "two", "Vary", "A")
	if f := wantFound(t, s, one, ""); f.Miss == MissURI {
		t.Errorf("the kind of miss is %d", f.Miss)
	}
	wantFound(t, s, two, "two")
	// An invalidated variant is not found even if the resource still lists it.
	s.replace(one.Key, func(r *Resource) *Resource { return r.with(o) })
	if f := wantFound(t, s, one, ""); f.Miss != MissRemoved {
		t.Errorf("the kind of miss is %d, want %d", f.Miss, MissRemoved)
	}
	fill(t, s, two, "two again", "Vary", "A")
	if n := len(s.variantsOf("http://h/a")); n != 1 {
		t.Errorf("%d variants are stored, want 1 without the invalidated one", n)
	}
}

// FindInvalidated returns an invalidated object, and no valid one.
func TestFindInvalidated(t *testing.T) {
	s, q := open(t, Limits{}), get("http://h/a")
	if o := s.FindInvalidated(q); o != nil {
		t.Errorf("got %q from an empty store", text(o))
	}
	fill(t, s, q, "one")
	if o := s.FindInvalidated(q); o != nil {
		t.Errorf("got %q, which is valid", text(o))
	}
	s.Invalidate(context.Background(), q.Key)
	if o := s.FindInvalidated(q); o == nil || text(o) != "one" {
		t.Error("the invalidated object was not returned")
	}
}

func TestNumberOfVariantsIsBounded(t *testing.T) {
	s := open(t, Limits{})
	in := func(i int) *Query { return get("http://h/a", "A", fmt.Sprint(i)) }
	for i := range maxVariants + 10 {
		q := in(i)
		f := http1.FieldsOf("Cache-Control", "max-age=60", "Vary", "A")
		put(t, s, q, NewHead(policy.ParseResponse(200, f, noon+policy.Moment(i), noon+policy.Moment(i), &options), f, q.Fields, &options), fmt.Sprint(i))
	}
	if n := len(s.variantsOf("http://h/a")); n != maxVariants {
		t.Fatalf("%d variants are stored; want %d", n, maxVariants)
	}
	wantFound(t, s, in(9), "")
	wantFound(t, s, in(10), "10")
	wantFound(t, s, in(maxVariants+9), fmt.Sprint(maxVariants+9))
}

// A part is found if the whole is not stored, and never replaces it.
func TestParts(t *testing.T) {
	s := open(t, Limits{})
	part := func(body, contentRange string) {
		q := get("http://h/a")
		f := http1.FieldsOf("Cache-Control", "max-age=60", "Content-Range", contentRange)
		put(t, s, q, NewHead(policy.ParseResponse(206, f, noon, noon, &options), f, q.Fields, &options), body)
	}
	part("ab", "bytes 0-1/6")
	part("cd", "bytes 2-3/6")
	part("CD", "bytes 2-3/6")
	seen := map[string]bool{}
	s.Parts(get("http://h/a"), func(o *Object) bool { seen[text(o)] = true; return true })
	if len(seen) != 2 || !seen["ab"] || !seen["CD"] {
		t.Errorf("the parts are %v, want ab and CD", seen)
	}
	if f := s.Find(get("http://h/a")); f.Object == nil || !f.Object.IsPart() {
		t.Errorf("found %+v", f)
	}
	put(t, s, get("http://h/a"), head(get("http://h/a")), "abCDef")
	part("ef", "bytes 4-5/6")
	wantFound(t, s, get("http://h/a"), "abCDef")
}

// A new head for the same body keeps the fence and the mark. It is ignored if the old head
// was replaced.
func TestUpdate(t *testing.T) {
	s := open(t, Limits{})
	q := get("http://h/a")
	o := fill(t, s, q, "body", "ETag", `"1"`)
	o.SetMark(policy.Outdated)
	next := s.Update(q.Key, o, head(q, "ETag", `"1"`, "X", "new"))
	f := wantFound(t, s, q, "body")
	if f.Object != next || f.Object.Mark() != policy.Outdated || !bytes.Contains(next.Head.Lines, []byte("X: new")) {
		t.Errorf("found %+v", f.Object)
	}
	s.Update(q.Key, o, head(q))
	if f := wantFound(t, s, q, "body"); f.Object != next {
		t.Error("an update of a replaced object took effect")
	}
	s.Invalidate(context.Background(), q.Key)
	s.Update(q.Key, next, head(q))
	wantFound(t, s, q, "")
}

func TestMark(t *testing.T) {
	s := open(t, Limits{})
	q := func(a string, now policy.Moment) *Query {
		q := get("http://h/a", "A", a)
		q.Now = now
		return q
	}
	want := func(q *Query, marked bool) {
		t.Helper()
		if f := s.Find(q); f.Uncacheable != marked {
			t.Fatalf("%s: marked %v, want %v", q.Fields, f.Uncacheable, marked)
		}
	}
	mark := func(a string) { s.MarkUncacheable(q(a, 0).Key, head(q(a, 0), "Vary", "A"), noon, 90*time.Second) }
	want(q("1", noon), false)
	mark("1")
	want(q("1", noon), true)
	want(q("1", noon.Add(90*time.Second-time.Microsecond)), true)
	want(q("1", noon.Add(90*time.Second)), false)
	want(q("2", noon), false)
	mark("2")
	want(q("1", noon), true)
	fill(t, s, q("2", noon), "two", "Vary", "A")
	s.Drop(q("2", noon).Key, s.Find(q("2", noon)).Object)
	want(q("2", noon), false) // the stored answer removed the mark
	want(q("1", noon), true)
	for i := range 2 * maxVariants {
		mark(fmt.Sprint("x", i))
	}
	if n := len(s.resource(q("", 0).Key).markers); n != maxVariants {
		t.Errorf("%d markers are kept, want %d", n, maxVariants)
	}
}

// A mark only grows.
func TestSetMark(t *testing.T) {
	o := NewObject(head(get("http://h/")), NewBody(), Fence{})
	for _, m := range []policy.Mark{policy.Outdated, policy.Invalid, policy.Outdated, policy.Unmarked} {
		o.SetMark(m)
	}
	if o.Mark() != policy.Invalid {
		t.Errorf("the mark is %d, want %d", o.Mark(), policy.Invalid)
	}
}

func TestRefreshFailed(t *testing.T) {
	o := NewObject(head(get("http://h/")), NewBody(), Fence{})
	if !o.MayRefresh(noon) {
		t.Error("a new object may not be refreshed")
	}
	o.RefreshFailed(noon + 5)
	if o.MayRefresh(noon+4) || !o.MayRefresh(noon+5) {
		t.Error("the pause does not end at the time of RefreshFailed")
	}
}

// A look-up takes no lock and allocates nothing, whatever its result.
func TestFindAllocates(t *testing.T) {
	if race.Enabled {
		return
	}
	s := open(t, Limits{})
	plain, varied := get("http://h/a"), get("http://h/b", "Accept-Encoding", "gzip, br", "Accept-Language", "de, en;q=0.5")
	fill(t, s, plain, "a", "Surrogate-Key", "x y z")
	fill(t, s, varied, "b", "Vary", "Accept-Encoding, Accept-Language")
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Tag, "none")})
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/none")})
	for name, q := range map[string]*Query{
		"hit": plain, "variant": varied, "miss": get("http://h/c"),
		"vary miss": get("http://h/b", "Accept-Encoding", "zstd"),
	} {
		s.Find(q)
		if n := testing.AllocsPerRun(1000, func() { q.resetNormalized(); s.Find(q) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// resetNormalized drops the normalized values, as between two requests.
func (q *Query) resetNormalized() {
	key, fields, now, o := q.Key, q.Fields, q.Now, q.Options
	q.Reset()
	q.Key, q.Fields, q.Now, q.Options = key, fields, now, o
}

// The weight of a resource is near the memory that it takes.
func TestWeight(t *testing.T) {
	s := open(t, Limits{})
	fill(t, s, get("http://h/a"), strings.Repeat("x", 100_000), "A", strings.Repeat("y", 1000))
	if w := s.resource(get("http://h/a").Key).weight(); w < 102_000 || w > 106_000 {
		t.Errorf("100,000 bytes of body and 1,000 of field weigh %d", w)
	}
}

func TestBody(t *testing.T) {
	b := NewBody([]byte("abc"), []byte("de"), []byte("fghi"))
	f := func(from, n int64, want string) {
		t.Helper()
		var got strings.Builder
		if err := b.WriteRange(&got, from, n); err != nil || got.String() != want {
			t.Fatalf("%d bytes from %d are %q, %v; want %q", n, from, got.String(), err, want)
		}
	}
	f(0, 9, "abcdefghi")
	f(0, 0, "")
	f(0, 3, "abc")
	f(2, 2, "cd")
	f(3, 2, "de")
	f(4, 5, "efghi")
	f(8, 1, "i")
	if _, ok := b.Bytes(); ok || b.Len() != 9 {
		t.Errorf("the body is contiguous, or has %d bytes", b.Len())
	}
	if one, ok := NewBody([]byte("abc")).Bytes(); !ok || string(one) != "abc" {
		t.Error("a body of one piece is not contiguous")
	}
	if none, ok := NewBody().Bytes(); !ok || len(none) != 0 {
		t.Error("an empty body is not contiguous")
	}
	if err := b.WriteRange(failing{}, 0, 9); err != io.ErrShortWrite {
		t.Errorf("a failed write returned %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// A body that is used a second time moves to pages, if there are any and its length is
// suitable, and keeps its bytes.
func TestAcquire(t *testing.T) {
	f := func(moves bool, sizes ...int) {
		t.Helper()
		var in [][]byte
		var want strings.Builder
		for i, n := range sizes {
			p := strings.Repeat(string(rune('a'+i%26)), n)
			in = append(in, []byte(p))
			want.WriteString(p)
		}
		b := NewBody(in...)
		weight := b.weight()
		if w, n := weight, b.Len(); w < n || w > n+70_000 {
			t.Fatalf("%d bytes weigh %d", n, w)
		}
		b.Acquire()
		first := b.mem.Load().run
		b.Acquire()
		run := b.mem.Load().run
		held, _, ok := b.Acquire()
		if again := b.mem.Load().run; first != nil || again != run || (run != nil) != (moves && runtime.GOOS == "linux") {
			t.Fatalf("%v: the pages are %v after the first use, then %v, then %v", sizes, first, run, b.mem.Load().run)
		}
		if run != nil && (!ok || string(held) != want.String() || !run.Holds(held)) {
			t.Fatalf("%v: Acquire returned %d wrong bytes", sizes, len(held))
		}
		var got strings.Builder
		b.WriteRange(&got, 0, b.Len())
		if got.String() != want.String() || b.weight() != weight {
			t.Fatalf("%v: WriteRange wrote %d wrong bytes, or the weight was %d and is %d", sizes, got.Len(), weight, b.weight())
		}
		if read, err := io.ReadAll(b.mem.Load().Reader()); err != nil || string(read) != want.String() {
			t.Fatalf("%v: Reader returned %d wrong bytes, %v", sizes, len(read), err)
		}
	}
	f(false, minPaged-1)
	f(true, minPaged)
	f(true, minPaged-1, 1)
	f(true, 1<<20, 1<<20, 3)
	f(true, maxPaged)
	f(false, maxPaged, 1)
}

// A body may move to pages while it is read.
func TestAcquireConcurrently(t *testing.T) {
	want := strings.Repeat("0123456789abcdef", 10_000)
	for range 20 {
		b := NewBody([]byte(want[:70_000]), []byte(want[70_000:]))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 3 {
					if held, _, ok := b.Acquire(); ok && string(held) != want {
						t.Error("Acquire returned wrong bytes")
					}
					var got strings.Builder
					if b.WriteRange(&got, 0, b.Len()); got.String() != want {
						t.Error("WriteRange wrote wrong bytes")
					}
				}
			})
		}
		wg.Wait()
	}
}

// A body's memory is not much more than its bytes.
func TestGather(t *testing.T) {
	f := func(pieces int, sizes ...int) {
		t.Helper()
		var in [][]byte
		want := ""
		for i, n := range sizes {
			p := append(make([]byte, 0, 4096), strings.Repeat(string(rune('a'+i%26)), n)...)
			in = append(in, p)
			want += string(p)
		}
		b := Gather(in)
		var got strings.Builder
		b.WriteRange(&got, 0, b.Len())
		if got.String() != want || len(b.mem.Load().chunks) != pieces {
			t.Fatalf("%v: got %d bytes in %d pieces, want %d in %d", sizes, got.Len(), len(b.mem.Load().chunks), len(want), pieces)
		}
		for _, c := range b.mem.Load().chunks {
			if cap(c) > 4096 && cap(c) > MaxContiguous+MaxContiguous/8 {
				t.Fatalf("%v: a piece takes %d bytes", sizes, cap(c))
			}
		}
		if b.weight() > int64(len(want))*5/4+64*int64(len(b.mem.Load().chunks)+1) {
			t.Fatalf("%v: %d bytes weigh %d", sizes, len(want), b.weight())
		}
	}
	f(0)
	f(0, 0)
	f(1, 1)
	f(1, 4096)
	f(1, 4096, 1)
	f(1, 4096, 4096, 0)
	many := make([]int, 300)
	for i := range many {
		many[i] = 4096
	}
	f(300, many...)
	f(301, append(many, 10)...)
	f(300, append(many, 0)...)
}

// The weight under one key is bounded, and the newest variant is kept.
func TestWeightOfVariantsIsBounded(t *testing.T) {
	chunk := make([]byte, 1<<20)
	large := NewBody(slices.Repeat([][]byte{chunk}, 1000)...)
	r := &Resource{}
	var last *Object
	for i := range 10 {
		last = NewObject(head(get(url, "A", fmt.Sprint(i)), "Vary", "A"), large, Fence{Stamp: cache.Stamp{Settled: true}})
		r = r.with(last)
		if n, w := len(r.variants), r.weight(); w > maxVariantsWeight || n != min(i+1, 3) || !slices.Contains(r.variants, last) {
			t.Fatalf("after %d, %d variants weigh %d", i+1, n, w)
		}
	}
	huge := NewObject(head(get(url)), NewBody(slices.Repeat([][]byte{chunk}, 4000)...), Fence{Stamp: cache.Stamp{Settled: true}})
	if r = r.with(huge); len(r.variants) != 1 || r.variants[0] != huge {
		t.Errorf("%d variants are kept beside one that exceeds the limit, want 0", len(r.variants)-1)
	}
}

// The weight includes the names that a response varies by.
func TestNamesWeigh(t *testing.T) {
	name := strings.Repeat("n", 10_000)
	h := head(get(url), "Vary", name)
	if w := (&Resource{markers: []marker{{names: h.Response.Vary}}}).weight(); w < 10_000 {
		t.Errorf("a marker weighs %d", w)
	}
	if w := h.weight(); w < 3*10_000 { // in the fields, the lines and the names
		t.Errorf("a head weighs %d", w)
	}
}
