package httpcache

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
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// FillFunc asks the origin for a flight and returns when the head of its answer
// is there. It runs in a goroutine of the flight's own and must not touch what
// belongs to the exchange of whoever started it. ctx ends when the flight does,
// or when nobody wants its bytes any more; the body is read under it.
type FillFunc func(ctx context.Context, f *Flight) (*Answer, error)

// Answer is what the origin said.
type Answer struct {
	// Head is the response's, or what the stored one's has become by a 304.
	Head *store.Head
	// Validated is the stored object that a 304 speaks of; nil for a new response.
	Validated *store.Object
	// Body is the response's body without framing, which gives io.EOF only when it is
	// whole; nil for none. The flight closes it.
	Body io.ReadCloser
	// Length is the body's, -1 when it is not known.
	Length int64
	// Whole is the body if it is there already: then Body is nil.
	Whole *store.Body
	// Seal, if set, is asked when Body is whole: what it returns is stored, or not,
	// with that body or that of its Validated. It may give it another Head, too.
	Seal func(*Answer, *store.Body) *Answer
	// Trailer gives the fields behind Body when that is whole; nil for none. They go to
	// who follows the flight and are not stored.
	Trailer func() http1.Fields
	// Share lets those who wait have it. Without it they are let go at once, and
	// whoever started the flight gets Body to read.
	Share bool
	// Keep puts it into the store when it is whole. It means nothing without Share.
	Keep bool
	// Mark is for how long requests like this one are marked as getting answers
	// that cannot be shared; 0 for not at all.
	Mark time.Duration
	// Remember is for how long an answer with Share is given to all who ask for the same
	// when the flight is over, if it was held as a whole.
	Remember time.Duration
	// After, if set, gets the body of such an answer when those who wait have it, nil if it
	// was not held or is not whole. The flight is over when it returns.
	After func(*store.Body)
}

// Interim is a 1xx answer.
type Interim struct {
	Status int
	Fields http1.Fields // in memory of their own
}

// state is where a flight is.
type state uint8

const (
	asking    state = iota // the head is not known
	streaming              // bytes come
	whole                  // object is complete
	apart                  // the answer is for whoever started the flight alone
	failed                 // err says why; there may be bytes
)

// What flights fail with, beside their origins' errors.
var (
	ErrClosed     = errors.New("httpcache: the service has ended")
	ErrUnwanted   = errors.New("httpcache: nobody wants the rest of the body")
	ErrBehind     = errors.New("httpcache: the body is not kept and its reader fell behind")
	ErrPanicked   = errors.New("httpcache: the fill panicked")
	errSurplus    = errors.New("httpcache: the body is longer than was announced")
	errShort      = fmt.Errorf("httpcache: the body is shorter than was announced: %w", io.ErrUnexpectedEOF)
	errFillLeft   = fmt.Errorf("%w: it ended its goroutine", ErrPanicked)
	errNoProgress = errors.New("httpcache: the body gives neither bytes nor an end")
)

// Flight is one request to the origin for whoever wants its answer. What stands
// above mu is set before the flight is published; what stands below is guarded
// by it. mu is taken while a shard of flights is held, and nothing but flights.mu is
// taken while mu is.
type Flight struct {
	store      *store.Store
	flights    *flights
	shard      *flightShard
	key        []byte
	part       []byte // as Ask has it
	guess      guess
	background bool
	lasting    bool          // what it brings may outlive the process
	dry        bool          // the disk did not take it; of the pump alone
	fill       FillFunc      // of run alone, which drops it when f lands
	fence      store.Fence   // noted before the origin is asked
	began      int64         // on the cache's clock, for flights with tags of the caller's
	fenced     bool          // it has such tags
	lateFor    time.Duration // as Ask has it
	limits     *FlightLimits
	ctx        context.Context
	cancel     context.CancelCauseFunc
	after      *Flight // what those who had joined fly when it has failed; the shard guards it

	mu          sync.Mutex
	state       state
	err         error
	answer      *Answer
	object      *store.Object
	trailer     http1.Fields // of a body that is whole
	own         *Answer      // for whoever started the flight, until it is taken
	starterLeft bool
	interim     []Interim
	members     int   // tickets that have not left
	forsaken    bool  // they did before the head was known
	leftAt      int64 // how many bytes had come when the last one left
	pieces      pieces
	file        *disk.Writer  // what the body goes to; nil: nothing. Only the pump sets it
	made        *store.Memory // what was made of the pieces
	loan        *store.Memory // what the members need of it when the flight has ended
	beside      int64         // and of other memory, in bytes
	ended       bool
	landed      landed
	changed     chan struct{} // closed at the next change; nil while nobody waits
}

// guess is what a flight is thought to be for before its head is known: the
// values that its starter presents for the fields that the URL was last known
// to vary by.
type guess struct {
	names  []string
	values []byte
}

func (g *guess) fits(q *store.Query) bool {
	return len(g.names) == 0 || string(q.Presented(g.names)) == string(g.values)
}

// Stamp is what was noted about the flight's tags before its origin is asked.
func (f *Flight) Stamp() *cache.Stamp { return &f.fence.Stamp }

// Interim passes a 1xx answer on to who started the flight.
func (f *Flight) Interim(status int, fields http1.Fields) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interim = append(f.interim, Interim{status, fields})
	f.tell()
}

