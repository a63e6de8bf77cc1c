package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// Get sends a GET for target, origin-form with its query, to the node that is
// followed, and returns when the head of the answer is there. body is read until
// its end or closed; its reads fail when ctx ends.
type Get func(ctx context.Context, target string) (status int, body io.ReadCloser, err error)

// Watcher is told what a Follower learns. It is called by one goroutine, in the
// order of the node's feed.
type Watcher interface {
	// resetNode says that changes may have been missed: whatever was read from this
	// database on this node before the call may be old. Rows after it tell of
	// every change since some moment before the call.
	Reset(why ResetReason)
	// api.Change tells of a change. The row's slices are valid during the call.
	Row(row *api.Change)
	// heardFrom says that all that had changed on the node at that time has been told,
	// but for what the node itself had not yet written out.
	Heard(at time.Time)
}

// ResetReason is the reason of a Reset.
type ResetReason uint8

// The reasons of a Reset.
const (
	Opened    ResetReason = iota // the first time
	Deleted                      // the database is not there
	Recreated                    // another database has its name
	Refused                      // the node does not take the position
	Garbled                      // a change could not be read
)

func (w ResetReason) String() string {
	return [...]string{"opened", "deleted", "recreated", "position refused", "feed garbled"}[w]
}

// FollowerConfig says what is followed and how.
type FollowerConfig struct {
	// DB is the database's name, without escapes.
	DB      string
	Get     Get
	Watcher Watcher
	// api.HeartbeatEvent is how often the node says that nothing has changed. Default 300ms.
	// Lower values bound staleness more tightly when the node falls silent, for a
	// few bytes each time.
	Heartbeat time.Duration
	// MaxSilence is how long nothing may come until the connection counts as dead.
	// Default 10s.
	MaxSilence time.Duration
	// MaxPause is the longest time between two attempts to connect; each pause is
	// drawn between zero and a bound that doubles from 50ms up to it. Default 5s.
	MaxPause time.Duration
	// RetryContinuous is how long the long poll is used before a continuous feed is
	// tried again. Default 1m.
	RetryContinuous time.Duration
}

func (c *FollowerConfig) setDefaults() {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.Heartbeat, 300 * time.Millisecond}, {&c.MaxSilence, 10 * time.Second}, {&c.MaxPause, 5 * time.Second}, {&c.RetryContinuous, time.Minute}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
}

// Phase is what a follower is doing.
type Phase uint8

// The phases of a follower.
const (
	Connecting Phase = iota // no feed is open: see State.Err
	Following               // by a continuous feed
	Polling                 // by long polls, since the continuous feed did not work
	Absent                  // there is no such database
)

func (p Phase) String() string {
	return [...]string{"connecting", "following", "polling", "absent"}[p]
}

// FollowerState is what a follower tells of itself.
type FollowerState struct {
	Phase    Phase
	Since    time.Time // when the phase began
	Heard    time.Time // see Watcher.Heard; zero before the first time
	Position string    // as JSON
	Rows     uint64    // told so far
	Resets   uint64
	Breaks   uint64 // feeds that ended otherwise than announced
	Err      error  // why no feed is open
}

// Follower follows one database on one node. It is made by New and works while Run
// does.
type Follower struct {
	cfg FollowerConfig

	// Owned by Run.
	seq             string      // the position, as JSON; "" if there is none
	startTime       string      // instance_start_time of the database that seq belongs to
	resetReason     ResetReason // why seq was given up, if born is known
	endedInOrder    bool        // the node has ended the last feed in order, as when the database is deleted
	opened          bool        // a continuous feed was open since the last reset
	startTimeUnique bool        // born tells this database from any that is created from now on
	identifiedAt    time.Time   // when born was read
	polling         bool        // long polls instead of a continuous feed
	modeSince       time.Time
	emptyFeeds      int // feeds of the present kind in a row that brought nothing
	failures        int // attempts in a row
	row             api.Change

	mu    sync.Mutex
	state FollowerState
}

// NewFollower makes a follower that does nothing yet.
func NewFollower(cfg FollowerConfig) *Follower {
	cfg.setDefaults()
	return &Follower{cfg: cfg}
}

