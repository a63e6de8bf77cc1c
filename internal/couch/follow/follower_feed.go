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

// path returns the database's path, with what follows it.
func (f *Follower) path(rest string) string { return "/" + url.PathEscape(f.cfg.DB) + rest }

// locate asks which database has the name, and resets if it is not the one that
// the position belongs to. fresh is true if the position is that of the database's
// end at the time of asking.
func (f *Follower) locate(ctx context.Context) (fresh bool, err error) {
	who, err := f.identify(ctx)
	if errors.Is(err, errAbsent) {
		f.markAbsent()
	}
	if err != nil {
		return false, err
	}
	return f.adopt(string(who.StartTime), who.Seq), nil
}

// identity is which database has a name, and where it stands.
type identity struct {
	StartTime json.RawMessage `json:"instance_start_time"`
	Seq       json.RawMessage `json:"update_seq"`
}

// identify asks which database has the name now.
func (f *Follower) identify(ctx context.Context) (who identity, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.MaxSilence)
	defer cancel()
	status, body, err := f.cfg.Get(ctx, f.path(""))
	if err != nil {
		return who, err
	}
	defer body.Close()
	switch status {
	case http.StatusOK:
	case http.StatusNotFound:
		return who, errAbsent
	default:
		return who, statusError(status)
	}
	text, err := io.ReadAll(io.LimitReader(body, api.MaxChange))
	if err != nil {
		return who, err
	}
	if err := json.Unmarshal(text, &who); err != nil || len(who.Seq) == 0 {
		return who, api.ErrMalformed
	}
	return who, nil
}

// confirm asks whether the database is still the one that was followed when the
// feed was asked for. A node takes the position of a database that is gone for one
// of its successor's, whose older changes would never be told.
func (f *Follower) confirm(ctx context.Context) error {
	who, err := f.identify(ctx)
	if err == nil && (string(who.StartTime) != f.startTime || api.DatabaseReplaced(f.seq, string(who.Seq))) {
		return errReplaced
	}
	return err
}

// markAbsent takes note that the database is not there. The watcher is told so at the
// first time too.
func (f *Follower) markAbsent() {
	if f.seq != "" || f.startTime != "" || f.State().Phase != Absent {
		f.reset(Deleted)
	}
	f.startTime = ""
	f.enter(Absent)
}

// replica compares the database that is there with the one that was followed.
func (f *Follower) adopt(born string, seq []byte) (fresh bool) {
	same := born == f.startTime && !f.endedInOrder && !f.uncertain() && !api.DatabaseReplaced(f.seq, string(seq))
	f.endedInOrder = false
	if same && f.seq != "" {
		return false
	}
	why := Opened
	switch {
	case f.seq == "" && f.startTime == born && born != "":
		why = f.resetReason
	case f.startTime != "" || f.seq != "":
		why = Recreated
	}
	f.startTime = born
	f.reset(why)
	f.advance(seq)
	f.identifiedAt = time.Now()
	return true
}

// uncertain reports whether a feed that was open has broken off so early that another
// database may have been created in the same second, which instance_start_time can't show.
func (f *Follower) uncertain() bool {
	timed := f.startTime != "" && f.startTime != `"0"` && f.startTime != "null"
	return timed && f.opened && !f.startTimeUnique
}

// target returns the feed's target from the present position.
func (f *Follower) target(options string) string {
	seq := f.seq
	var text string
	if json.Unmarshal([]byte(seq), &text) == nil {
		seq = text
	}
	return f.path("/_changes?" + options + "&since=" + url.QueryEscape(seq))
}

// catchUp tells what has changed since the position, up to now.
func (f *Follower) catchUp(ctx context.Context) error {
	_, err := f.read(ctx, f.target("feed=normal"), api.NormalFeed, nil)
	return err
}

// stream follows a continuous feed. All that had changed at the time of told is
// told already, if the database is the one that it was.
func (f *Follower) stream(ctx context.Context, told time.Time) (y feedResult, err error) {
	beat := strconv.FormatInt(f.cfg.Heartbeat.Milliseconds(), 10)
	seen := 0
	return f.read(ctx, f.target("feed=continuous&heartbeat="+beat), api.ContinuousFeed, func(kind api.EventKind, at time.Time) error {
		// What comes first says only that the feed is open: what has changed since
		// the position is still to come.
		if seen++; seen > 1 {
			f.heard(at)
			return nil
		}
		err := f.confirm(ctx)
		if err == nil {
			f.opened = true
			f.enter(Following)
			f.heard(told)
		}
		return err
	})
}

// longPoll does one long poll.
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

// read reads one feed to its end, and calls came when all that has come is told. An
// error of came's ends it.
func (f *Follower) read(ctx context.Context, target string, form api.FeedForm, came func(kind api.EventKind, at time.Time) error) (y feedResult, err error) {
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
		if came != nil && (r.Waiting() || kind == api.EndEvent) {
			if err := came(kind, src.at); err != nil {
				return y, f.feedError(ctx, err)
			}
		}
		if kind == api.EndEvent {
			return y, nil
		}
	}
}

// handleRow passes a change on.
func (f *Follower) handleRow(object []byte) error {
	if err := f.row.Parse(object); err != nil {
		return err
	}
	if api.GoesBack(f.seq, string(f.row.Seq)) && api.DatabaseReplaced(f.seq, string(f.row.Seq)) {
		f.reset(Recreated)
		f.resetReason = Recreated
		return errReplaced
	}
	f.cfg.Watcher.Row(&f.row)
	f.advance(f.row.Seq)
	f.updateState(func(s *FollowerState) { s.Rows++ })
	return nil
}

// handleStatus handles an answer to a feed that is no feed.
func (f *Follower) handleStatus(status int) (y feedResult, err error) {
	switch status {
	case http.StatusNotFound: // the next attempt sees to it
		return noAnswer, statusError(status)
	case http.StatusBadRequest:
		f.seq, f.resetReason = "", Refused
		return noAnswer, errRefused
	}
	return emptyFeed, statusError(status)
}

// interrupted handles a feed that did not end as the node meant it. What can't be read
// may have been a change, so that the position is of no use.
func (f *Follower) feedError(ctx context.Context, err error) error {
	if errors.Is(err, api.ErrMalformed) || errors.Is(err, api.ErrTooLong) {
		f.seq, f.resetReason = "", Garbled
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// timedReader remembers when something came last.
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
