package accel

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/pause"
)

// StreamMode is whether the stream of a table is followed.
type StreamMode uint8

// The modes.
const (
	StreamsOff  StreamMode = iota
	StreamsOn              // follow any stream
	StreamsAuto            // follow a stream whose records have images
)

// follows reports whether a stream with that view type is followed.
func (m StreamMode) follows(view string) bool {
	switch m {
	case StreamsOn:
		return view != ""
	case StreamsAuto:
		return view != "" && view != "KEYS_ONLY"
	}
	return false
}

const (
	// feedUnused is how long a table is followed after its last use.
	feedUnused = time.Hour
	// maxPlaceAge is the age up to which a place in the stream is resumed from.
	maxPlaceAge = 12 * time.Hour
	// maxHandOver is how long a node that is not the owner any more reads the stream, so that the new
	// owner can continue.
	maxHandOver = 5 * time.Second
	// feedRetry is the delay before a stream that has ended is looked for again.
	feedRetry = time.Second
)

// feedID identifies a feed.
type feedID struct {
	origin              cache.Tag
	table, stream, view string
	maxLag              time.Duration
}

// feed follows the stream of a table, so that writes past Kasoku invalidate what is cached. In a
// cluster one node reads the stream, which is the owner of the feed's key, and invalidates for
// all; the others ask that node how far it has read.
//
// Nothing of the table is served from memory at or after until, which is Config.StreamsMaxLag after
// the time through which the stream was read. So a process or a node that stops reading stops
// serving, whatever the reason.
type feed struct {
	feedID
	svc   *Service
	key   []byte // determines the owner
	own   *ownWrites
	until atomic.Int64 // on the cache's clock

	batches batchNumbers // of the records that this node reads
	foreign batchTaker   // takes the records that another node reads

	itemsUntil atomic.Int64 // until then another node wants old images; on the cache's clock

	gauges map[string]bool // shards whose lag has a gauge; used by run only

	running bool // guarded by feeds.mu; so is stop
	stop    context.CancelFunc

	mu       sync.Mutex // acquired before that of the follower
	follower *streams.Follower
	from     streams.Checkpoint // the newest one of another node, or of this one when it has stopped
	fromAt   int64              // its time, on the cache's clock
	asked    int64              // when another node has asked last, on the cache's clock
	reader   string             // the node that reads the stream; "" for this one
	ended    string             // why it isn't read
	lagging  bool               // as logged last; it begins so
}

// lags reports whether the table's stream is followed and was not read through a time that is recent
// enough to serve answers from memory at now, a time on the cache's clock.
func (t *table) lags(now int64) bool { return t.feed != nil && now >= t.feed.until.Load() }

// itemTTL returns the lifetime of an item of the table.
func (t *table) itemTTL() time.Duration {
	if t.feed != nil {
		return t.rule.followed
	}
	return t.rule.item
}

func (s *Service) newFeed(id feedID) *feed {
	own := newOwnWrites()
	return &feed{feedID: id, svc: s, key: append([]byte("stream\x00"), id.table...), own: own, foreign: batchTaker{own: own}, lagging: true}
}

// run follows the stream until ctx ends, or there is no use in it: the stream has ended, which
// again reports, or its table is not used any more.
func (f *feed) run(ctx context.Context) (again bool) {
	started := f.svc.cache.Now()
	defer f.conceal()
	for ctx.Err() == nil {
		if f.unused(started) {
			f.end(ctx, "the table is not used")
			return false
		}
		if !f.svc.cache.Owns(f.key) {
			f.ask(ctx)
			f.watch()
			f.expose(nil)
			pause.For(ctx, f.interval())
			continue
		}
		err := f.read(ctx, started)
		if errors.Is(err, streams.ErrEnded) || errors.Is(err, streams.ErrGone) {
			f.end(ctx, err.Error())
			return true
		}
	}
	return false
}

