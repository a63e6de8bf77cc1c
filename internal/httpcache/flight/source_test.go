package flight

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// bubble runs f on a clock of its own, and fails if a goroutine is still running after f.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// source is an origin that a test controls step by step.
type source struct {
	asked   int
	ctx     context.Context
	heads   chan func(*Flight) (*Answer, error)
	bytes   chan []byte
	err     error // that Read returns after bytes was closed; nil for io.EOF
	closed  bool
	pending []byte
	mu      sync.Mutex
}

func newSource() *source {
	return &source{heads: make(chan func(*Flight) (*Answer, error), 1), bytes: make(chan []byte)}
}

// fill is a FillFunc that waits for head, fail or a function sent to heads.
func (s *source) fill(ctx context.Context, f *Flight) (*Answer, error) {
	s.mu.Lock()
	s.asked++
	s.ctx = ctx
	s.mu.Unlock()
	select {
	case respond := <-s.heads:
		return respond(f)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// head returns a from fill, with a body of that length that send and end supply.
func (s *source) head(a *Answer, length int64) {
	a.Body, a.Length = s, length
	s.heads <- func(*Flight) (*Answer, error) { return a, nil }
	synctest.Wait()
}

// fail returns an error from fill.
func (s *source) fail(err error) {
	s.heads <- func(*Flight) (*Answer, error) { return nil, err }
	synctest.Wait()
}

// send supplies bytes of the body and returns when they have been read.
func (s *source) send(b string) {
	s.bytes <- []byte(b)
	synctest.Wait()
}

// end ends the body; an error other than nil breaks it off.
func (s *source) end(err error) {
	s.err = err
	close(s.bytes)
	synctest.Wait()
}

func (s *source) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		select {
		case b, ok := <-s.bytes:
			if !ok && s.err == nil {
				return 0, io.EOF
			}
			if !ok {
				return 0, s.err
			}
			s.pending = b
		case <-s.ctx.Done():
			return 0, context.Cause(s.ctx)
		}
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

func (s *source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// asks returns the number of requests so far.
func (s *source) asks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *source) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// client is a request that waits in its own goroutine and reads all that arrives.
type client struct {
	waiter *Waiter
	out    Outcome
	err    error // of Wait, or of the body
	got    string
	done   atomic.Bool
}

// client joins a flight for q, or starts one with fill.
func (s *source) client(t *testing.T, store *engine, q *store.Query) *client {
	c := &client{waiter: store.Join(&Request{Query: q, Fill: s.fill})}
	go c.run(t.Context())
	synctest.Wait()
	return c
}

func (c *client) run(ctx context.Context) {
	defer func() { c.waiter.Leave(); c.done.Store(true) }()
	c.out, c.err = c.waiter.Wait(ctx)
	switch {
	case c.err != nil:
	case c.out.Kind == Whole:
		c.got = text(c.out.Object)
	case c.out.Kind == Streaming:
		for {
			var p []byte
			p, c.err = c.waiter.Next(ctx)
			c.got += string(p)
			if c.err != nil {
				break
			}
		}
	case c.out.Kind == Private && c.out.Answer.Body != nil:
		var b []byte
		b, c.err = io.ReadAll(c.out.Answer.Body)
		c.got = string(b)
	}
	if c.err == io.EOF {
		c.err = nil
	}
}

// want checks what has arrived so far.
func (c *client) want(t *testing.T, kind Kind, got string, done bool) {
	t.Helper()
	if c.done.Load() && c.err != nil || c.out.Kind != kind || c.got != got || c.done.Load() != done {
		t.Fatalf("got the kind %d with %q, done %v, error %v; want the kind %d with %q, done %v", c.out.Kind, c.got, c.done.Load(), c.err, kind, got, done)
	}
}

// shared returns an answer that is shared and kept, without a body so far.
func shared(q *store.Query, fields ...string) *Answer {
	return &Answer{Head: head(q, fields...), Share: true, Keep: true}
}
