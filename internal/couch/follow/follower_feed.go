package follow

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// path returns the database's path, followed by rest.
func (f *Follower) path(rest string) string { return "/" + url.PathEscape(f.cfg.DB) + rest }

// locate identifies the database of that name, and resets the follower if the position
// belongs to another one. fresh reports whether the position is now the end of the feed at
// the time of the request.
func (f *Follower) locate(ctx context.Context) (fresh bool, err error) {
	id, err := f.identify(ctx)
	if errors.Is(err, errAbsent) {
		f.markAbsent()
	}
	if err != nil {
		return false, err
	}
	return f.adopt(string(id.StartTime), id.Seq), nil
}

// identify returns the identity of the database that has the name now.
func (f *Follower) identify(ctx context.Context) (id api.DatabaseInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.MaxSilence)
	defer cancel()
	status, body, err := f.cfg.Get(ctx, f.path(""))
	if err != nil {
		return id, err
	}
	defer body.Close()
	switch status {
	case http.StatusOK:
	case http.StatusNotFound:
		return id, errAbsent
	default:
		return id, statusError(status)
	}
	return api.ReadDatabaseInfo(body)
}

// confirm checks that the database is still the one whose feed was requested. A node takes
// the position of a deleted database for a position in its successor, and would skip the
// successor's older changes.
func (f *Follower) confirm(ctx context.Context) error {
	id, err := f.identify(ctx)
	if err == nil && (string(id.StartTime) != f.startTime || api.DatabaseReplaced(f.seq, string(id.Seq))) {
		return errReplaced
	}
	return err
}

// markAbsent records that the node does not have the database. The watcher is called at the
// first time too.
func (f *Follower) markAbsent() {
	if f.seq != "" || f.startTime != "" || f.State().Phase != Absent {
		f.reset(Deleted)
	}
	f.startTime = ""
	f.enter(Absent)
}

// adopt compares the present database with the followed one, and resets the follower if they
// differ.
func (f *Follower) adopt(startTime string, seq []byte) (fresh bool) {
	same := startTime == f.startTime && !f.endedInOrder && !f.uncertain() && !api.DatabaseReplaced(f.seq, string(seq))
	f.endedInOrder = false
	if same && f.seq != "" {
		return false
	}
	why := Opened
	switch {
	case f.seq == "" && f.startTime == startTime && startTime != "":
		why = f.resetReason
	case f.startTime != "" || f.seq != "":
		why = Recreated
	}
	f.startTime = startTime
	f.reset(why)
	f.advance(seq)
	f.identifiedAt = time.Now()
	return true
}

// uncertain reports whether an open feed has broken off so early that another database may
// have been created in the same second, which instance_start_time can't show.
func (f *Follower) uncertain() bool {
	timed := f.startTime != "" && f.startTime != `"0"` && f.startTime != "null"
	return timed && f.opened && !f.startTimeUnique
}

// target returns the request target of the feed from the current position.
func (f *Follower) target(options string) string {
	return f.path("/_changes?" + options + "&since=" + escapePosition(f.seq))
}

// escapePosition returns a position, which is JSON, as a parameter of a query.
func escapePosition(seq string) string {
	var text string
	if json.Unmarshal([]byte(seq), &text) == nil {
		seq = text
	}
	return url.QueryEscape(seq)
}

// catchUp reads the changes from the position until now.
func (f *Follower) catchUp(ctx context.Context) error {
	_, err := f.read(ctx, f.target("feed=normal"), api.NormalFeed, nil)
	return err
}

// stream follows a continuous feed. All changes up to the time caughtUp have been read,
// provided that the database is still the same.
func (f *Follower) stream(ctx context.Context, caughtUp time.Time) (y feedResult, err error) {
	beat := strconv.FormatInt(f.cfg.Heartbeat.Milliseconds(), 10)
	seen := 0
	return f.read(ctx, f.target("feed=continuous&heartbeat="+beat), api.ContinuousFeed, func(kind api.EventKind, at time.Time) error {
		// The first event only shows that the feed is open: the changes since the position
		// follow.
		if seen++; seen > 1 {
			f.heard(at)
			return nil
		}
		err := f.confirm(ctx)
		if err == nil {
			f.opened = true
			f.enter(Following)
			f.heard(caughtUp)
		}
		return err
	})
}

