// Package inflight bounds the memory of a process for requests and answers in flight: bodies
// that are not stored, buffers, and the fixed cost of a request. All listeners and services
// of a process share one Budget.
//
// There are two bounds. Up to the lower one bodies are buffered, so that they are fetched at
// the pace of their origin. Between the two, answers pass through at the pace of their
// client. At the upper one requests wait, and the slowest clients are cut to make room for
// them; a request that waits in vain is refused.
package inflight

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrFull is returned for a request that there is no memory for.
var ErrFull = errors.New("inflight: there is no memory for the request")

// The fixed cost of a request, in bytes, besides its body.
const (
	// Request is for a request that needs its origin: two goroutines, the connection to the
	// origin, and the memory into which request and answer are parsed.
	Request = 64 << 10
	// Stream is for an HTTP/2 stream: its goroutine, its request and a first buffer.
	Stream = 24 << 10
)

const (
	// maxWaiting is the maximum number of waiting requests. One more makes the oldest fail,
	// whose client is the least likely to still want the answer.
	maxWaiting = 1024
	// maxWait bounds the wait of a request for its share.
	maxWait = 5 * time.Second
	// maxWaitBuffer bounds the wait of a fill for a buffer. Without one it passes through.
	maxWaitBuffer = time.Second
	// leastBuffers is the lower bound of a process with little memory.
	leastBuffers = 16 << 20
	// beyond is how far the upper bound is above the memory of the cache.
	beyond = 8 << 20
)

// Budget counts bytes in flight. A nil Budget bounds nothing.
type Budget struct {
	lower, upper int64
	held         atomic.Int64
	stats        counters

	follow       func(held int64)
	step         int64        // in bytes
	ahead        int64        // how much more may be held than follow was called with
	lastReported atomic.Int64 // how many steps follow was called with
	reporting    atomic.Bool  // it is being called

	shares  queue
	buffers queue

	mu      sync.Mutex // a leaf; guards the fields below
	sources map[*Source]struct{}
	timer   *time.Timer // of the next round of cuts; nil while no request waits
}

type counters struct{ waits, unbuffered, refused, cut atomic.Uint64 }

// Stats are the figures of a Budget since it was made.
type Stats struct {
	Held       int64  // bytes in flight
	Waiting    int    // requests that wait for memory
	Waits      uint64 // requests that have waited
	Unbuffered uint64 // bodies that passed through because there was no memory for a buffer
	Refused    uint64 // requests refused
	Cut        uint64 // slow clients cut
}

// Bounds returns the bounds of a process whose cache may hold that many bytes. The lower
// bound is half of that. The upper one is 8 MiB above it: all stored bytes may be on their
// way to slow clients, in addition to some requests that need their origin.
func Bounds(cache int64) (lower, upper int64) {
	lower = max(cache/2, leastBuffers)
	return lower, max(cache, lower) + beyond
}

// New returns a Budget with the Bounds for a cache of that many bytes.
func New(cache int64) *Budget {
	b := &Budget{step: max(cache/64, 256<<10), ahead: max(cache/16, 4<<20), sources: map[*Source]struct{}{}}
	b.lower, b.upper = Bounds(cache)
	return b
}

// Follow calls f with the number of bytes in flight whenever that has changed noticeably.
// The calls are made one at a time by a goroutine that holds no lock. Await and AwaitBuffer wait
// for f if much more is held than it was called with: f releases other memory, which takes a
// moment. Follow must be called before the Budget is used.
func (b *Budget) Follow(f func(held int64)) { b.follow = f }

// reportChange starts a call of the function passed to Follow, if one is due.
func (b *Budget) reportChange(held int64) {
	if b.follow == nil || held/b.step == b.lastReported.Load() || !b.reporting.CompareAndSwap(false, true) {
		return
	}
	go b.report()
}

// report calls the function passed to Follow. A change after its last check starts another
// call.
func (b *Budget) report() {
	for {
		n := b.held.Load() / b.step
		b.follow(max(0, n) * b.step)
		b.lastReported.Store(n)
		b.shares.grant(b, b.upper)
		b.buffers.grant(b, b.lower)
		b.reporting.Store(false)
		if b.held.Load()/b.step == n || !b.reporting.CompareAndSwap(false, true) {
			return
		}
	}
}

