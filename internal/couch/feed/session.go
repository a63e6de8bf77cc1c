package feed

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// outlet is the answer to a client.
type outlet interface {
	// begin sends the header; header is that of the node's answer.
	begin(f Form, header http1.Fields) error
	Write(p []byte) (int, error)
	// Close ends the answer in order. Cut breaks it off in a way that the client notices.
	Close() error
	Cut()
}

type sessionResult uint8

const (
	served        sessionResult = iota
	passOn                      // nothing was sent: pass the request on to the node
	nextNode                    // nothing was sent: the node can't be reached
	filterChanged               // nothing was sent: the filter function has changed
	unavailable                 // nothing was sent: the server is stopping, or the client has left
)

// session is a client of a group, owned by its goroutine.
type session struct {
	feeds   *Feeds
	group   *group
	query   *Query
	out     outlet
	mayRead func(context.Context) bool // see Client.MayRead
	arrived time.Time

	placed   bool
	at       uint64   // the number of the next row in the ring, if placed
	position string   // the client has everything up to this position (JSON); "" if unknown
	sent     int      // number of rows
	seen     []uint64 // hashes of recent rows from pages, which may also be in the ring
	forgetAt time.Time

	reading   bool       // a page is requested
	pages     chan *page // nil for a failed request
	caughtUp  bool       // the client has received a sign that there are no more rows for now
	started   bool
	deadline  time.Time // of the next heartbeat, or of the end
	recheckAt time.Time // when to call mayRead again
	timer     *time.Timer
}

// run serves the client until its feed ends.
func (s *session) run(ctx context.Context, stopping <-chan struct{}) sessionResult {
	ctx, cancel := context.WithCancel(ctx) // for a pending page request
	defer cancel()
	s.pages = make(chan *page, 1)
	if s.query.Since != "now" {
		s.position = asJSON(s.query.Since)
	}
	now := time.Now()
	s.recheckAt = now.Add(s.feeds.cfg.Recheck)
	s.resetDeadline(now)
	s.timer = time.NewTimer(s.until(now))
	defer s.timer.Stop()
	for {
		v, at := s.group.view(), s.at
		if o, over := s.advance(ctx, v); over {
			return o
		}
		if s.placed && (s.at != at || s.at < v.end) { // there may be more
			if o, over := s.checkDue(ctx, stopping); over {
				return o
			}
			continue
		}
		if o, over := s.wait(ctx, stopping, v.moved); over {
			return o
		}
	}
}

// advance does all work that needs no waiting.
func (s *session) advance(ctx context.Context, v view) (o sessionResult, over bool) {
	switch {
	case v.phase == opening:
		return 0, false
	case v.phase == refused:
		return s.abort(passOn)
	case !s.started && v.phase == away:
		return nextNode, true
	case !s.placed && !s.reading && v.phase == open:
		if !s.started && !s.group.isFilterCurrent(ctx, s.arrived) {
			return s.abort(filterChanged)
		}
		if ctx.Err() != nil {
			return s.abort(unavailable)
		}
		s.place(ctx)
	case s.placed && s.at < v.first:
		s.fallBehind(ctx, v.phase)
	}
	if s.placed && s.at < v.end {
		return s.sendFromRing()
	}
	switch {
	case v.phase == ended:
		return s.end(0)
	case v.phase == lost, v.phase == away:
		return s.abort(passOn)
	case s.placed && s.query.Form == Longpoll && s.sent > 0:
		return s.end(0)
	case s.placed && !s.caughtUp:
		s.caughtUp = true
		return s.write([]byte("\n"))
	}
	return 0, false
}

// place finds the row where the client begins.
func (s *session) place(ctx context.Context) {
	since := s.query.Since
	if s.position != "" {
		since = positionText(s.position)
	}
	at, seq, ok := s.group.find(since)
	if !ok {
		s.startPage(ctx)
		return
	}
	s.enterRing(at, seq)
}

// enterRing makes the client continue from the ring.
func (s *session) enterRing(at uint64, seq string) {
	s.at, s.position, s.placed = at, seq, true
	s.resetDeadline(time.Now())
}

// fallBehind makes the client catch up, since its next row has left the ring.
func (s *session) fallBehind(ctx context.Context, p phase) {
	s.placed, s.seen = false, nil
	if p == open {
		s.place(ctx)
	}
}

// startPage requests the next page.
func (s *session) startPage(ctx context.Context) {
	s.reading = true
	rows := s.feeds.cfg.PageRows
	if s.query.Limit > 0 {
		rows = min(rows, s.query.Limit-s.sent)
	}
	since := s.position
	go func() { s.pages <- s.feeds.page(ctx, s.group, since, rows) }()
}

// finishPage sends the rows of a page.
func (s *session) finishPage(ctx context.Context, p *page) (o sessionResult, over bool) {
	s.reading = false
	if p == nil {
		return s.abort(passOn)
	}
	if o, over := s.send(p.rows, p.pending); over {
		return o, over
	}
	s.position = p.last
	s.remember(p.rows)
	if p.complete {
		s.enterRing(p.mark, p.last)
	} else {
		s.place(ctx)
	}
	return 0, false
}

