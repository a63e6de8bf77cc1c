package flight

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// noon is the time of day in most tests.
const noon policy.Moment = 1_800_000_000 * 1e6

var options = policy.Defaults()

// engine is a store with its flights.
type engine struct {
	*store.Store
	*Group
}

// stats are the figures of a store and its flights.
type stats struct {
	store.Stats
	groupStats
}

type groupStats = Stats

func (e *engine) Stats() stats { return stats{e.Store.Stats(), e.Group.Stats()} }

func (e *engine) Close() {
	e.Group.Close()
	e.Store.Close()
}

func newEngine(space *cache.Space, l Limits, stored ...store.Limits) *engine {
	var sl store.Limits
	for _, sl = range stored {
	}
	s := store.New(space, sl)
	return &engine{s, NewGroup(s, space, l)}
}

// open returns an engine with a cache of its own.
func open(t testing.TB, l Limits, stored ...store.Limits) *engine {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 64 << 20, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	s := newEngine(space, l, stored...)
	t.Cleanup(s.Close)
	return s
}

// get returns the query for a URL, with fields in turn names and values.
func get(url string, fields ...string) *store.Query {
	key, err := store.ParseURL(url)
	if err != nil {
		panic(err)
	}
	return &store.Query{Key: key, Fields: http1.FieldsOf(fields...), Now: noon, Options: &options}
}

// head returns the head of an answer to q that is fresh for a minute.
func head(q *store.Query, fields ...string) *store.Head {
	f := http1.FieldsOf(append([]string{"Date", "Fri, 15 Jan 2027 08:00:00 GMT", "Cache-Control", "max-age=60"}, fields...)...)
	return store.NewHead(policy.ParseResponse(200, f, noon, noon, &options), f, q.Fields, &options)
}

// answer returns an answer that is shared and kept.
func answer(q *store.Query, body string, fields ...string) *Answer {
	return &Answer{
		Head: head(q, fields...), Body: io.NopCloser(strings.NewReader(body)), Length: int64(len(body)), Share: true, Keep: true,
	}
}

// fillWith returns a fill that returns a.
func fillWith(a *Answer) FillFunc {
	return func(context.Context, *Flight) (*Answer, error) { return a, nil }
}

// fetch joins a flight for q, whatever is stored, and reads all of its body.
func fetch(t testing.TB, s *engine, q *store.Query, fill FillFunc) string {
	t.Helper()
	w := s.Join(&Request{Query: q, Seen: s.Find(q).Object, Fill: fill})
	defer w.Leave()
	out, err := w.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	switch out.Kind {
	case Whole:
		return text(out.Object)
	case Streaming:
		return rest(t, w)
	}
	t.Fatalf("the flight has the outcome %d", out.Kind)
	return ""
}

// fill fetches q and checks that it is stored.
func fill(t testing.TB, s *engine, q *store.Query, body string, fields ...string) *store.Object {
	t.Helper()
	fetch(t, s, q, fillWith(answer(q, body, fields...)))
	f := s.Find(q)
	if f.Object == nil || text(f.Object) != body {
		t.Fatalf("%s is not stored", q.Key)
	}
	return f.Object
}

// wantFound checks what a look-up finds; "" for nothing.
func wantFound(t *testing.T, s *engine, q *store.Query, want string) store.Found {
	t.Helper()
	f := s.Find(q)
	got := ""
	if f.Object != nil {
		got = text(f.Object)
	}
	if got != want {
		t.Fatalf("found %q, want %q", got, want)
	}
	return f
}

// rest reads the rest of the body.
func rest(t testing.TB, w *Waiter) string {
	t.Helper()
	got, err := readAll(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// readAll reads until an error, which it returns unless it is io.EOF.
func readAll(ctx context.Context, w *Waiter) (string, error) {
	var b strings.Builder
	for {
		p, err := w.Next(ctx)
		b.Write(p)
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
	}
}

func text(o *store.Object) string {
	var b strings.Builder
	o.Body.WriteRange(&b, 0, o.Body.Len())
	return b.String()
}

// failer is a test, or a run of rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// beginKey begins a write of a URL.
func beginKey(t failer, s *engine, key []byte) *cache.Write {
	t.Helper()
	w, err := s.space.Cache().Begin(t.Context(), []cache.Tag{store.URLTag(key)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// writeKey makes a write of a URL that succeeds.
func writeKey(t failer, s *engine, key []byte) {
	t.Helper()
	if _, err := beginKey(t, s, key).Commit(t.Context(), cache.Change{}); err != nil {
		t.Fatal(err)
	}
}
