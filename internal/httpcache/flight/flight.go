package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Errors of flights, beside the errors of their origins.
var (
	ErrClosed     = errors.New("flight: the service has ended")
	ErrUnwanted   = errors.New("flight: all clients that wanted the body have left")
	ErrBehind     = errors.New("flight: the body is not kept and its reader fell behind")
	ErrPanicked   = errors.New("flight: the fill panicked")
	errSurplus    = errors.New("flight: the body is longer than was announced")
	errShort      = fmt.Errorf("flight: the body is shorter than was announced: %w", io.ErrUnexpectedEOF)
	errFillExited = fmt.Errorf("%w: it ended its goroutine", ErrPanicked)
	errNoProgress = errors.New("flight: the body returns no bytes and no end")
)

// Flight is one request to the origin whose answer is shared by all requests for the same:
// its members. The type state has its life.
//
// The fields above mu are set before the flight is published, except for retry. A shard is
// locked before mu. While mu is held only the lock of the store's background tasks is taken.
type Flight struct {
	spec
	group  *Group
	shard  *shard
	ctx    context.Context
	cancel context.CancelCauseFunc
	retry  *Flight // the second attempt, joined by the members of this one; shard guards it

	mu        sync.Mutex
	state     state
	result    result
	starter   starter
	interim   []Interim
	members   members
	buffer    buffer
	spill     spill
	remainder remainder
	completed completedFlight
	changed   chan struct{} // closed at the next change; nil if no one waits for it
}

// spec describes a flight's request. It does not change.
type spec struct {
	key         []byte
	part        []byte // as in Request
	guess       guess
	fence       store.Fence
	began       int64 // on the cache's clock, for flights with tags
	fenced      bool  // the request has tags
	lasting     bool  // the answer may outlive the process
	background  bool  // started by Refresh
	linger      time.Duration
	keepFailure func(error) bool
	limits      *Limits
	stored      *store.Limits
}

// guess predicts the variant of a flight's answer before its head is known: the starter's
// values of the fields that the URL varied by so far. For example, a request in French does
// not join a flight that was started in German if the URL varied by Accept-Language before.
type guess struct {
	names  []string
	values []byte
}

func (g *guess) fits(q *store.Query) bool {
	return len(g.names) == 0 || string(q.VaryValues(g.names)) == string(g.values)
}

// Stamp returns the generations of the flight's tags from before its origin was asked.
func (f *Flight) Stamp() *cache.Stamp { return &f.fence.Stamp }

// Interim passes a 1xx response on to the starter.
func (f *Flight) Interim(status int, fields http1.Fields) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interim = append(f.interim, Interim{status, fields})
	f.notify()
}

// notify wakes the members that wait for a change. mu is held.
func (f *Flight) notify() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// next returns a channel that is closed at the next change. mu is held.
func (f *Flight) next() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// run is the flight's goroutine.
func (f *Flight) run(fill FillFunc) {
	joinable := false
	defer func() { f.group.exit(f, joinable) }()
	err := errFillExited // unless fetch returns
	defer func() { joinable = f.end(err) }()
	err = f.fetch(fill)
	f.deliver(err)
}

// fetch calls fill and brings its answer to the members.
func (f *Flight) fetch(fill FillFunc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanicked, p, debug.Stack())
		}
	}()
	a, err := fill(f.ctx, f)
	if err != nil {
		return err
	}
	if a.Mark > 0 {
		f.group.store.MarkUncacheable(f.key, a.Head, a.Head.Response.ResponseTime, a.Mark)
	}
	switch {
	case !a.Share:
		f.handOver(a)
		return nil
	case a.Validated != nil:
		f.finish(a, f.keep(a, a.Validated.Body), 0)
		return nil
	case a.Whole != nil:
		f.finish(a, f.keep(a, f.group.store.Track(a.Whole)), 0)
		return nil
	}
	return f.stream(a)
}

// handOver gives a to the starter and releases the other members.
func (f *Flight) handOver(a *Answer) {
	f.mu.Lock()
	if a.Validated != nil {
		f.result.object = store.NewObject(a.Head, a.Validated.Body, f.fence)
	}
	f.result.answer = a
	f.to(private)
	unread := f.starter.offer(a)
	f.group.stats.released.Add(uint64(max(0, f.members.n-1)))
	f.mu.Unlock()
	f.discard(unread)
}

