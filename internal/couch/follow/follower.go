package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/pause"
)

// Get sends a GET for target, which is in origin-form with its query, to the followed node.
// It returns when the header of the answer has arrived. The caller reads body to its end or
// closes it; reads fail when ctx ends.
type Get func(ctx context.Context, target string) (status int, body io.ReadCloser, err error)

// Watcher receives the events of a Follower. A single goroutine calls it, in the order of
// the node's feed.
type Watcher interface {
	// Reset is called when changes may have been missed: anything read from this database on
	// this node before the call may be outdated. The rows after it include every change
	// since some moment before the call.
	Reset(why ResetReason)
	// Row is called for each change. The row's slices are valid during the call.
	Row(row *api.Change)
	// Heard is called when all changes on the node up to that time have been passed to Row,
	// except changes that the node itself had not yet written.
	Heard(at time.Time)
}

// ResetReason is the reason for a Reset.
type ResetReason uint8

// The reasons for a Reset.
const (
	Opened    ResetReason = iota // the feed was opened for the first time
	Deleted                      // the node does not have the database
	Recreated                    // another database has its name
	Refused                      // the node rejects the position
	Garbled                      // a change could not be parsed
)

func (w ResetReason) String() string {
	return [...]string{"opened", "deleted", "recreated", "position refused", "feed garbled"}[w]
}

// FollowerConfig is the configuration of a Follower.
type FollowerConfig struct {
	// DB is the database's name, unescaped.
	DB      string
	Get     Get
	Watcher Watcher
	// Heartbeat is the interval of the node's heartbeats. Default 300ms. A lower value
	// bounds staleness more tightly when the node falls silent, for a few bytes per
	// heartbeat.
	Heartbeat time.Duration
	// MaxSilence is how long a connection may be silent before it counts as dead. Default
	// 10s.
	MaxSilence time.Duration
	// MaxPause is the longest pause between two attempts to connect. Each pause is random
	// between zero and a bound that doubles from 50ms up to MaxPause. Default 5s.
	MaxPause time.Duration
	// RetryContinuous is how long long polls are used before a continuous feed is tried
	// again. Default 1m.
	RetryContinuous time.Duration
}

func (c *FollowerConfig) setDefaults() {
	c.Heartbeat = cmp.Or(c.Heartbeat, 300*time.Millisecond)
	c.MaxSilence = cmp.Or(c.MaxSilence, 10*time.Second)
	c.MaxPause = cmp.Or(c.MaxPause, 5*time.Second)
	c.RetryContinuous = cmp.Or(c.RetryContinuous, time.Minute)
}

// Phase is the activity of a follower.
type Phase uint8

// The phases of a follower.
const (
	Connecting Phase = iota // no feed is open: see FollowerState.Err
	Following               // with a continuous feed
	Polling                 // with long polls, since the continuous feed did not work
	Absent                  // the node does not have the database
)

func (p Phase) String() string {
	return [...]string{"connecting", "following", "polling", "absent"}[p]
}

// FollowerState is the state of a follower.
type FollowerState struct {
	Phase    Phase
	Since    time.Time // the beginning of the phase
	Heard    time.Time // see Watcher.Heard; zero before its first call
	Position string    // JSON
	Rows     uint64    // passed to the watcher so far
	Resets   uint64
	Breaks   uint64 // feeds that ended in another way than the node announced
	Err      error  // why no feed is open
}

// Follower follows one database on one node while Run runs.
type Follower struct {
	cfg FollowerConfig

	// The position and its database. These fields and the next are owned by Run.
	seq             string      // the position as JSON; "" if there is none
	startTime       string      // instance_start_time of the database that seq belongs to
	startTimeUnique bool        // startTime differs from that of any database created from now on
	identifiedAt    time.Time   // when startTime was read
	resetReason     ResetReason // why seq was discarded, if startTime is set
	row             api.Change

	// The feed.
	opened       bool // a continuous feed has been open since the last reset
	endedInOrder bool // the node has ended the last feed in order, for example because the database was deleted
	polling      bool // long polls instead of a continuous feed
	modeSince    time.Time
	emptyFeeds   int // consecutive feeds of the current form without a byte
	failures     int // consecutive failed attempts

	mu    sync.Mutex
	state FollowerState
}

// NewFollower returns a follower. Run starts it.
func NewFollower(cfg FollowerConfig) *Follower {
	cfg.setDefaults()
	return &Follower{cfg: cfg}
}

// State returns the follower's state.
func (f *Follower) State() FollowerState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Run follows the database until ctx ends.
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
			// Pause, since the node may end each feed at once.
			pause.For(ctx, f.cfg.Heartbeat-time.Since(began))
			continue
		}
		if !errors.Is(err, errAbsent) {
			f.enter(Connecting)
		}
		f.backOff(ctx)
	}
}

// backOff waits for a random time before the next attempt, so that the followers of a node
// that returns don't all connect at once.
func (f *Follower) backOff(ctx context.Context) {
	const first = 50 * time.Millisecond
	bound := min(first<<min(f.failures, 20), f.cfg.MaxPause)
	f.failures++
	pause.For(ctx, rand.N(bound))
}

// attempt identifies the database, reads the missed changes, and follows the feed until it
// ends. It returns nil if the feed ended in order.
func (f *Follower) attempt(ctx context.Context) error {
	requested := time.Now()
	fresh, err := f.locate(ctx)
	if err != nil {
		return err
	}
	if f.polling && time.Since(f.modeSince) >= f.cfg.RetryContinuous {
		f.setPolling(false)
		f.emptyFeeds = maxEmptyFeeds - 1 // one attempt
	}
	if f.polling {
		if fresh {
			f.heard(requested)
		}
		return f.chooseMode(f.longPoll(ctx))
	}
	// Nothing is served before the feed is open: it is what ends when the database is replaced.
	if !fresh {
		requested = time.Now()
		if err := f.catchUp(ctx); err != nil {
			return err
		}
	}
	return f.chooseMode(f.stream(ctx, requested))
}

// maxEmptyFeeds is the number of empty feeds of one form after which the other form is used.
const maxEmptyFeeds = 2

type feedResult uint8

const (
	noAnswer  feedResult = iota // no answer; reveals nothing about the form of the feed
	emptyFeed                   // refused, or opened and then empty
	usefulFeed
)

// chooseMode decides from the end of a feed which form is used next. Some proxies buffer a
// continuous feed until it ends.
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

// reset discards the position and calls the watcher.
func (f *Follower) reset(why ResetReason) {
	f.seq, f.opened, f.startTimeUnique = "", false, false
	f.updateState(func(s *FollowerState) { s.Resets++; s.Position = "" })
	f.cfg.Watcher.Reset(why)
}

// advance sets the position to seq.
func (f *Follower) advance(seq []byte) {
	if len(seq) == 0 || string(seq) == "null" {
		return
	}
	f.seq = string(seq)
	f.updateState(func(s *FollowerState) { s.Position = f.seq })
}

// startTimeResolution is the time after which a new database certainly gets another
// instance_start_time, which is in seconds.
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
	errRefused = errors.New("the node rejects the position")
	errSilent  = errors.New("the feed fell silent")

	errReplaced = errors.New("the database was replaced")
)

// statusError is an error for an answer that is not a feed.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the node answered with %d", int(e)) }
