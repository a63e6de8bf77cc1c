package feed

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/pause"
)

// phase is the state of a group.
type phase uint8

const (
	opening phase = iota // the node has not answered yet
	open
	refused // the node refuses this feed
	ended   // the node has ended the feed in order, or the database was deleted
	lost    // the feed broke off and can't be resumed
	away    // the node can't be reached, or did not return in time
)

// group is a shared feed with its newest rows and its clients. Its goroutine writes the
// fields guarded by mu; the clients' goroutines read them.
type group struct {
	cfg *Config
	key string
	source
	cancel context.CancelFunc

	checking       chan struct{} // a lock for requesting the design document's revision, once the group is open
	checkedAt      time.Time     // the last request for it; guarded by checking
	filterCurrent  bool          // its result; guarded by checking
	filterRevision string        // the design document's revision; set before the group is open
	lingerTimer    *time.Timer   // guarded by Feeds.mu, like clients
	clients        int

	mu     sync.Mutex // no other lock is acquired while it is held
	phase  phase
	broken bool         // the feed broke off and may be resumed
	header http1.Fields // of the node's answer
	ring   ring
	pages  map[pageKey]*pageRead
	moved  chan struct{} // closed and replaced at each change of phase or ring
}

// view is a snapshot of a group.
type view struct {
	phase      phase
	first, end uint64
	moved      <-chan struct{}
}

func (g *group) view() view {
	g.mu.Lock()
	defer g.mu.Unlock()
	return view{g.phase, g.ring.first, g.ring.end(), g.moved}
}

// copyRows copies rows from number at on, which must be in the ring: one row, and more up to
// maxBatchText in total. The client holds them while it writes them.
func (g *group) copyRows(at uint64, dst []row) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at < g.ring.first {
		return 0
	}
	left := maxBatchText
	for _, r := range g.ring.rows[at-g.ring.first:] {
		if left -= len(r.text); n == len(dst) || n > 0 && left < 0 {
			break
		}
		dst[n] = r
		n++
	}
	return n
}

// find returns the place in the ring where a client begins, and the position there.
func (g *group) find(since string) (at uint64, seq string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if since == "now" {
		at, ok = g.ring.end(), true
	} else {
		at, ok = g.ring.find(since)
	}
	return at, g.ring.position(at), ok
}

// formatPosition returns a position in the node's JSON type, string or number, if that is
// known. The type of a position from a client's URL is unknown.
func (g *group) formatPosition(seq string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if base := g.ring.base; base != "" && base[0] == '"' && seq[0] != '"' {
		return strconv.Quote(seq)
	}
	return seq
}

// update changes the group and wakes its clients.
func (g *group) update(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	close(g.moved)
	g.moved = make(chan struct{})
}

// set changes the group without waking its clients.
func (g *group) set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *group) enter(p phase) { g.update(func() { g.phase = p }) }

// run reads the feed until it ends, and returns the final phase.
func (g *group) run(ctx context.Context) phase {
	startTime, since, err := g.begin(ctx)
	if err != nil {
		return openFailure(err)
	}
	var until time.Time // the time limit for resuming
	for failures := 0; ; failures++ {
		began := time.Now()
		alive, orderly, err := g.read(ctx, startTime, &since)
		var no refusal
		switch {
		case ctx.Err() != nil: // the group has no clients any more
			return lost
		case orderly, errors.Is(err, errReplaced):
			return ended
		case until.IsZero() && !alive && errors.As(err, &no):
			return refused
		case errors.Is(err, errGarbled) || !isUnique(startTime):
			return lost
		}
		if alive || until.IsZero() {
			until = time.Now().Add(g.cfg.ResumeTime)
		}
		if time.Since(began) >= g.cfg.ResumeTime { // otherwise a proxy that cuts the feed might do so at a high rate
			failures = 0
		}
		g.set(func() { g.broken = true })
		if p := g.resume(ctx, startTime, since, until, failures); p != open {
			return p
		}
	}
}

// openFailure returns the phase for a feed that could not be opened.
func openFailure(err error) phase {
	var no refusal
	if errors.As(err, &no) || errors.Is(err, errGarbled) {
		return refused
	}
	return away
}

