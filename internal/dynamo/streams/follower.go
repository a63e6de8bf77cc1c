package streams

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/pause"
)

// Follower follows a stream. Its methods may be called concurrently.
type Follower struct {
	cfg       Config
	interval  time.Duration // between the polls of an idle shard
	epoch     time.Time     // the zero of all times of the follower
	set       shardSet
	iterators chan struct{} // slots of concurrent calls of GetShardIterator
	warnings  rate.Sometimes
	// unfiltered is set when the origin has rejected the filter of DescribeStream.
	unfiltered atomic.Bool
	// pages is the number of calls of DescribeStream that the last listing of the whole stream
	// took. It replaces as many calls for the children of single shards.
	pages atomic.Int32

	// Calls of fence are numbered, and a Fence serves all that began before it.
	fenceAsked  atomic.Uint64
	fenceTurn   chan struct{} // a lock that a waiter can give up
	fenceServed uint64        // the last call that was served; guarded by fenceTurn
}

// The pauses between the polls of a shard.
const (
	minInterval = 200 * time.Millisecond // a shard admits five calls a second
	maxInterval = 5 * time.Second
)

// New returns a follower, which follows the stream while Run runs.
func New(cfg Config) *Follower {
	if cfg.Describe == nil {
		cfg.Describe = NewLimiter()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Follower{
		cfg:       cfg,
		interval:  max(minInterval, min(cfg.MaxLag/4, maxInterval)),
		epoch:     time.Now(),
		iterators: make(chan struct{}, maxIteratorCalls),
		warnings:  rate.Sometimes{First: 1, Interval: 10 * time.Second},
		fenceTurn: make(chan struct{}, 1),
	}
	f.set.reset()
	f.set.hold() // until Run is called
	return f
}

// now returns the time since the follower's epoch, on the monotonic clock.
func (f *Follower) now() time.Duration { return time.Since(f.epoch) }

// errGap is the end of a round: the follower has to start again with a fence.
var errGap = errors.New("records may have been missed")

// Run follows the stream until ctx ends, and returns its error, or until the stream has ended,
// and returns ErrEnded or ErrGone. It may be called once.
func (f *Follower) Run(ctx context.Context) error {
	f.set.release()
	defer f.set.hold()
	from := f.cfg.From
	var failures backoff
	for {
		started := f.now()
		err := f.round(ctx, from)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errGap) {
			f.set.reset()
			return err
		}
		from = nil
		f.cfg.Log.Info("a stream is followed from its newest records", "stream", f.cfg.Stream, "cause", err)
		if f.now()-started > time.Minute {
			failures = 0
		}
		if !pause.For(ctx, failures.next()) {
			return ctx.Err()
		}
	}
}

// Through returns a time: all records that the stream had at that time have been applied, or
// a Fence has dropped everything that they concern. ok is false before the follower has caught
// up for the first time, while a fence is pending, and when Run has returned. While ok is
// true the time never moves back.
func (f *Follower) Through() (t time.Time, ok bool) {
	through := f.set.through.Load()
	if through == none {
		return time.Time{}, false
	}
	return f.epoch.Add(time.Duration(through)), true
}

// maxCheckpoint is the number of shards that a checkpoint can have.
const maxCheckpoint = 256

// Checkpoint returns the place in each shard, for another follower's Config.From. It returns
// nil if the stream can't be resumed: before the follower has started, while it has no iterator of
// some shard of which no record was applied, or if there are more than 256 shards. It may be called
// after Run has returned.
func (f *Follower) Checkpoint() Checkpoint {
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if len(f.set.shards) == 0 || len(f.set.shards) > maxCheckpoint {
		return nil
	}
	c := make(Checkpoint, len(f.set.shards))
	for id, sh := range f.set.shards {
		place := Place{Sequence: sh.sequence}
		if sh.sequence == "" && !sh.oldest {
			if place.Iterator = sh.next; sh.next == "" {
				return nil
			}
		}
		c[id] = place
	}
	return c
}

// ShardState describes a shard for reports.
type ShardState struct {
	ID      string
	Through time.Time // all records of before are applied; zero if that is unknown
	Err     error     // of the last call, or nil
}

// Shards returns the state of every shard that is followed, in the order of their IDs.
func (f *Follower) Shards() []ShardState {
	f.set.mu.Lock()
	list := make([]ShardState, 0, len(f.set.shards))
	for id, sh := range f.set.shards {
		state := ShardState{ID: id, Err: sh.err}
		if sh.read {
			state.Through = f.epoch.Add(sh.through)
		}
		list = append(list, state)
	}
	f.set.mu.Unlock()
	slices.SortFunc(list, func(a, b ShardState) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// fence returns when a Fence that began after the call has completed, or with the error of
// ctx. Concurrent calls share a Fence.
func (f *Follower) fence(ctx context.Context) error {
	number := f.fenceAsked.Add(1)
	select {
	case f.fenceTurn <- struct{}{}:
		defer func() { <-f.fenceTurn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.fenceServed >= number {
		return nil
	}
	asked := f.fenceAsked.Load()
	var failures backoff
	for {
		err := f.cfg.Fence(ctx)
		if err == nil {
			break
		}
		f.warn("a fence failed", "", err)
		if !pause.For(ctx, failures.next()) {
			return ctx.Err()
		}
	}
	f.fenceServed = asked
	count(f.cfg.Metrics.Fences, 1)
	return nil
}

// warn logs a failure, at most one in ten seconds.
func (f *Follower) warn(message, shard string, err error) {
	f.warnings.Do(func() {
		f.cfg.Log.Warn(message, "stream", f.cfg.Stream, "shard", shard, "error", err)
	})
}
