package flight

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

const kib = 1 << 10

// small are limits that short bodies exceed.
var (
	small       = Limits{Window: 64 * kib, SlowReaderTimeout: time.Second}
	smallBodies = store.Limits{MaxObject: 64 * kib}
)

// feed supplies a body of n KiB in the background.
func (s *source) feed(n int) {
	go func() {
		for range n {
			select {
			case s.bytes <- []byte(strings.Repeat("x", kib)):
			case <-s.ctx.Done():
				return
			}
		}
		close(s.bytes)
	}()
	synctest.Wait()
}

// A body that is too long to be kept is passed to its readers through a window, and is not
// stored.
func TestWindow(t *testing.T) {
	for _, length := range []int64{-1, 4096 * kib} {
		bubble(t, func(t *testing.T) {
			s, o := open(t, small, smallBodies), newSource()
			a, b := o.client(t, s, get(url)), o.client(t, s, get(url))
			o.head(shared(get(url)), length)
			maxHeld := int64(0)
			go func() {
				for range 4096 {
					o.bytes <- []byte(strings.Repeat("x", kib))
					maxHeld = max(maxHeld, s.Stats().Held)
				}
				close(o.bytes)
			}()
			synctest.Wait()
			if !a.done.Load() || !b.done.Load() || len(a.got) != 4096*kib || len(b.got) != 4096*kib || a.err != nil || b.err != nil {
				t.Errorf("the readers got %d and %d bytes, %v and %v", len(a.got), len(b.got), a.err, b.err)
			}
			if limit := smallBodies.MaxObject + small.Window + largestChunk; maxHeld > limit {
				t.Errorf("up to %d bytes were held, want at most %d", maxHeld, limit)
			}
			if st := s.Stats(); st.Held != 0 || s.Find(get(url)).Object != nil {
				t.Errorf("the body is stored, or bytes are still held: %+v", st)
			}
		})
	}
}

// A request that arrives after bytes were dropped starts a new flight.
func TestWindowCannotBeJoined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, small, smallBodies), newSource()
		first := o.client(t, s, get(url))
		o.head(shared(get(url)), -1)
		o.send(strings.Repeat("x", 200*kib))
		p := newSource()
		p.client(t, s, get(url))
		if p.asks() != 1 {
			t.Error("joined a flight that has dropped its first bytes")
		}
		p.fail(context.Canceled)
		if err := first.waiter.StartAt(0); err != ErrBehind {
			t.Errorf("StartAt(0) returned %v, want %v", err, ErrBehind)
		}
		o.end(nil)
		first.want(t, Streaming, strings.Repeat("x", 200*kib), true)
	})
}

// A reader that has no others beside it may slow the origin down without a limit.
func TestWindowBackpressure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, small, smallBodies), newSource()
		waiter := s.Join(&Request{Query: get(url), Fill: o.fill})
		synctest.Wait()
		o.head(shared(get(url)), -1)
		o.feed(2048)
		held := s.Stats().Held
		if limit := smallBodies.MaxObject + small.Window + largestChunk; held > limit {
			t.Errorf("%d bytes are held for a reader that does not read, want at most %d", held, limit)
		}
		time.Sleep(time.Hour)
		if s.Stats().Held != held {
			t.Errorf("%d bytes are held after an hour, want %d as before", s.Stats().Held, held)
		}
		if got := rest(t, waiter); len(got) != 2048*kib {
			t.Errorf("got %d bytes, want %d", len(got), 2048*kib)
		}
		waiter.Leave()
	})
}

// The slowest member is cut off when it has delayed the others for SlowReaderTimeout.
func TestWindowCutsSlowest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, small, smallBodies), newSource()
		slow := s.Join(&Request{Query: get(url), Fill: o.fill})
		quick := o.client(t, s, get(url))
		o.head(shared(get(url)), -1)
		o.feed(2048)
		if quick.done.Load() {
			t.Fatal("the quick reader did not wait for the slow one")
		}
		time.Sleep(small.SlowReaderTimeout - 1)
		synctest.Wait()
		if quick.done.Load() {
			t.Fatal("the slow reader was cut off before the timeout")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		quick.want(t, Streaming, strings.Repeat("x", 2048*kib), true)
		if _, err := slow.Next(t.Context()); err != ErrBehind {
			t.Errorf("the slow reader got %v, want %v", err, ErrBehind)
		}
		if err := slow.StartAt(2000 * kib); err != ErrBehind {
			t.Errorf("StartAt returned %v to the slow reader, want %v", err, ErrBehind)
		}
		slow.Leave()
		if n := s.Stats().Behind; n != 1 {
			t.Errorf("%d readers were cut off, want 1", n)
		}
	})
}

// When a slow reader leaves, the others continue at once.
func TestWindowSlowestLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, small, smallBodies), newSource()
		slow := s.Join(&Request{Query: get(url), Fill: o.fill})
		quick := o.client(t, s, get(url))
		o.head(shared(get(url)), -1)
		o.feed(2048)
		slow.Leave()
		synctest.Wait()
		quick.want(t, Streaming, strings.Repeat("x", 2048*kib), true)
	})
}

// A body that is not kept is not fetched any further when all members have left.
func TestWindowAllMembersLeave(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, small, smallBodies), newSource()
		waiter := s.Join(&Request{Query: get(url), Fill: o.fill})
		synctest.Wait()
		o.head(shared(get(url)), -1)
		o.feed(2048)
		waiter.Leave()
		synctest.Wait()
		if st := s.Stats(); o.ctx.Err() == nil || st.Running != 0 || st.Held != 0 || st.Abandoned == 0 {
			t.Errorf("the flight continues: %+v", st)
		}
	})
}

// The memory of all flights together is limited: bodies beyond the limit are not kept.
func TestHeldBytesAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{MaxHeld: 300 * kib, Window: 16 * kib})
		a, b := newSource(), newSource()
		one := a.client(t, s, get("http://h/1"))
		a.head(shared(get("http://h/1")), 200*kib)
		a.send("x")
		two := b.client(t, s, get("http://h/2"))
		b.head(shared(get("http://h/2")), 200*kib)
		b.send(strings.Repeat("y", 200*kib))
		b.end(nil)
		two.want(t, Streaming, strings.Repeat("y", 200*kib), true)
		if s.Find(get("http://h/2")).Object != nil {
			t.Error("the second body is stored")
		}
		a.send(strings.Repeat("x", 200*kib-1))
		a.end(nil)
		one.want(t, Streaming, strings.Repeat("x", 200*kib), true)
		if s.Find(get("http://h/1")).Object == nil || s.Stats().Held != 0 {
			t.Errorf("the first body is not stored, or bytes are held: %+v", s.Stats())
		}
	})
}

// The default of MaxHeld is a share of the space's memory.
func TestDefaultMaxHeld(t *testing.T) {
	f := func(capacity uint64, given, want int64) {
		t.Helper()
		if got := (Limits{MaxHeld: given}).withDefaults(capacity).MaxHeld; got != want {
			t.Fatalf("MaxHeld %d in a space of %d bytes: got %d, want %d", given, capacity, got, want)
		}
	}
	f(1<<30, 0, 256<<20)
	f(1<<20, 0, 16<<20)
	f(1<<30, 5, 5)
}