// begin finds the position where the feed begins.
func (g *group) begin(ctx context.Context) (startTime, since string, err error) {
	if g.design != "" {
		g.checkedAt, g.filterCurrent = time.Now(), true
		if g.filterRevision, err = g.revision(ctx); err != nil {
			return "", "", err
		}
	}
	if startTime, since, err = g.locate(ctx); err == nil {
		g.update(func() { g.ring.base = since })
	}
	return startTime, since, err
}

// isUnique reports whether a database's start time distinguishes it from another one of the
// same name.
func isUnique(startTime string) bool {
	return startTime != "" && startTime != `"0"` && startTime != "0" && startTime != "null"
}

// resume waits until the node is available again with the same database.
func (g *group) resume(ctx context.Context, startTime, since string, until time.Time, failures int) phase {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for ; ; failures++ {
		if failures > 0 && !pause.For(ctx, 50*time.Millisecond<<min(failures-1, 5)) {
			return away
		}
		again, seq, err := g.locate(ctx)
		var no refusal
		switch {
		case err == nil && again == startTime && !api.DatabaseReplaced(since, seq):
			return open
		case err == nil, errors.As(err, &no) && no == http.StatusNotFound:
			return ended
		}
	}
}

// maxBatch is the maximum number of rows added to the ring at once.
const maxBatch = 64

// errReplaced is returned if the name belongs to another database now.
var errReplaced = errors.New("the database was replaced")

// confirm checks that the database is still the one whose feed was requested. A node takes a
// position in another database for its own, and would skip older changes.
func (g *group) confirm(ctx context.Context, startTime, since string) error {
	again, seq, err := g.locate(ctx)
	if err == nil && (again != startTime || api.DatabaseReplaced(since, seq)) {
		return errReplaced
	}
	return err
}

// read reads a feed from since on, and updates since. alive reports whether anything was
// received, orderly whether the node has ended the feed.
func (g *group) read(ctx context.Context, startTime string, since *string) (alive, orderly bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dog := time.AfterFunc(g.silence, cancel)
	defer dog.Stop()
	beat := strconv.FormatInt((g.silence / 3).Milliseconds(), 10)
	a, err := g.changes(ctx, "feed=continuous&heartbeat="+beat, *since)
	if err != nil {
		return false, false, err
	}
	defer a.Body.Close()
	if err := g.confirm(ctx, startTime, *since); err != nil {
		return false, false, err
	}
	g.update(func() { g.phase, g.broken, g.header = open, false, a.Header.Clone() })
	r := api.NewFeedReader(&watchedReader{a.Body, dog, g.silence}, api.ContinuousFeed)
	batch := make([]row, 0, maxBatch)
	defer func() { g.add(batch) }()
	for {
		kind, text, err := r.Next()
		if err != nil {
			return alive, false, feedError(err)
		}
		alive = true
		switch kind {
		case api.EndEvent:
			return true, true, nil
		case api.ChangeEvent:
			n, ok := parseRow(text)
			if !ok {
				return true, false, errGarbled
			}
			batch, *since = append(batch, n), n.seq
		}
		if r.Waiting() || len(batch) == maxBatch {
			g.add(batch)
			batch = batch[:0]
		}
	}
}

// feedError returns errGarbled for unreadable data, and otherwise err.
func feedError(err error) error {
	if errors.Is(err, api.ErrTooLong) || errors.Is(err, api.ErrMalformed) {
		return errGarbled
	}
	return err
}

// add adds rows to the ring.
func (g *group) add(rows []row) {
	if len(rows) == 0 {
		return
	}
	g.update(func() {
		for _, n := range rows {
			g.ring.add(n)
		}
	})
}

// isFilterCurrent reports whether the design document was unchanged at some moment after
// since.
func (g *group) isFilterCurrent(ctx context.Context, since time.Time) bool {
	if g.design == "" {
		return true
	}
	select {
	case g.checking <- struct{}{}:
		defer func() { <-g.checking }()
	case <-ctx.Done():
		return true // the client has left, which reveals nothing about the function
	}
	if g.checkedAt.Before(since) { // otherwise another client has checked meanwhile
		at := time.Now()
		rev, err := g.revision(ctx)
		if ctx.Err() != nil {
			return true
		}
		g.checkedAt, g.filterCurrent = at, err == nil && rev == g.filterRevision
	}
	return g.filterCurrent
}
