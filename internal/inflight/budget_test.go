package inflight

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// new64 returns a Budget with bounds of 32 and 72 MiB.
func new64() *Budget { return New(64 * mib) }

func TestBounds(t *testing.T) {
	f := func(cache, lower, upper int64) {
		t.Helper()
		if b := New(cache * mib); b.lower != lower*mib || b.Upper() != upper*mib {
			t.Errorf("%d MiB: got the bounds %d and %d, want %d and %d", cache, b.lower/mib, b.upper/mib, lower, upper)
		}
	}
	f(64, 32, 72)
	f(1024, 512, 1032)
	f(1, 16, 24)

	b := new64()
	if b.Pressed() || !b.Buffer(32*mib) || b.Buffer(1) || !b.Pressed() {
		t.Error("buffers are not bounded by the lower bound")
	}
	if !b.Take(40*mib) || b.Take(1) {
		t.Error("requests are not bounded by the upper bound")
	}
	b.Add(mib)
	b.Add(-73 * mib)
	if n := b.Stats().Held; n != 0 || b.Pressed() {
		t.Errorf("%d bytes are held, want 0", n)
	}
}

// A nil Budget has no limit.
func TestNil(t *testing.T) {
	var b *Budget
	b.Add(1)
	if !b.Take(1) || !b.Buffer(1) || !b.Await(t.Context(), 1) || b.Pressed() {
		t.Error("a nil Budget has a limit")
	}
	b.Register(&Source{})()
}

// A request waits until its share is free, and is refused after maxWait.
func TestAwait(t *testing.T) {
	f := func(name string, after time.Duration, cancel, want bool, waited time.Duration) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := new64()
				b.Add(72 * mib)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				time.AfterFunc(after, func() {
					if cancel {
						end()
					} else {
						b.Add(-Request)
					}
				})
				start := time.Now()
				if got := b.Await(ctx, Request); got != want || time.Since(start) != waited {
					t.Errorf("got %v after %v, want %v after %v", got, time.Since(start), want, waited)
				}
				time.Sleep(time.Minute)
				s := b.Stats()
				refused := uint64(0)
				if !want {
					refused = 1
				}
				if s.Waits != 1 || s.Waiting != 0 || s.Refused != refused {
					t.Errorf("got %+v", s)
				}
			})
		})
	}
	f("released", time.Second, false, true, time.Second)
	f("too late", time.Hour, false, false, maxWait)
	f("client gone", time.Second, true, false, time.Second)
}

// A fill waits up to maxWaitBuffer for a buffer, and no client is cut for it.
func TestAwaitBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new64()
		b.Add(32 * mib)
		b.Register(&Source{Clients: func(yield func(Client)) {
			yield(Client{Waited: time.Hour, Cut: func() { t.Error("a client was cut") }})
		}})
		start := time.Now()
		if b.AwaitBuffer(t.Context(), 1) || time.Since(start) != maxWaitBuffer {
			t.Errorf("waited for %v", time.Since(start))
		}
		time.AfterFunc(time.Millisecond, func() { b.Add(-mib) })
		if !b.AwaitBuffer(t.Context(), mib) {
			t.Error("released bytes are not used")
		}
		if s := b.Stats(); s.Waits != 2 || s.Unbuffered != 1 || s.Refused != 0 || s.Held != 32*mib {
			t.Errorf("got %+v", s)
		}
	})
}

// Of the waiting requests the newest is served first, and if there are too many the oldest is
// refused.
func TestNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new64()
		b.Add(72 * mib)
		var mu sync.Mutex
		var served, refused []int
		for i := range maxWaiting + 2 {
			go func() {
				got := b.Await(t.Context(), mib)
				mu.Lock()
				defer mu.Unlock()
				if got {
					served = append(served, i)
				} else {
					refused = append(refused, i)
				}
			}()
			synctest.Wait()
		}
		if len(refused) != 2 || refused[0] != 0 || refused[1] != 1 {
			t.Fatalf("refused %v, want 0 and 1", refused)
		}
		for range 2 {
			b.Add(-mib)
			synctest.Wait()
		}
		if len(served) != 2 || served[0] != maxWaiting+1 || served[1] != maxWaiting {
			t.Errorf("served %v, want the newest two, the last one first", served)
		}
	})
}

// While requests wait the slowest clients are cut, a part of them at a time, until there is
// memory. Clients that are fast, or have not been waited for long, are not cut.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new64()
		b.Add(72 * mib)
		const slow = 2 * cutPart
		var cut [slow]atomic.Bool
		remove := b.Register(&Source{Clients: func(yield func(Client)) {
			for i := range cut {
				if !cut[i].Load() {
					yield(Client{Taken: int64(i), Waited: leastWaited, Cut: func() {
						cut[i].Store(true)
						time.AfterFunc(time.Millisecond, func() { b.Add(-mib) })
					}})
				}
			}
			never := func() { t.Error("a fast or new client was cut") }
			yield(Client{Waited: leastWaited - 1, Cut: never})
			yield(Client{Taken: fastEnough * 10, Waited: 10 * time.Second, Cut: never})
		}})
		defer remove()
		for i := range 3 {
			if !b.Await(t.Context(), mib) {
				t.Fatal("there is no memory after clients were cut")
			}
			if !cut[i].Load() {
				t.Errorf("client %d was not cut before faster ones", i)
			}
		}
		time.Sleep(time.Minute)
		n := 0
		for i := range cut {
			if cut[i].Load() {
				n++
			}
		}
		if s := b.Stats(); n > 4 || s.Cut != uint64(n) || s.Refused != 0 {
			t.Errorf("%d clients were cut for 3 requests, want at most 4: %+v", n, s)
		}
	})
}

// Above the upper bound clients are cut even if no request waits.
func TestCutBeyond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new64()
		b.Register(&Source{Clients: func(yield func(Client)) {
			yield(Client{Waited: time.Hour, Cut: func() { b.Add(-2 * mib) }})
		}})
		b.Add(73 * mib)
		time.Sleep(time.Minute)
		if s := b.Stats(); s.Cut != 1 || s.Held != 71*mib {
			t.Errorf("got %+v", s)
		}
	})
}

// The function passed to Follow is called after changes of a step or more, and always gets the
// last value.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new64()
		var held int64
		calls := 0
		b.Follow(func(n int64) { held, calls = n, calls+1 })
		b.Add(b.step - 1)
		synctest.Wait()
		if calls != 0 {
			t.Errorf("called for less than a step")
		}
		for range 10 {
			b.Add(mib)
			synctest.Wait()
		}
		if held != 10*mib {
			t.Errorf("%d bytes are reported, want %d", held, 10*mib)
		}
		b.Add(-10 * mib)
		synctest.Wait()
		if held != 0 {
			t.Errorf("%d bytes are reported at the end, want 0", held)
		}
	})
}

// A request that can wait does so until the function passed to Follow has made room for what is
// held already.
func TestWaitsForFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new64()
		proceed := make(chan struct{})
		b.Follow(func(int64) { <-proceed })
		b.Add(b.ahead + 1)
		var admitted [2]bool
		go func() { admitted[0] = b.Await(t.Context(), 1) }()
		go func() { admitted[1] = b.AwaitBuffer(t.Context(), 1) }()
		synctest.Wait()
		if admitted[0] || admitted[1] || !b.Take(1) {
			t.Errorf("admitted: %v; want only the request that can't wait", admitted)
		}
		close(proceed)
		synctest.Wait()
		if !admitted[0] || !admitted[1] {
			t.Errorf("admitted: %v; want both", admitted)
		}
	})
}