// longPoll runs one long poll.
func (f *Follower) longPoll(ctx context.Context) (y feedResult, err error) {
	timeout := strconv.FormatInt(f.cfg.Heartbeat.Milliseconds(), 10)
	return f.read(ctx, f.target("feed=longpoll&timeout="+timeout), api.NormalFeed, func(kind api.EventKind, at time.Time) error {
		f.enter(Polling)
		if kind != api.EndEvent {
			return nil
		}
		err := f.confirm(ctx)
		if err == nil {
			f.heard(at)
		}
		return err
	})
}

// read reads one feed to its end. It calls onDrained whenever all bytes received so far are
// processed; an error of onDrained ends the feed.
func (f *Follower) read(ctx context.Context, target string, form api.FeedForm, onDrained func(kind api.EventKind, at time.Time) error) (y feedResult, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(f.cfg.MaxSilence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	status, body, err := f.cfg.Get(ctx, target)
	if err != nil {
		return noAnswer, err
	}
	defer body.Close()
	if status != http.StatusOK {
		return f.handleStatus(status)
	}
	src := &timedReader{src: body, alive: func() { watchdog.Reset(f.cfg.MaxSilence) }}
	y = emptyFeed
	r := api.NewFeedReader(src, form)
	for {
		kind, object, err := r.Next()
		if err == nil && kind == api.ChangeEvent {
			err = f.handleRow(object)
		}
		switch {
		case err != nil:
			return y, f.feedError(ctx, err)
		case kind == api.EndEvent:
			f.advance(api.LastSeq(object))
			f.endedInOrder = form == api.ContinuousFeed
		}
		y = usefulFeed
		if onDrained != nil && (r.Waiting() || kind == api.EndEvent) {
			if err := onDrained(kind, src.at); err != nil {
				return y, f.feedError(ctx, err)
			}
		}
		if kind == api.EndEvent {
			return y, nil
		}
	}
}

// handleRow passes a change to the watcher.
func (f *Follower) handleRow(object []byte) error {
	if err := f.row.Parse(object); err != nil {
		return err
	}
	if api.SequenceDecreased(f.seq, string(f.row.Seq)) && api.DatabaseReplaced(f.seq, string(f.row.Seq)) {
		f.reset(Recreated)
		f.resetReason = Recreated
		return errReplaced
	}
	f.cfg.Watcher.Row(&f.row)
	f.advance(f.row.Seq)
	f.updateState(func(s *FollowerState) { s.Rows++ })
	return nil
}

// handleStatus handles an answer to a feed request that is not a feed.
func (f *Follower) handleStatus(status int) (y feedResult, err error) {
	switch status {
	case http.StatusNotFound: // the next attempt handles it
		return noAnswer, statusError(status)
	case http.StatusBadRequest:
		f.seq, f.resetReason = "", Refused
		return noAnswer, errRefused
	}
	return emptyFeed, statusError(status)
}

// feedError handles a feed that broke off. Unreadable data may have been a change, so the
// position is discarded then.
func (f *Follower) feedError(ctx context.Context, err error) error {
	if errors.Is(err, api.ErrMalformed) || errors.Is(err, api.ErrTooLong) {
		f.seq, f.resetReason = "", Garbled
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// timedReader records the time of the last read with data.
type timedReader struct {
	src   io.Reader
	at    time.Time
	alive func()
}

func (s *timedReader) Read(p []byte) (int, error) {
	n, err := s.src.Read(p)
	if n > 0 {
		s.at = time.Now()
		s.alive()
	}
	return n, err
}
