package fluent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/encode"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// Logger sends records to its servers from its own goroutines. Its methods are safe for
// concurrent use, also from its callbacks: methods of records that are being encoded, and
// error handlers, except for methods that wait.
type Logger struct {
	// The path of a record: 1) a call encodes it into its own buffer and appends that to a
	// shard, usually that of its processor. 2) The collector joins the shards' contents into
	// batches of one tag, which the queue keeps in order. 3) Senders take batches from the
	// queue and return failed ones. 4) When memory runs short the spiller moves batches to
	// disk; when no server is up the error handler receives them.

	// ErrorHandler is an alternative to SetErrorHandler. It may only be assigned before the
	// first Post, and not with WithSpill, because records on disk may need the handler at
	// once.
	ErrorHandler ErrorHandler

	options   options
	clock     *clock
	limits    *limits
	counts    counts
	events    events
	collector *collector
	queue     *queue
	disk      *disk    // nil without WithSpill
	spiller   *spiller // nil without WithSpill
	fallback  *fallback
	delivery  deliverer
	scratches sync.Pool

	replayed uint64        // records found on disk
	adopted  atomic.Uint64 // records received from another Logger

	closing chan struct{} // closed when Shutdown begins
	ending  ending
}

// deliverer is the interface between a Logger and its delivery.
type deliverer interface {
	start(ctx context.Context, src source)
	wait()
	down() bool
	states() []ServerStats
}

// New returns a Logger without connecting: a server that is down is no error. Servers have
// the form "host:port", "tcp://host:port", "tls://host:port" or "unix:///path"; the default
// port is 24224, and the default server 127.0.0.1.
//
// New returns an error if an address or an option is invalid, or if the directory of
// WithSpill can't be used. The Logger must be ended with Shutdown or Close.
func New(servers []string, opts ...Option) (*Logger, error) {
	o := defaultOptions()
	for _, option := range opts {
		option(&o)
	}
	if err := o.resolve(); err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		servers = []string{"127.0.0.1"}
	}
	return newLogger(o, func(o *options, report func(Event)) (deliverer, error) { return newDelivery(servers, o, report) })
}

// newLogger returns a Logger that passes its batches to the result of deliver.
func newLogger(o options, deliver func(*options, func(Event)) (deliverer, error)) (*Logger, error) {
	l, err := prepare(o, deliver)
	if err == nil {
		l.startAll()
	}
	return l, err
}

// prepare returns a Logger whose goroutines are not running yet.
func prepare(o options, deliver func(*options, func(Event)) (deliverer, error)) (*Logger, error) {
	shards := runtime.GOMAXPROCS(0)
	l := &Logger{options: o, clock: newClock(), closing: make(chan struct{})}
	l.ending.init()
	l.limits = newLimits(o.memory, o.records, shards)
	l.queue = newQueue(&l.options, l.limits, &l.counts)
	l.collector = newCollector(shards, &l.options, l.queue.push)
	l.fallback = newFallback(l)
	var next atomic.Uint32
	l.scratches.New = func() any { return &scratch{shard: &l.collector.shards[int(next.Add(1))%shards]} }
	var err error
	if l.delivery, err = deliver(&l.options, l.events.report); err != nil {
		return nil, err
	}
	if o.spillDir != "" {
		if err := l.openSpool(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Logger) openSpool() error {
	fault := func(err error) { l.events.report(Event{Kind: SpillFailed, Err: err}) }
	d, err := openDisk(&l.options, fault)
	if err != nil {
		return err
	}
	records, _ := d.records()
	l.replayed = uint64(records)
	l.disk, l.queue.disk = d, d
	l.spiller = &spiller{queue: l.queue, disk: d}
	return nil
}

// startAll starts the goroutines. Each ends when its context does; Shutdown
// ends the senders first.
func (l *Logger) startAll() {
	l.delivery.start(l.ending.senders.ctx, l.queue)
	l.ending.others.start(func(ctx context.Context) { l.collector.run(ctx, l.options.flushInterval) })
	l.ending.fallback.start(l.fallback.run)
	if l.spiller != nil {
		l.ending.others.start(l.spiller.run)
	}
}

// scratch is the encoding buffer of a call. The pool keeps it, and with it the shard, per
// processor.
type scratch struct {
	shard *shard
	buf   []byte
}

// maxScratch is the maximum capacity of a buffer kept for the next call.
const maxScratch = 64 << 10

// Post posts a record with the current time under tag. The record is a map with string keys,
// a struct or a pointer to one, a *Record, or a value with a MarshalMsg method whose output
// is a map; the package's documentation describes the encoding. It is encoded before Post
// returns and may be changed afterwards.
//
// Post never waits, except under the policy Block. It returns an error if the record was not
// accepted: ErrFull, ErrClosed, ErrNotRecord, ErrTooLarge, ErrTag, or an encoding error.
func (l *Logger) Post(tag string, record any) error {
	now := time.Now()
	return l.post(context.Background(), tag, now, l.clock.at(now), record)
}

// PostWithTime is Post for an event at time t. The zero Time means now. Times before 1970 or
// after 2106 return ErrTime, because the protocol can't represent them.
func (l *Logger) PostWithTime(tag string, t time.Time, record any) error {
	return l.post(context.Background(), tag, t, l.clock.at(time.Now()), record)
}

// PostContext is PostWithTime that, under Block, waits for room until ctx ends, and then
// returns an error that wraps ErrFull and the context's. Under other policies, and while
// there is room, ctx is ignored.
func (l *Logger) PostContext(ctx context.Context, tag string, t time.Time, record any) error {
	return l.post(ctx, tag, t, l.clock.at(time.Now()), record)
}

func (l *Logger) post(ctx context.Context, tag string, t time.Time, at int64, record any) error {
	s := l.scratches.Get().(*scratch)
	entry, err := l.encode(s.buf[:0], tag, t, record)
	if err == nil {
		err = l.accept(ctx, s.shard, tag, entry, at)
	} else {
		l.counts.invalid.Add(1)
	}
	if cap(entry) <= maxScratch {
		s.buf = entry
	}
	l.scratches.Put(s)
	return err
}

// encode appends an event: an array of time and record. No lock is held, because marshalers
// of the caller may run; a panic affects only its own record.
func (l *Logger) encode(dst []byte, tag string, t time.Time, record any) (entry []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			entry, err = nil, fmt.Errorf("fluent: encoding %T panicked: %v", record, p)
		}
	}()
	if tag == "" {
		return dst, ErrTag
	}
	if t.IsZero() {
		t = time.Now()
	}
	seconds := t.Unix()
	if seconds < 0 || seconds > 1<<32-1 {
		return dst, fmt.Errorf("%w: %s", ErrTime, t)
	}
	entry = append(dst, 0x92)
	if l.options.seconds {
		entry = msgpack.AppendUint(entry, uint64(seconds))
	} else {
		entry = msgpack.AppendEventTime(entry, t)
	}
	if r, ok := record.(*Record); ok { // encoded already
		p, err := r.payload()
		if err != nil {
			return entry, err
		}
		entry = append(entry, p...)
	} else if entry, err = encode.AppendRecord(entry, record); err != nil {
		return entry, err
	}
	if len(entry) > l.options.maxRecord {
		return entry, fmt.Errorf("%w: %d bytes, more than %d", ErrTooLarge, len(entry), l.options.maxRecord)
	}
	return entry, nil
}

