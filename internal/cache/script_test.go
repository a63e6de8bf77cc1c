//go:build !kasokubroken

package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs f in a synctest bubble with a cache that is past its start.
func bubble(t *testing.T, f func(t *testing.T, c *Cache, s *Space)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, s := open(t, Config{})
		pass(time.Duration(c.settle) + time.Millisecond)
		f(t, c, s)
	})
}

// value returns an answer that is fresh for a minute.
func value(v string) Filling { return Filling{Payload: []byte(v), TTL: time.Minute} }

// keep stores v under key, as a fill without concurrent writes does.
func keep(t testing.TB, s *Space, key, v string, names ...string) {
	t.Helper()
	f := value(v)
	if _, stored := s.Store(s.cache.Note(tags(names...)...), []byte(key), &f); !stored {
		t.Fatalf("%s=%s was not stored", key, v)
	}
}

// put returns the Change of a write that determines the value of key.
func put(s *Space, key, v string, names ...string) Change {
	return Change{Puts: []Put{{Space: s, Key: []byte(key), Tags: tags(names...), Filling: value(v)}}}
}

// wantFound fails unless a look-up of key returns found and, if that has an entry, v.
func wantFound(t testing.TB, s *Space, key string, found Found, v string) {
	t.Helper()
	e, got, _ := s.Lookup([]byte(key), s.cache.Now())
	if got != found {
		t.Fatalf("look-up of %s: got state %d, want %d", key, got, found)
	}
	if (e != nil) != (found == Fresh || found == Stale) {
		t.Fatalf("look-up of %s: got state %d with entry %v", key, got, e)
	}
	if e != nil && string(e.Payload()) != v {
		t.Fatalf("%s=%s; want %s", key, e.Payload(), v)
	}
}

// origin is a fill controlled by a script: each call is sent to calls, and then waits for its
// answer.
type origin struct {
	calls chan *call
}

type call struct {
	stamp  Stamp
	answer chan string // closed: the fill panics
}

func newOrigin() *origin { return &origin{calls: make(chan *call)} }

func (o *origin) fill(_ context.Context, st *Stamp) (Filling, error) {
	c := &call{stamp: *st, answer: make(chan string)}
	o.calls <- c
	v, ok := <-c.answer
	if !ok {
		panic("origin: no answer")
	}
	return value(v), nil
}

// next returns the next call. If there is none it fails instead of hanging.
func (o *origin) next(t testing.TB) *call {
	t.Helper()
	select {
	case c := <-o.calls:
		return c
	case <-time.After(time.Hour):
		t.Fatal("the origin was not called")
		return nil
	}
}

// reader is a caller of Fill in a goroutine of its own.
type reader struct {
	done   chan struct{}
	answer Answer
	err    error
}

func read(ctx context.Context, s *Space, key string, fill FillFunc, names ...string) *reader {
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.answer, r.err = s.Fill(ctx, []byte(key), tags(names...), fill)
	}()
	synctest.Wait()
	return r
}

// readHere is read by FillHere.
func readHere(ctx context.Context, s *Space, key string, fill FillFunc, names ...string) *reader {
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		waiting := func() (context.Context, context.CancelFunc) { return ctx, func() {} }
		r.answer, r.err = s.FillHere(ctx, []byte(key), tags(names...), fill, waiting)
	}()
	synctest.Wait()
	return r
}

// wait waits for the reader's end. It fails instead of hanging.
func (r *reader) wait(t testing.TB) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Hour):
		t.Fatal("the reader has not ended")
	}
}

func (r *reader) want(t testing.TB, v string, stored, coalesced bool) {
	t.Helper()
	r.wait(t)
	if r.err != nil {
		t.Fatalf("fill failed: %v", r.err)
	}
	if got := string(r.answer.Entry.Payload()); got != v || r.answer.Stored != stored || r.answer.Coalesced != coalesced {
		t.Fatalf("got %s, stored %v, coalesced %v; want %s, %v, %v",
			got, r.answer.Stored, r.answer.Coalesced, v, stored, coalesced)
	}
}

func (r *reader) wantWaiting(t testing.TB) {
	t.Helper()
	synctest.Wait()
	select {
	case <-r.done:
		t.Fatalf("the reader has its answer already: %+v, %v", r.answer, r.err)
	default:
	}
}
