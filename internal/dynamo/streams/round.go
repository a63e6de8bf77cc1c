package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// round follows the stream without a gap. Its goroutines are the readers of shards, and the
// one that has called Follower.round, which looks for the children of ended shards.
type round struct {
	f       *Follower
	cancel  context.CancelCauseFunc
	readers sync.WaitGroup
	ended   chan *shard // shards that were read to their end
}

// round follows the stream from a checkpoint, or from the newest records if it is empty. It
// returns when all of its goroutines have ended.
func (f *Follower) round(ctx context.Context, from Checkpoint) error {
	f.set.reset()
	stream, err := f.describeAll(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &round{f: f, cancel: cancel, ended: make(chan *shard)}
	defer r.readers.Wait()
	defer cancel(nil)
	var shards []*shard
	if len(from) > 0 {
		shards, err = resume(stream, from)
		f.set.replace(nil, shards)
	} else {
		shards, err = f.start(ctx, stream)
	}
	if err != nil {
		return err
	}
	r.follow(ctx, shards)
	return r.findChildren(ctx, stream.enabled())
}

// describeAll returns the stream with all of its shards, and repeats failed calls. A stream
// that is enabled has a shard, perhaps not at once.
func (f *Follower) describeAll(ctx context.Context) (*description, error) {
	var failures backoff
	for {
		stream, err := f.describe(ctx, "")
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && (len(stream.shards) > 0 || !stream.enabled()):
			return stream, nil
		case errorType(err) == notFound:
			return nil, ErrGone
		case err != nil:
			f.warn("a stream can't be described", "", err)
		}
		if !pause.For(ctx, failures.next()) {
			return nil, ctx.Err()
		}
	}
}