// sendFromRing sends rows of the ring.
func (s *session) sendFromRing() (o sessionResult, over bool) {
	b := batches.Get().(*batch)
	defer b.release()
	rows := b.rows[:s.group.copyRows(s.at, b.rows[:])]
	if len(rows) == 0 {
		return 0, false // they have left the ring
	}
	s.at += uint64(len(rows))
	last := rows[len(rows)-1].seq
	if o, over := s.send(s.fresh(rows), 0); over {
		return o, over
	}
	s.position = last
	return 0, false
}

// send sends rows up to the client's limit; more is the known number of rows after them,
// without the ring's.
func (s *session) send(rows []row, more int) (o sessionResult, over bool) {
	if len(rows) == 0 {
		return 0, false
	}
	if left := s.query.Limit - s.sent; s.query.Limit > 0 && left <= len(rows) {
		more += len(rows) - left
		rows, over = rows[:left], true
	}
	b := batches.Get().(*batch)
	defer b.release()
	for len(rows) > 0 {
		n := s.fill(b, rows)
		if o, gone := s.write(b.text); gone {
			return o, gone
		}
		s.position, rows = rows[n-1].seq, rows[n:]
	}
	s.caughtUp = true
	s.resetDeadline(time.Now())
	if over {
		return s.end(more)
	}
	return 0, false
}

// fill formats as many rows as fit into the buffer, but at least one.
func (s *session) fill(b *batch, rows []row) (n int) {
	b.text = b.text[:0]
	for n < len(rows) && (n == 0 || len(b.text)+2*len(rows[n].text) < cap(b.text)) {
		b.text = s.query.Form.appendRow(b.text, &rows[n], s.sent > 0)
		n++
		s.sent++
	}
	return n
}

// checkDue handles the timer while there are rows to send, since a client that is always
// behind never waits.
func (s *session) checkDue(ctx context.Context, stopping <-chan struct{}) (o sessionResult, over bool) {
	select {
	case <-stopping:
		return s.end(0)
	case <-ctx.Done():
		return s.abort(unavailable)
	default:
	}
	if time.Now().Before(s.recheckAt) {
		return 0, false
	}
	return s.tick(ctx)
}

// wait waits for the next event.
func (s *session) wait(ctx context.Context, stopping, moved <-chan struct{}) (o sessionResult, over bool) {
	s.timer.Reset(s.until(time.Now()))
	select {
	case <-moved:
	case p := <-s.pages:
		return s.finishPage(ctx, p)
	case <-s.timer.C:
		return s.tick(ctx)
	case <-stopping:
		if s.position == "" || s.group.view().phase == opening {
			return s.abort(unavailable)
		}
		return s.end(0)
	case <-ctx.Done():
		return s.abort(unavailable)
	}
	return 0, false
}

// tick checks the client's permission and the deadline.
func (s *session) tick(ctx context.Context) (o sessionResult, over bool) {
	now := time.Now()
	if !now.Before(s.recheckAt) {
		if !s.mayRead(ctx) {
			return s.abort(passOn)
		}
		if now.After(s.forgetAt) {
			s.seen = nil
		}
		s.recheckAt = now.Add(s.feeds.cfg.Recheck)
	}
	switch {
	case now.Before(s.deadline):
		return 0, false
	case s.query.Heartbeat == 0 && s.placed:
		return s.end(0)
	case s.query.Heartbeat == 0, s.group.view().phase == opening: // the node has not answered yet and may still refuse
		s.resetDeadline(now)
		return 0, false
	}
	s.resetDeadline(now)
	return s.write(s.query.Form.heartbeat())
}

// resetDeadline sets the time of the next heartbeat or of the end.
func (s *session) resetDeadline(now time.Time) {
	d := s.query.Heartbeat
	switch {
	case d == 0 && s.placed:
		d = s.query.Timeout
	case d == 0:
		d = maxPause
	}
	s.deadline = now.Add(d)
}

// until returns the time to wait.
func (s *session) until(now time.Time) time.Duration {
	return min(s.deadline.Sub(now), s.recheckAt.Sub(now))
}

// write sends text, after the header if that was not sent yet.
func (s *session) write(text []byte) (o sessionResult, over bool) {
	if err := s.start(); err != nil {
		return served, true
	}
	if _, err := s.out.Write(text); err != nil {
		s.out.Cut()
		return served, true
	}
	return 0, false
}

func (s *session) start() error {
	if s.started {
		return nil
	}
	s.started = true
	s.group.mu.Lock()
	header := s.group.header
	s.group.mu.Unlock()
	if err := s.out.begin(s.query.Form, header); err != nil {
		return err
	}
	_, err := s.out.Write(s.query.Form.head())
	return err
}

// end ends the feed in order; more is the known number of remaining rows.
func (s *session) end(more int) (o sessionResult, over bool) {
	if s.position == "" { // the client could not resume from there
		return s.abort(passOn)
	}
	if s.placed {
		more += int(s.group.view().end - s.at)
	}
	if o, over := s.write(s.query.Form.tail(s.group.formatPosition(s.position), more)); over {
		return o, over
	}
	_ = s.out.Close()
	return served, true
}

// abort cuts the feed, or returns o if nothing was sent.
func (s *session) abort(o sessionResult) (sessionResult, bool) {
	if !s.started {
		return o, true
	}
	s.out.Cut()
	return served, true
}

// asJSON returns a client's position as JSON.
func asJSON(since string) string {
	if since != "" && (since[0] == '[' || since[0] >= '0' && since[0] <= '9') && json.Valid([]byte(since)) {
		return since
	}
	text, err := json.Marshal(since)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(text)
}