// Stats returns the figures so far.
func (b *Budget) Stats() Stats {
	return Stats{
		Held: b.held.Load(), Waiting: b.shares.len() + b.buffers.len(), Waits: b.stats.waits.Load(),
		Unbuffered: b.stats.unbuffered.Load(), Refused: b.stats.refused.Load(), Cut: b.stats.cut.Load(),
	}
}

// Upper returns the upper bound in bytes.
func (b *Budget) Upper() int64 { return b.upper }

// Add counts n bytes more, whatever the bounds are, or less if n is negative.
func (b *Budget) Add(n int64) {
	if b == nil || n == 0 {
		return
	}
	held := b.held.Add(n)
	b.reportChange(held)
	switch {
	case n < 0:
		b.shares.grant(b, b.upper)
		b.buffers.grant(b, b.lower)
	case held > b.upper:
		b.startCutting()
	}
}

// Pressed reports whether new bodies are not to be buffered.
func (b *Budget) Pressed() bool { return b != nil && b.held.Load() >= b.lower }

// Buffer counts n bytes more if the lower bound allows it.
func (b *Budget) Buffer(n int64) bool { return b == nil || b.take(n, b.lower) }

// Take counts n bytes more if the upper bound allows it.
func (b *Budget) Take(n int64) bool { return b == nil || b.take(n, b.upper) }

func (b *Budget) take(n, bound int64) bool {
	for {
		held := b.held.Load()
		if held+n > bound {
			return false
		}
		if b.held.CompareAndSwap(held, held+n) {
			b.reportChange(held + n)
			return true
		}
	}
}

// room is take for a caller that can wait.
func (b *Budget) room(n, bound int64) bool {
	behind := b.follow != nil && b.held.Load()-b.lastReported.Load()*b.step > b.ahead
	return !behind && b.take(n, bound)
}

// AwaitBuffer is Buffer that waits for a short time. The bytes pass through if it returns
// false.
func (b *Budget) AwaitBuffer(ctx context.Context, n int64) bool {
	return b == nil || b.room(n, b.lower) || b.wait(ctx, &b.buffers, n, b.lower, maxWaitBuffer, &b.stats.unbuffered)
}

// Await is Take that waits, while the slowest clients are cut. If it returns false the
// request is to be refused.
func (b *Budget) Await(ctx context.Context, n int64) bool {
	return b == nil || b.room(n, b.upper) || b.wait(ctx, &b.shares, n, b.upper, maxWait, &b.stats.refused)
}

// wait waits in q until n bytes are within bound, and counts a failure in failed.
func (b *Budget) wait(ctx context.Context, q *queue, n, bound int64, timeout time.Duration, failed *atomic.Uint64) (ok bool) {
	b.stats.waits.Add(1)
	defer func() {
		if !ok {
			failed.Add(1)
		}
	}()
	w := &waiter{n: n, done: make(chan bool, 1)}
	q.push(w)
	q.grant(b, bound) // bytes that were returned before w was in the queue
	if q == &b.shares {
		b.startCutting()
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case ok := <-w.done:
		return ok
	case <-timer.C:
	case <-ctx.Done():
	}
	if q.remove(w) {
		return false
	}
	return <-w.done
}

// waiter is a request that waits for n bytes. done receives one value, from the goroutine
// that has removed the waiter from its queue.
type waiter struct {
	n    int64
	done chan bool
}

// queue holds waiters, the newest last. The newest is served first: a client that has waited
// for long is the most likely to have disconnected, or to cause the shortage itself.
type queue struct {
	mu   sync.Mutex // a leaf
	list []*waiter
	n    atomic.Int32 // length of list
}

func (q *queue) len() int { return int(q.n.Load()) }

func (q *queue) push(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, w)
	if len(q.list) > maxWaiting {
		q.list[0].done <- false
		q.list[0] = nil
		q.list = q.list[1:]
	}
	q.n.Store(int32(len(q.list)))
}

// remove removes w. It reports false if w is not in the queue any more.
func (q *queue) remove(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.list, w)
	if i < 0 {
		return false
	}
	q.list = slices.Delete(q.list, i, i+1)
	q.n.Store(int32(len(q.list)))
	return true
}

// grant serves the waiters that bound allows, the newest first.
func (q *queue) grant(b *Budget, bound int64) {
	if q.n.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := len(q.list) - 1; i >= 0 && b.room(q.list[i].n, bound); i-- {
		q.list[i].done <- true
		q.list[i] = nil
		q.list = q.list[:i]
	}
	q.n.Store(int32(len(q.list)))
}
