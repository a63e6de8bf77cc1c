package httpcache

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

// noon is when most tests take place.
const noon policy.Moment = 1_800_000_000 * 1e6

var options = policy.Defaults()

// engine is a store with its flights.
type engine struct {
	*store.Store
	*flights
}

func newEngine(space *cache.Space, l FlightLimits) *engine {
	s := store.New(space, l.Stored)
	return &engine{s, newFlights(s, space, l)}
}

func (e *engine) SetLimits(l FlightLimits) { e.flights.SetLimits(l) }

func (e *engine) Stats() Stats { return Stats{e.Store.Stats(), e.flights.Stats()} }

func (e *engine) Close() {
	e.flights.close()
	e.Store.Close()
}

// open makes an engine of its own memory.
func open(t testing.TB, l FlightLimits) *engine {
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
	s := newEngine(space, l)
	t.Cleanup(s.Close)
	return s
}

// get is the query for a URL, with fields in turn names and values.
func get(url string, fields ...string) *store.Query {
	key, err := store.ParseURL(url)
	if err != nil {
		panic(err)
	}
	return &store.Query{Key: key, Fields: http1.FieldsOf(fields...), Now: noon, Options: &options}
}

// head makes the head of an answer to q that is fresh for a minute.
func head(q *store.Query, fields ...string) *store.Head {
	f := http1.FieldsOf(append([]string{"Date", "Fri, 15 Jan 2027 08:00:00 GMT", "Cache-Control", "max-age=60"}, fields...)...)
	return store.NewHead(policy.ParseResponse(200, f, noon, noon, &options), f, q.Fields, &options)
}

// answer is what an origin gives that may be shared and kept.
func answer(q *store.Query, body string, fields ...string) *Answer {
	return &Answer{
		Head: head(q, fields...), Body: io.NopCloser(strings.NewReader(body)), Length: int64(len(body)), Share: true, Keep: true,
	}
}

// gives makes a fill that gives a, whoever asks.
func gives(a *Answer) FillFunc {
	return func(context.Context, *Flight) (*Answer, error) { return a, nil }
}

// fetch flies q, whatever is stored, and reads all of it.
func fetch(t testing.TB, s *engine, q *store.Query, fill FillFunc) string {
	t.Helper()
	ticket := s.Fly(&Ask{Query: q, Seen: s.Find(q).Object, Fill: fill})
	defer ticket.Leave()
	out, err := ticket.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	switch out.Way {
	case Whole:
		return text(out.Object)
	case Streaming:
		return rest(t, ticket)
	}
	t.Fatalf("the flight came to %d", out.Way)
	return ""
}

// fill fetches q and waits until it is stored.
func fill(t testing.TB, s *engine, q *store.Query, body string, fields ...string) *store.Object {
	t.Helper()
	fetch(t, s, q, gives(answer(q, body, fields...)))
	f := s.Find(q)
	if f.Object == nil || text(f.Object) != body {
		t.Fatalf("%s is not stored", q.Key)
	}
	return f.Object
}

func rest(t testing.TB, ticket *Ticket) string {
	t.Helper()
	got, err := readAll(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// readAll reads until the error that is not io.EOF.
func readAll(ctx context.Context, ticket *Ticket) (string, error) {
	var b strings.Builder
	for {
		p, err := ticket.Next(ctx)
		b.Write(p)
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
	}
}

// wantFound looks q up and compares the body; "" for none.
func wantFound(t *testing.T, s *engine, q *store.Query, want string) store.Found {
	t.Helper()
	f := s.Find(q)
	got := ""
	if f.Object != nil {
		got = text(f.Object)
	}
	if got != want {
		t.Fatalf("%s with %s came to %q (%+v); want %q", q.Key, q.Fields, got, f, want)
	}
	return f
}

func text(o *store.Object) string {
	var b strings.Builder
	o.Body.WriteRange(&b, 0, o.Body.Len())
	return b.String()
}