// start returns the shards to follow from the newest records. It returns when each has an
// iterator and a fence has completed since.
func (f *Follower) start(ctx context.Context, stream *description) ([]*shard, error) {
	shards := newest(stream)
	f.set.hold()
	defer f.set.release()
	f.set.replace(nil, shards)
	if len(shards) == 0 {
		return nil, nil
	}
	var group sync.WaitGroup
	errs := make([]error, len(shards))
	for i, sh := range shards {
		group.Go(func() { errs[i] = f.startShard(ctx, sh) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := f.fence(ctx); err != nil {
		return nil, err
	}
	for _, sh := range shards {
		f.set.begin(sh)
	}
	return shards, nil
}

// startShard gets an iterator at the end of a shard, and repeats failed calls.
func (f *Follower) startShard(ctx context.Context, sh *shard) error {
	var failures backoff
	for {
		err := f.renewAt(ctx, sh, latest, "")
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if errorType(err) == notFound {
			return fmt.Errorf("%w: shard %s: %w", errGap, sh.id, err)
		}
		f.failed(sh, err)
		if !pause.For(ctx, failures.next()) {
			return ctx.Err()
		}
	}
}

// newest returns the shards that get new records. A shard that is closed and has no children
// is one of them while the stream is enabled: its children are not listed yet, or it was
// merged with another. Descendants of another one of the list are left out: they were created
// while the pages were read, and are found when it ends.
func newest(stream *description) (shards []*shard) {
	parents := map[string]string{}
	hasChild := map[string]bool{}
	for _, l := range stream.shards {
		parents[l.id] = l.parent
		hasChild[l.parent] = true
	}
	chosen := map[string]bool{}
	for _, l := range stream.shards {
		chosen[l.id] = !l.closed || stream.enabled() && !hasChild[l.id]
	}
	for _, l := range stream.shards {
		if chosen[l.id] && !descends(l.id, parents, chosen) {
			chosen[l.id] = true
			shards = append(shards, &shard{id: l.id, leaf: l.closed})
		}
	}
	return shards
}

// descends reports whether one of the ancestors of a shard is chosen.
func descends(id string, parents map[string]string, chosen map[string]bool) bool {
	for range parents { // a bound, should the parents form a circle
		id = parents[id]
		if id == "" {
			return false
		}
		if chosen[id] {
			return true
		}
	}
	return false
}

// resume returns the shards of a checkpoint. It returns errGap if one of them is not in the
// stream any more, or if the stream has an open shard that descends from none of them.
func resume(stream *description, from Checkpoint) (shards []*shard, err error) {
	parents := map[string]string{}
	for _, l := range stream.shards {
		parents[l.id] = l.parent
	}
	chosen := map[string]bool{}
	for id := range from {
		if _, exists := parents[id]; !exists {
			return nil, fmt.Errorf("%w: shard %s of the checkpoint does not exist", errGap, id)
		}
		chosen[id] = true
	}
	for _, l := range stream.shards {
		below := descends(l.id, parents, chosen)
		switch {
		case chosen[l.id] && !below:
			place := from[l.id]
			shards = append(shards, &shard{id: l.id, resumed: true, iterator: place.Iterator, next: place.Iterator,
				sequence: place.Sequence, oldest: place == Place{}})
		case !chosen[l.id] && !below && !l.closed:
			return nil, fmt.Errorf("%w: shard %s is not in the checkpoint", errGap, l.id)
		}
	}
	return shards, nil
}

// follow starts to read shards of the set. The first polls of many shards are spread over an interval.
func (r *round) follow(ctx context.Context, shards []*shard) {
	for i, sh := range shards {
		delay := time.Duration(i) * min(time.Millisecond, r.f.interval/time.Duration(len(shards)))
		r.readers.Go(func() {
			if err := r.read(ctx, sh, delay); err != nil {
				r.cancel(err) // without effect if ctx has ended
				return
			}
			select {
			case r.ended <- sh:
			case <-ctx.Done():
			}
		})
	}
}

// search is a search for the children of a shard that was read to its end.
type search struct {
	*shard
	tries    int
	failures backoff       // of its calls
	next     time.Duration // when it continues
	until    time.Duration // when it stops to hold back Through; 0 for never
	// found has the children that are followed already. A search is repeated once to check
	// that there are no others.
	found map[string]bool
	idle  bool // it does not hold back Through
}

const (
	// leafWait is the time in which a shard that was closed when the follower started has to
	// get children. Else it has probably been merged.
	leafWait = time.Minute
	// leafInterval is the interval of searches after leafWait.
	leafInterval = 5 * time.Minute
	// checkAfter is the time after which a successful search is repeated.
	checkAfter = 10 * time.Second
	// gatherShare is the share of MaxLag for which a search waits for other shards to end, so
	// that one call serves them all: shards are often closed at the same time.
	gatherShare = 5
)

// findChildren looks for the children of shards that were read to their end, and starts to
// read them. It returns errGap or ErrEnded, or the error of ctx.
func (r *round) findChildren(ctx context.Context, enabled bool) error {
	var list []*search
	for {
		if !enabled && r.f.set.size() == 0 {
			return ErrEnded
		}
		s := r.nextSearch(ctx, &list)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		parent := s.id
		if n := r.pending(list); r.f.unfiltered.Load() || n > 1 && n >= int(r.f.pages.Load()) {
			parent = ""
		}
		stream, err := r.f.describe(ctx, parent)
		switch kind := errorType(err); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case kind == notFound && s.idle && parent != "": // the shard was trimmed
			list = slices.DeleteFunc(list, func(other *search) bool { return other == s })
			continue
		case kind == notFound:
			return fmt.Errorf("%w: the children of shard %s: %w", errGap, s.id, err)
		case kind == invalid && parent != "":
			r.f.unfiltered.Store(true)
			continue
		case err != nil:
			r.f.failed(s.shard, err)
			r.retry(s)
			continue
		}
		r.f.set.setError(s.shard, nil)
		s.failures = 0
		enabled = stream.enabled()
		children := map[string][]listed{}
		for _, l := range stream.shards {
			children[l.parent] = append(children[l.parent], l)
		}
		var rest []*search
		for _, s := range list {
			done, err := r.conclude(ctx, s, children[s.id], enabled, parent == "" || parent == s.id)
			if err != nil {
				return err
			}
			if !done {
				rest = append(rest, s)
			}
		}
		list = rest
	}
}

// nextSearch waits until a search is due and returns it: first one that holds back Through.
// It adds the shards that end meanwhile to the list. It returns nil when ctx ends.
func (r *round) nextSearch(ctx context.Context, list *[]*search) *search {
	for {
		var next *search
		for _, s := range *list {
			if next == nil || r.before(s, next) {
				next = s
			}
		}
		wait := time.Duration(0)
		if next != nil {
			wait = max(0, next.next-r.f.now())
		}
		timer := time.NewTimer(wait)
		var due <-chan time.Time
		if next != nil {
			due = timer.C
		}
		var ended *shard
		select { // shards that have ended first, so that one call serves them all
		case ended = <-r.ended:
		default:
			select {
			case ended = <-r.ended:
			case <-due:
				timer.Stop()
				return next
			case <-ctx.Done():
				timer.Stop()
				return nil
			}
		}
		timer.Stop()
		s := &search{shard: ended, next: r.f.now()}
		if r.f.set.size() > 1 {
			s.next += r.f.cfg.MaxLag / gatherShare
		}
		if ended.leaf {
			s.until = s.next + leafWait
		}
		*list = append(*list, s)
	}
}

// before reports whether the search a is to be made before b.
func (r *round) before(a, b *search) bool {
	now := r.f.now()
	if due := a.next <= now; due != (b.next <= now) {
		return due
	} else if due && a.idle != b.idle {
		return b.idle
	}
	return a.next < b.next
}

// pending returns the number of searches that are due or hold back Through.
func (r *round) pending(list []*search) (n int) {
	for _, s := range list {
		if !s.idle || s.next <= r.f.now() {
			n++
		}
	}
	return n
}

// retry sets the time of the next attempt after a failed call. While it holds back Through, that
// is soon.
func (r *round) retry(s *search) {
	if s.idle {
		r.postpone(s)
		return
	}
	s.next = r.f.now() + s.failures.next()
}

// postpone sets the time of the next attempt.
func (r *round) postpone(s *search) {
	s.tries++
	s.next = r.f.now() + time.Duration(min(s.tries, 10))*time.Second
	if s.idle {
		s.next = r.f.now() + leafInterval
	}
}

// conclude continues a search with the children that were listed. If the listing is not
// complete for the shard, an absence of children has no meaning. It returns true when the
// search is over.
func (r *round) conclude(ctx context.Context, s *search, children []listed, enabled, complete bool) (done bool, err error) {
	if s.idle {
		for _, l := range children {
			if !s.found[l.id] {
				return false, fmt.Errorf("%w: shard %s has got the child %s late", errGap, s.id, l.id)
			}
		}
		if complete {
			r.postpone(s)
		}
		return complete && s.found != nil, nil
	}
	if len(children) > 0 {
		r.adopt(ctx, s, children)
		return false, nil
	}
	switch {
	case !complete:
	case !enabled:
		r.f.set.replace(s.shard, nil)
		return true, nil
	case s.until != 0 && r.f.now() >= s.until && r.f.set.size() > 1:
		r.f.set.replace(s.shard, nil)
		s.idle = true
		r.postpone(s)
	default:
		r.postpone(s)
	}
	return false, nil
}

// adopt starts to read the children of a shard in its place.
func (r *round) adopt(ctx context.Context, s *search, children []listed) {
	s.found = map[string]bool{}
	var shards []*shard
	for _, l := range children {
		if !s.found[l.id] && !r.f.set.has(l.id) {
			shards = append(shards, &shard{id: l.id, oldest: true})
		}
		s.found[l.id] = true
	}
	r.f.set.replace(s.shard, shards)
	s.idle, s.next = true, r.f.now()+checkAfter
	r.follow(ctx, shards)
}
