package store

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// noon is the time of day in most tests.
const noon policy.Moment = 1_800_000_000 * 1e6

const url = "http://h/a"

var options = policy.Defaults()

// open returns a store with a cache of its own.
func open(t testing.TB, l Limits) *Store {
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
	s := New(space, l)
	t.Cleanup(s.Close)
	return s
}

// get returns the query for a URL, with fields in turn names and values.
func get(url string, fields ...string) *Query {
	key, err := ParseURL(url)
	if err != nil {
		panic(err)
	}
	return &Query{Key: key, Fields: http1.FieldsOf(fields...), Now: noon, Options: &options}
}

// head returns the head of a response to q that is fresh for a minute.
func head(q *Query, fields ...string) *Head {
	f := http1.FieldsOf(append([]string{"Date", "Fri, 15 Jan 2027 08:00:00 GMT", "Cache-Control", "max-age=60"}, fields...)...)
	return NewHead(policy.ParseResponse(200, f, noon, noon, &options), f, q.Fields, &options)
}

// put stores a response to q.
func put(t testing.TB, s *Store, q *Query, h *Head, body string) *Object {
	t.Helper()
	at := s.Fence(q.Key)
	var pieces [][]byte
	if body != "" {
		pieces = append(pieces, append(make([]byte, 0, len(body)), body...))
	}
	b := s.Track(Gather(pieces))
	if s.HasDisk() && b.Len() > s.Limits().DiskThreshold(h) {
		w, err := s.CreateFile(b.Len())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if b, err = s.FinishFile(w, q.Key, h); err != nil {
			t.Fatal(err)
		}
	}
	o := NewObject(h, b, at)
	if !s.Put(q.Key, o, nil) {
		t.Fatalf("%s is not stored", q.Key)
	}
	return o
}

// fill stores a response to q with these fields, which is found afterwards.
func fill(t testing.TB, s *Store, q *Query, body string, fields ...string) *Object {
	t.Helper()
	put(t, s, q, head(q, fields...), body)
	f := s.Find(q)
	if f.Object == nil || text(f.Object) != body {
		t.Fatalf("%s is not found", q.Key)
	}
	return f.Object
}

func text(o *Object) string {
	var b strings.Builder
	o.Body.WriteRange(&b, 0, o.Body.Len())
	return b.String()
}

// bubble runs f on a clock of its own, and fails if a goroutine is still running after f.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