// tell wakes those who wait for a change. mu is held.
func (f *Flight) tell() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// next is closed at the next change. mu is held.
func (f *Flight) next() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// run is the flight's goroutine.
func (f *Flight) run() {
	defer f.flights.done(f)
	err := errFillLeft // stands only if fly does not return
	defer func() { f.end(err) }()
	err = f.fly()
	f.settle(err)
}

// fly asks the origin and does with its answer what the answer says.
func (f *Flight) fly() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanicked, p, debug.Stack())
		}
	}()
	a, err := f.fill(f.ctx, f)
	if err != nil {
		return err
	}
	if a.Mark > 0 {
		f.store.Mark(f.key, a.Head, a.Head.Response.ResponseTime, a.Mark)
	}
	switch {
	case !a.Share:
		f.handOver(a)
		return nil
	case a.Validated != nil:
		f.finish(a, f.keep(a, a.Validated.Body), 0)
		return nil
	case a.Whole != nil:
		f.finish(a, f.keep(a, f.store.Counted(a.Whole)), 0)
		return nil
	}
	return f.stream(a)
}

// handOver leaves a to whoever started the flight, and lets the others go.
func (f *Flight) handOver(a *Answer) {
	f.mu.Lock()
	if a.Validated != nil {
		f.object = store.NewObject(a.Head, a.Validated.Body, f.fence)
	}
	f.state, f.answer, f.own = apart, a, a
	f.flights.stats.released.Add(uint64(max(0, f.members-1)))
	f.tell()
	unread := f.unread()
	f.mu.Unlock()
	f.discard(unread)
}

// unread takes the answer that is for the starter alone, if the starter has left
// without it. mu is held.
func (f *Flight) unread() *Answer {
	if f.own == nil || !f.starterLeft && !f.background {
		return nil
	}
	a := f.own
	f.own = nil
	return a
}

// discard ends what nobody reads.
func (f *Flight) discard(a *Answer) {
	if a == nil {
		return
	}
	if a.Body != nil {
		a.Body.Close()
	}
	f.cancel(ErrUnwanted)
}

// stream publishes the head and hands out the bytes as they come.
func (f *Flight) stream(a *Answer) error {
	if a.Body == nil {
		f.finish(a, f.keep(a, store.NewBody()), 0)
		return nil
	}
	defer a.Body.Close()
	f.announce(a)
	last, err := f.pump(a.Body, a.Length)
	if err != nil {
		return err
	}
	a, o := f.keepCome(a, last)
	f.finish(a, o, last)
	return nil
}

// keepCome makes the object of a body that has come, with last bytes that are kept
// back; nil if it was not kept.
func (f *Flight) keepCome(a *Answer, last int) (*Answer, *store.Object) {
	f.mu.Lock()
	if a.Trailer != nil {
		f.trailer = a.Trailer()
	}
	kept := f.pieces.kept
	all := f.pieces.all(last)
	f.mu.Unlock()
	switch {
	case !kept:
		return a, nil
	case f.sinking():
		return a, f.keepFile(a, all)
	}
	b := f.store.Counted(store.Gather(all))
	f.made = b.Memory()
	return f.seal(a, b)
}

// seal keeps a body that has come to its end.
func (f *Flight) seal(a *Answer, b *store.Body) (*Answer, *store.Object) {
	if a.Seal != nil {
		a = a.Seal(a, b)
	}
	if a.Validated != nil {
		b = a.Validated.Body
	}
	return a, f.keep(a, b)
}

// announce lets the head be known.
func (f *Flight) announce(a *Answer) {
	f.mu.Lock()
	f.state, f.answer = streaming, a
	f.tell()
	f.mu.Unlock()
	f.shard.publish(f)
}

// keep makes the object and stores it, if it is to be stored.
func (f *Flight) keep(a *Answer, b *store.Body) *store.Object {
	o := store.NewObject(a.Head, b, f.fence)
	if a.Validated != nil {
		o.CopyForms(a.Validated)
	}
	if a.Keep {
		f.store.Put(f.key, o, a.Validated)
	}
	return o
}

// finish lets it be known that the answer is whole, with the bytes that were kept
// back. That comes after the object was stored: who finds the flight gone finds
// what it has stored. o is nil if the body was not kept.
func (f *Flight) finish(a *Answer, o *store.Object, last int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pieces.came(last)
	f.state, f.answer, f.object = whole, a, o
	f.tell()
}

// end is the flight's last step: a failure is let known, and what it took is
// given back. An answer that is somebody's own is still read under ctx.
func (f *Flight) end(err error) {
	if f.file != nil {
		f.file.Discard() // unless it was finished
	}
	if file := f.ending(err); file != nil {
		file.Close()
	}
}

func (f *Flight) ending(err error) *disk.Writer {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	if err != nil {
		f.fail(err)
	}
	f.land()
	held := f.pieces.held
	f.lend() // counted twice for a moment, and never not at all
	f.flights.hold(-held)
	f.pieces.held = 0
	f.reclaim()
	if f.state != apart {
		f.cancel(nil)
	}
	return f.unused()
}

// fail lets it be known that no more comes. mu is held.
func (f *Flight) fail(err error) {
	if cause := context.Cause(f.ctx); cause != nil {
		err = cause
	}
	if err != ErrUnwanted {
		f.flights.stats.failed.Add(1)
	}
	f.state, f.err = failed, err
	f.tell()
}
