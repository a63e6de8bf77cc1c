package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

const (
	// maxIteratorAge is the age from which on an iterator is not used: it expires after 15
	// minutes.
	maxIteratorAge = 14 * time.Minute
	// maxAge is the time after which the oldest record of a shard may not be its first: the
	// origin keeps records for 24 hours.
	maxAge = 23 * time.Hour
	// emptyAnswers is the number of empty answers after which a shard that was behind by
	// more than behindAge is regarded as read to the present: the origin may answer without
	// records although some follow.
	emptyAnswers = 5
	behindAge    = time.Minute
)

// read applies the records of a shard to its end. It returns errGap if that is not possible,
// or the error of ctx.
func (r *round) read(ctx context.Context, sh *shard, delay time.Duration) error {
	f := r.f
	defer func() {
		if sh.holding {
			sh.holding = false
			f.set.release()
		}
	}()
	var failures backoff
	for {
		if !pause.For(ctx, delay) {
			return ctx.Err()
		}
		started := f.now()
		p, err := r.poll(ctx, sh)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			failures = 0
			f.set.setError(sh, nil)
			if p.next == "" {
				return nil
			}
			interval := f.interval
			if p.full || sh.behind > 0 {
				interval = minInterval
			}
			delay = max(0, started+interval-f.now())
			continue
		}
		if errors.Is(err, errGap) {
			return err
		}
		f.failed(sh, err)
		switch kind := errorType(err); {
		case kind == expiredIterator, kind == invalid:
			sh.iterator = ""
		case kind == notFound, kind == trimmedData && sh.resumed:
			return fmt.Errorf("%w: shard %s: %w", errGap, sh.id, err)
		case kind == trimmedData:
			sh.iterator, sh.gap = "", true
		}
		delay = failures.next()
	}
}

// failed records the failure of a call for a shard.
func (f *Follower) failed(sh *shard, err error) {
	f.set.setError(sh, err)
	if !isThrottle(err) && errorType(err) != expiredIterator {
		f.warn("a shard can't be read", sh.id, err)
	}
}

// poll applies the next page of a shard. A page that could not be applied is not fetched again.
func (r *round) poll(ctx context.Context, sh *shard) (*page, error) {
	if sh.page == nil {
		if err := r.refresh(ctx, sh); err != nil {
			return nil, err
		}
		started := r.f.now()
		p, err := r.f.records(ctx, sh.iterator)
		if err != nil {
			return nil, err
		}
		p.started, sh.page = started, p
	}
	p := sh.page
	if len(p.records) > 0 {
		if err := r.f.cfg.Apply(ctx, sh.id, p.records); err != nil {
			return nil, err
		}
	}
	sh.page, sh.iterator, sh.obtained = nil, p.next, p.started
	if len(p.records) == 0 {
		sh.behind = max(0, sh.behind-1)
	}
	r.applied(sh, p)
	return p, nil
}

// applied moves the place and the time of a shard past a page. The page at the end of the
// shard does not move the time: its children may have records of before.
func (r *round) applied(sh *shard, p *page) {
	f := r.f
	through := p.started
	before, read := f.set.time(sh)
	if n := len(p.records); n > 0 {
		late := 0
		for _, record := range p.records {
			if read && f.since(record.Created)+createdUnit < before {
				late++
			}
		}
		count(f.cfg.Metrics.Records, n)
		count(f.cfg.Metrics.Late, late)
		last := &p.records[n-1]
		newest := f.since(last.Created)
		if p.started-newest < behindAge {
			sh.behind = 0
		}
		if !p.full {
			newest += createdUnit
		}
		through = min(through, newest)
		f.set.setPlace(sh, last.Sequence, false)
	} else {
		f.set.setNext(sh, p.next)
		if sh.behind > 0 {
			return
		}
	}
	caughtUp := read || !p.full
	if caughtUp && p.next != "" {
		f.set.advance(sh, through)
	}
}

// createdUnit is the unit to which the origin rounds down the time of a record.
const createdUnit = time.Second

// since returns a time of the origin as a time since the follower's epoch.
func (f *Follower) since(t time.Time) time.Duration { return t.Sub(f.epoch) }

// refresh gets a new iterator if the shard has none, or an old one.
func (r *round) refresh(ctx context.Context, sh *shard) error {
	if sh.gap {
		return r.skip(ctx, sh)
	}
	if sh.iterator != "" && r.f.now()-sh.obtained <= maxIteratorAge {
		return nil
	}
	sequence, oldest := r.f.set.place(sh)
	switch {
	case sequence != "":
		return r.f.renewAt(ctx, sh, afterSequence, sequence)
	case !oldest:
		return r.skip(ctx, sh)
	case r.tooOld(sh):
		return fmt.Errorf("%w: shard %s was last read long ago", errGap, sh.id)
	}
	return r.f.renewAt(ctx, sh, trimHorizon, "")
}

// tooOld reports whether the oldest record of a shard may have been trimmed since the time
// through which the shard is read.
func (r *round) tooOld(sh *shard) bool {
	through, read := r.f.set.time(sh)
	return read && r.f.now()-through > maxAge
}

// skip continues with the newest records of a shard, after a fence. Until it has succeeded
// there is no Through.
func (r *round) skip(ctx context.Context, sh *shard) error {
	f := r.f
	sh.gap = true
	if !sh.holding {
		sh.holding = true
		f.set.hold()
	}
	f.set.setPlace(sh, "", false)
	if err := f.renewAt(ctx, sh, latest, ""); err != nil {
		return err
	}
	f.cfg.Log.Info("a shard is followed from its newest records", "stream", f.cfg.Stream, "shard", sh.id)
	if err := f.fence(ctx); err != nil {
		return err
	}
	f.set.begin(sh)
	sh.gap, sh.holding = false, false
	f.set.release()
	return nil
}

// renewAt gets a new iterator of a shard.
func (f *Follower) renewAt(ctx context.Context, sh *shard, kind, sequence string) error {
	started := f.now()
	iterator, err := f.iterator(ctx, sh.id, kind, sequence)
	if err != nil {
		return err
	}
	sh.iterator, sh.obtained, sh.resumed, sh.behind = iterator, started, false, 0
	if through, read := f.set.time(sh); kind != latest && (!read || started-through > behindAge) {
		sh.behind = emptyAnswers
	}
	return nil
}