// accept puts an encoded event into the shard.
func (l *Logger) accept(ctx context.Context, s *shard, tag string, entry []byte, at int64) error {
	switch s.put(l.limits, tag, entry, at, l.collector.threshold, l.clock) {
	case put:
	case putFirst:
		signal(l.collector.wake)
	case putOverThreshold:
		signal(l.collector.hurry)
	case isClosed:
		l.counts.closed.Add(1)
		return ErrClosed
	case noRoom:
		return l.overflow(ctx, s, tag, entry)
	}
	return nil
}

// overflow applies the overflow policy to a record without room.
func (l *Logger) overflow(ctx context.Context, s *shard, tag string, entry []byte) error {
	signal(l.collector.hurry)
	signal(l.queue.spill)
	err := l.makeRoom(ctx, func() outcome {
		l.unborrow()
		return s.put(l.limits, tag, entry, l.clock.at(time.Now()), l.collector.threshold, l.clock)
	})
	switch {
	case err == nil:
		signal(l.collector.hurry)
	case errors.Is(err, ErrClosed):
		l.counts.closed.Add(1)
	default:
		l.counts.full.Add(1)
	}
	return err
}

// unborrow returns the unused credit of all shards.
func (l *Logger) unborrow() {
	for i := range l.collector.shards {
		l.collector.shards[i].unborrow(l.limits)
	}
}

// makeRoom calls try until it succeeds or the policy refuses.
func (l *Logger) makeRoom(ctx context.Context, try func() outcome) error {
	if l.options.overflow == Block {
		l.limits.waiting.Add(1)
		defer l.limits.waiting.Add(-1)
	}
	collected := false
	for {
		room := l.limits.await()
		switch try() {
		case noRoom:
		case isClosed:
			return ErrClosed
		default:
			return nil
		}
		switch l.options.overflow {
		case Block:
			if err := l.waitForRoom(ctx, room); err != nil {
				return err
			}
		case DropOldest:
			if n := l.queue.dropOldest(); n > 0 {
				l.events.report(Event{Kind: Dropped, Records: n, Err: ErrFull})
			} else if !collected {
				l.collector.collect(false)
				collected = true
			} else {
				return ErrFull
			}
		default:
			return ErrFull
		}
	}
}

func (l *Logger) waitForRoom(ctx context.Context, room <-chan struct{}) error {
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrFull, ctx.Err())
	case <-l.closing:
		return ErrClosed
	}
}

// Tag is a handle for records of one tag.
type Tag struct {
	logger *Logger
	tag    string
}

// Tag returns a handle that posts under tag.
func (l *Logger) Tag(tag string) *Tag { return &Tag{logger: l, tag: tag} }

// Post is Logger.Post with the handle's tag.
func (t *Tag) Post(record any) error { return t.logger.Post(t.tag, record) }

// PostWithTime is Logger.PostWithTime with the handle's tag.
func (t *Tag) PostWithTime(at time.Time, record any) error {
	return t.logger.PostWithTime(t.tag, at, record)
}