// discard closes a private answer that the starter did not take.
func (f *Flight) discard(unread *Answer) {
	if unread == nil {
		return
	}
	if unread.Body != nil {
		unread.Body.Close()
	}
	f.cancel(ErrUnwanted)
}

// stream publishes the head and passes the bytes on as they arrive.
func (f *Flight) stream(a *Answer) error {
	if a.Body == nil {
		f.finish(a, f.keep(a, store.NewBody()), 0)
		return nil
	}
	defer a.Body.Close()
	if err := f.announce(a); err != nil {
		return err
	}
	last, err := f.pump(a.Body, a.Length)
	if err != nil {
		return err
	}
	a, o := f.keepBody(a, last)
	f.finish(a, o, last)
	return nil
}

// announce makes the head known, unless the flight was canceled.
func (f *Flight) announce(a *Answer) error {
	f.mu.Lock()
	if f.state == canceled {
		f.mu.Unlock()
		return context.Cause(f.ctx)
	}
	f.result.answer = a
	f.to(streaming)
	f.mu.Unlock()
	f.shard.publish(f)
	return nil
}

// keepBody makes an object of the body that has arrived, with the last bytes that pump
// held back. The object is nil if the body was not held.
func (f *Flight) keepBody(a *Answer, last int) (*Answer, *store.Object) {
	f.mu.Lock()
	if a.Trailer != nil {
		f.result.trailer = a.Trailer()
	}
	retain := f.buffer.retain
	chunks := f.buffer.chunks(last)
	f.mu.Unlock()
	switch {
	case !retain:
		return a, nil
	case f.spill.active():
		return a, f.keepFile(a, chunks)
	}
	b := f.group.store.Track(store.Gather(chunks))
	f.remainder.gathered = b.Memory()
	if a.Seal != nil {
		a = a.Seal(a, b)
	}
	if a.Validated != nil {
		b = a.Validated.Body
	}
	return a, f.keep(a, b)
}

// keep makes the object and stores it if the answer is to be kept.
func (f *Flight) keep(a *Answer, b *store.Body) *store.Object {
	o := store.NewObject(a.Head, b, f.fence)
	if a.Validated != nil {
		o.CopyEncoded(a.Validated)
	}
	if a.Keep {
		f.group.store.Put(f.key, o, a.Validated)
	}
	return o
}

// finish makes a final and shows the members the last bytes that pump held back. The
// object has been stored before, so that a request that no longer finds the flight finds
// the object. o is nil if the body was not held.
func (f *Flight) finish(a *Answer, o *store.Object, last int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buffer.fill(last)
	f.result.answer, f.result.object = a, o
	f.to(complete)
}

// deliver calls OnBody, after which the flight is over.
func (f *Flight) deliver(err error) {
	f.mu.Lock()
	a, o, state := f.result.answer, f.result.object, f.state
	f.mu.Unlock()
	switch {
	case a == nil || a.OnBody == nil || state == private:
	case err != nil || o == nil:
		a.OnBody(nil)
	default:
		a.OnBody(o.Body)
	}
}

// end is the last step of the flight's goroutine. It reports whether the flight can still
// be joined. The context of a private answer remains open for the starter.
func (f *Flight) end(err error) (isJoinable bool) {
	f.spill.discard()
	f.mu.Lock()
	if err != nil && f.state != private {
		f.fail(err)
	}
	if f.state != private {
		f.cancel(nil)
	}
	next := draining
	switch {
	case f.becomeJoinable():
		next = joinable
	case f.members.n == 0:
		next = released
	}
	held := f.buffer.held
	f.retainRemainder() // counted twice for a moment, rather than not at all
	f.group.hold(-held)
	f.buffer.held = 0
	f.members.yieldPlace()
	f.to(next)
	f.mu.Unlock()
	if next == released {
		f.spill.close()
	}
	return next == joinable
}

// fail ends the flight with an error. mu is held.
func (f *Flight) fail(err error) {
	if cause := context.Cause(f.ctx); cause != nil {
		err = cause
	}
	if err != ErrUnwanted {
		f.group.stats.failed.Add(1)
	}
	f.result.err = err
	f.to(failed)
}