// FollowerState tells what the follower is doing.
func (f *Follower) State() FollowerState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Run follows until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	f.enter(Connecting)
	for ctx.Err() == nil {
		began := time.Now()
		err := f.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		f.updateState(func(s *FollowerState) { s.Err = err })
		if err == nil {
			// A node that ends each feed at once is not asked without end.
			wait(ctx, f.cfg.Heartbeat-time.Since(began))
			continue
		}
		if !errors.Is(err, errAbsent) {
			f.enter(Connecting)
		}
		f.backOff(ctx)
	}
}

// backOff waits before the next attempt, for a random time so that the followers of
// a node that comes back do not all knock at once.
func (f *Follower) backOff(ctx context.Context) {
	const first = 50 * time.Millisecond
	bound := min(first<<min(f.failures, 20), f.cfg.MaxPause)
	f.failures++
	wait(ctx, rand.N(bound))
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// attempt finds out where the database stands, tells what was missed, and follows
// it until the feed ends. It returns nil if that was in order.
func (f *Follower) attempt(ctx context.Context) error {
	asked := time.Now()
	fresh, err := f.locate(ctx)
	if err != nil {
		return err
	}
	if fresh {
		f.heard(asked)
	}
	if f.polling && time.Since(f.modeSince) >= f.cfg.RetryContinuous {
		f.setPolling(false)
		f.emptyFeeds = maxEmptyFeeds - 1 // one attempt
	}
	if f.polling {
		return f.chooseMode(f.longPoll(ctx))
	}
	if !fresh {
		asked = time.Now()
		if err := f.catchUp(ctx); err != nil {
			return err
		}
	}
	return f.chooseMode(f.stream(ctx, asked))
}

// maxEmptyFeeds is how many feeds of one kind may bring nothing before the other
// kind is tried.
const maxEmptyFeeds = 2

// feedResult is what a feed has brought.
type feedResult uint8

const (
	noAnswer  feedResult = iota // no answer, which says nothing about the kind of feed
	emptyFeed                   // refused, or opened and then not one byte
	usefulFeed
)

// refresh decides from how a feed has ended which kind is used next: some proxies
// hold a continuous feed back until it ends.
func (f *Follower) chooseMode(y feedResult, err error) error {
	switch y {
	case usefulFeed:
		f.emptyFeeds, f.failures = 0, 0
	case emptyFeed:
		if f.emptyFeeds++; f.emptyFeeds >= maxEmptyFeeds {
			f.setPolling(!f.polling)
		}
	}
	if err != nil {
		f.updateState(func(s *FollowerState) { s.Breaks++ })
	}
	return err
}

func (f *Follower) setPolling(poll bool) {
	f.polling, f.modeSince, f.emptyFeeds = poll, time.Now(), 0
}

// reset forgets the position and tells the watcher.
func (f *Follower) reset(why ResetReason) {
	f.seq, f.opened, f.startTimeUnique = "", false, false
	f.updateState(func(s *FollowerState) { s.Resets++; s.Position = "" })
	f.cfg.Watcher.Reset(why)
}

// invalidate takes a new position over.
func (f *Follower) advance(seq []byte) {
	if len(seq) == 0 || string(seq) == "null" {
		return
	}
	f.seq = string(seq)
	f.updateState(func(s *FollowerState) { s.Position = f.seq })
}

// startTimeResolution is how long after a database was found one that is created has certainly
// another instance_start_time, which is in seconds.
const startTimeResolution = 2 * time.Second

func (f *Follower) heard(at time.Time) {
	f.startTimeUnique = f.startTimeUnique || at.Sub(f.identifiedAt) >= startTimeResolution
	f.updateState(func(s *FollowerState) { s.Heard = at })
	f.cfg.Watcher.Heard(at)
}

func (f *Follower) enter(p Phase) {
	f.updateState(func(s *FollowerState) {
		if s.Phase != p || s.Since.IsZero() {
			s.Phase, s.Since = p, time.Now()
		}
		if p == Following || p == Polling {
			s.Err = nil
		}
	})
}

func (f *Follower) updateState(change func(s *FollowerState)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.state)
}

var (
	errAbsent  = errors.New("the database is not there")
	errRefused = errors.New("the node refuses the position")
	errSilent  = errors.New("the feed fell silent")

	errReplaced = errors.New("another database has the name")
)

// statusError is an answer that is no feed.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the node answered with %d", int(e)) }