// end drops everything of the table, whose entries live longer than others, before it is not
// followed any more.
func (f *feed) end(ctx context.Context, why string) {
	f.note("", why)
	for f.fence(ctx) != nil && ctx.Err() == nil {
		pause.For(ctx, feedRetry)
	}
}

// interval returns how often the owner is asked, and the owner looks for its successor.
func (f *feed) interval() time.Duration { return max(f.maxLag/4, 20*time.Millisecond) }

// unused reports whether the table has not been used for a while, by clients of this or of other
// nodes.
func (f *feed) unused(started int64) bool {
	f.mu.Lock()
	last := max(started, f.asked)
	f.mu.Unlock()
	if t := f.svc.peek([]byte(f.table)); t != nil {
		last = max(last, t.checked.Load())
	}
	return f.svc.cache.Now()-last > int64(feedUnused)
}

// read reads the stream in this process until another node has taken that over, or the table is
// unused.
func (f *feed) read(ctx context.Context, started int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.svc.cache.HasPeers() && f.checkpoint() == nil {
		pause.For(ctx, 3*f.interval()) // a node that has read the stream so far may ask this one
	}
	from := f.checkpoint()
	f.own.reset() // the records before that place were perhaps not taken here
	f.batches.restart()
	follower := streams.New(streams.Config{
		Call: f.svc.callStreams, Stream: f.stream, MaxLag: f.maxLag, Describe: f.svc.feeds.describes,
		Apply: f.apply, Fence: f.fence, From: from, Metrics: f.svc.metrics.streams, Log: f.svc.log.With(slog.String("table", f.table)),
	})
	f.mu.Lock()
	f.follower, f.reader, f.ended = follower, "", ""
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.follower = nil
		f.setPlace(follower.Checkpoint())
	}()
	done := make(chan error, 1)
	go func() { done <- follower.Run(ctx) }()
	tick := time.NewTicker(max(f.maxLag/20, 5*time.Millisecond))
	defer tick.Stop()
	owned := time.Now() // the last time at which this node was the owner
	for next := owned.Add(f.interval()); ; {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		if through, ok := follower.Through(); ok {
			f.raise(f.svc.cache.At(through))
		}
		f.watch()
		if time.Now().Before(next) {
			continue
		}
		next = time.Now().Add(f.interval())
		f.expose(follower.Shards())
		owns := f.svc.cache.Owns(f.key)
		if owns {
			owned = time.Now()
		}
		if f.unused(started) || !owns && (f.ask(ctx) || time.Since(owned) > maxHandOver) {
			cancel()
			<-done
			return nil
		}
	}
}

// raise records that the stream was read through a time on the cache's clock.
func (f *feed) raise(through int64) {
	until := through + int64(f.maxLag)
	for {
		old := f.until.Load()
		if old >= until || f.until.CompareAndSwap(old, until) {
			return
		}
	}
}

// watch logs when the feed begins and ceases to lag.
func (f *feed) watch() {
	lags := f.svc.cache.Now() >= f.until.Load()
	f.mu.Lock()
	changed := lags != f.lagging
	f.lagging = lags
	f.mu.Unlock()
	if !changed {
		return
	}
	if lags {
		f.svc.log.Warn("the stream of a table is not read in time: its requests pass through", slog.String("table", f.table))
	} else {
		f.svc.log.Info("the stream of a table is read in time", slog.String("table", f.table))
	}
}

// checkpoint returns where another reader of the stream would resume, nil if it can't.
func (f *feed) checkpoint() streams.Checkpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.follower != nil {
		return f.follower.Checkpoint()
	}
	if f.svc.cache.Now()-f.fromAt > int64(maxPlaceAge) {
		return nil // the origin keeps records for a day
	}
	return f.from
}

// setPlace records where reading the stream resumes. mu must be held.
func (f *feed) setPlace(c streams.Checkpoint) {
	if c != nil {
		f.from, f.fromAt = c, f.svc.cache.Now()
	}
}

// note records the node that reads the stream, or why there is none.
func (f *feed) note(reader, ended string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reader, f.ended = reader, ended
}
