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

// A body that is too long to be kept reaches its readers through a window. It is not stored
// and can't be joined.
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
				t.Errorf("they got %d and %d bytes, %v and %v", len(a.got), len(b.got), a.err, b.err)
			}
			if limit := smallBodies.MaxObject + small.Window + largestChunk; maxHeld > limit {
				t.Errorf("up to %d bytes were held; the bound is %d", maxHeld, limit)
			}
			if st := s.Stats(); st.Held != 0 || s.Find(get(url)).Object != nil {
				t.Errorf("it is stored, or memory was not given back: %+v", st)
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
			t.Error("joined a flight that has let go of its beginning")
		}
		p.fail(context.Canceled)
		if err := first.waiter.StartAt(0); err != ErrBehind {
			t.Errorf("going back to the beginning returned %v", err)
		}
		o.end(nil)
		first.want(t, Streaming, strings.Repeat("x", 200*kib), true)
	})
}

// A single slow reader slows the origin down for as long as it likes.
func TestWindowBackpressure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, small, smallBodies), newSource()
		waiter := s.Join(&Request{Query: get(url), Fill: o.fill})
		synctest.Wait()
		o.head(shared(get(url)), -1)
		o.feed(2048)
		held := s.Stats().Held
		if limit := smallBodies.MaxObject + small.Window + largestChunk; held > limit {
			t.Errorf("%d bytes are held for a reader that does not read", held)
		}
		time.Sleep(time.Hour)
		if s.Stats().Held != held {
			t.Error("it went on")
		}
		if got := rest(t, waiter); len(got) != 2048*kib {
			t.Errorf("got %d bytes", len(got))
		}
		waiter.Leave()
	})
}

// Other members wait for the slowest for a while; then it is cut off.
func TestWindowCutsSlowest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, small, smallBodies), newSource()
		slow := s.Join(&Request{Query: get(url), Fill: o.fill})
		quick := o.client(t, s, get(url))
		o.head(shared(get(url)), -1)
		o.feed(2048)
		if quick.done.Load() {
			t.Fatal("the quick one was not held back")
		}
		time.Sleep(small.SlowReaderTimeout - 1)
		synctest.Wait()
		if quick.done.Load() {
			t.Fatal("the slow one was cut off too soon")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		quick.want(t, Streaming, strings.Repeat("x", 2048*kib), true)
		if _, err := slow.Next(t.Context()); err != ErrBehind {
			t.Errorf("the slow one got %v", err)
		}
		if err := slow.StartAt(2000 * kib); err != ErrBehind {
			t.Errorf("and %v when it jumped ahead", err)
		}
		slow.Leave()
		if n := s.Stats().Behind; n != 1 {
			t.Errorf("%d readers were cut off", n)
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
			t.Errorf("it continues: %+v", st)
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
			t.Error("the second is stored")
		}
		a.send(strings.Repeat("x", 200*kib-1))
		a.end(nil)
		one.want(t, Streaming, strings.Repeat("x", 200*kib), true)
		if s.Find(get("http://h/1")).Object == nil || s.Stats().Held != 0 {
			t.Errorf("the first is not stored: %+v", s.Stats())
		}
	})
}

// The default limit of all flights is a share of the store's memory.
func TestDefaultMaxHeld(t *testing.T) {
	f := func(capacity uint64, given, want int64) {
		t.Helper()
		if got := (Limits{MaxHeld: given}).withDefaults(capacity).MaxHeld; got != want {
			t.Fatalf("of %d bytes, %d given, it is %d; want %d", capacity, given, got, want)
		}
	}
	f(1<<30, 0, 256<<20)
	f(1<<20, 0, 16<<20)
	f(1<<30, 5, 5)
}
