package feed

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// outlet takes what a client gets.
type outlet interface {
	// begin sends the head; header is that of the node's answer.
	begin(f Form, header http1.Fields) error
	Write(p []byte) (int, error)
	// Close ends the answer in order, Cut so that the client sees that it broke off.
	Close() error
	Cut()
}

// outcome is what came of a client.
type outcome uint8

const (
	served outcome = iota
	pass           // nothing was sent: the node is to answer itself
	next           // nothing was sent: the node can't be reached
	again          // nothing was sent: the function that filters is not the one asked for
	busy           // nothing was sent, and nothing will be
)

// session is a client of a group, owned by its goroutine.
type session struct {
	feeds *Feeds
	g     *group
	q     *Query
	out   outlet
	may   func(context.Context) bool // whether the client may see the feed
	came  time.Time

	placed bool
	at     uint64   // the next row in the ring, if placed
	last   string   // the position up to which the client has everything, as JSON; "" if that is not known
	sent   int      // rows
	seen   []uint64 // rows that have just come in pages; the ring may have them as well
	forget time.Time

	reading bool       // a page is on its way
	pages   chan *page // nil for one that did not come
	waited  bool       // the client knows that there is nothing for the moment
	begun   bool
	due     time.Time // of a beat, or of the end
	check   time.Time // when may is to be asked again
	timer   *time.Timer
}

// run serves the client until its feed ends.
func (s *session) run(ctx context.Context, stopping <-chan struct{}) outcome {
	ctx, cancel := context.WithCancel(ctx) // for the page that may be on its way
	defer cancel()
	s.pages = make(chan *page, 1)
	if s.q.Since != "now" {
		s.last = asJSON(s.q.Since)
	}
	now := time.Now()
	s.check = now.Add(s.feeds.cfg.Recheck)
	s.rearm(now)
	s.timer = time.NewTimer(s.until(now))
	defer s.timer.Stop()
	for {
		v, at := s.g.view(), s.at
		if o, over := s.advance(ctx, v); over {
			return o
		}
		if s.placed && (s.at != at || s.at < v.end) { // there may be more
			if o, over := s.look(ctx, stopping); over {
				return o
			}
			continue
		}
		if o, over := s.wait(ctx, stopping, v.moved); over {
			return o
		}
	}
}

// advance does what can be done without waiting.
func (s *session) advance(ctx context.Context, v view) (o outcome, over bool) {
	switch {
	case v.phase == opening:
		return 0, false
	case v.phase == refused:
		return s.give(pass)
	case !s.begun && v.phase == away:
		return next, true
	case !s.placed && !s.reading && v.phase == open:
		if !s.begun && !s.g.upToDate(ctx, s.came) {
			return s.give(again)
		}
		if ctx.Err() != nil {
			return s.give(busy)
		}
		s.place(ctx)
	case s.placed && s.at < v.first:
		s.fallBehind(ctx, v.phase)
	}
	if s.placed && s.at < v.end {
		return s.tell()
	}
	switch {
	case v.phase == ended:
		return s.end(0)
	case v.phase == lost, v.phase == away:
		return s.give(pass)
	case s.placed && s.q.Form == Longpoll && s.sent > 0:
		return s.end(0)
	case s.placed && !s.waited:
		s.waited = true
		return s.write([]byte("\n"))
	}
	return 0, false
}

// place finds where the client begins.
func (s *session) place(ctx context.Context) {
	since := s.q.Since
	if s.last != "" {
		since = plain(s.last)
	}
	at, seq, ok := s.g.place(since)
	if !ok {
		s.read(ctx)
		return
	}
	s.settle(at, seq)
}

// settle begins to take rows from the ring.
func (s *session) settle(at uint64, seq string) {
	s.at, s.last, s.placed = at, seq, true
	s.rearm(time.Now())
}

// fallBehind has the client catch up: the ring no longer has what comes next.
func (s *session) fallBehind(ctx context.Context, p phase) {
	s.placed, s.seen = false, nil
	if p == open {
		s.place(ctx)
	}
}

// read has the next page read.
func (s *session) read(ctx context.Context) {
	s.reading = true
	rows := s.feeds.cfg.PageRows
	if s.q.Limit > 0 {
		rows = min(rows, s.q.Limit-s.sent)
	}
	since := s.last
	go func() { s.pages <- s.feeds.page(ctx, s.g, since, rows) }()
}

// take takes a page over.
func (s *session) take(ctx context.Context, p *page) (o outcome, over bool) {
	s.reading = false
	if p == nil {
		return s.give(pass)
	}
	if o, over := s.rows(p.rows, p.pending); over {
		return o, over
	}
	s.last = p.last
	s.remember(p.rows)
	if p.whole {
		s.settle(p.mark, p.last)
	} else {
		s.place(ctx)
	}
	return 0, false
}

// tell sends rows of the ring.
func (s *session) tell() (o outcome, over bool) {
	b := batches.Get().(*batch)
	defer b.release()
	rows := b.rows[:s.g.take(s.at, b.rows[:])]
	if len(rows) == 0 {
		return 0, false // the ring has moved on
	}
	s.at += uint64(len(rows))
	last := rows[len(rows)-1].seq
	if o, over := s.rows(s.fresh(rows), 0); over {
		return o, over
	}
	s.last = last
	return 0, false
}

// rows sends rows, as many as the client wants; more is how many are known to be
// behind them, besides those of the ring.
func (s *session) rows(rows []row, more int) (o outcome, over bool) {
	if len(rows) == 0 {
		return 0, false
	}
	if left := s.q.Limit - s.sent; s.q.Limit > 0 && left <= len(rows) {
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
		s.last, rows = rows[n-1].seq, rows[n:]
	}
	s.waited = true
	s.rearm(time.Now())
	if over {
		return s.end(more)
	}
	return 0, false
}

// fill writes as many rows as there is room for, one at least.
func (s *session) fill(b *batch, rows []row) (n int) {
	b.text = b.text[:0]
	for n < len(rows) && (n == 0 || len(b.text)+2*len(rows[n].text) < cap(b.text)) {
		b.text = s.q.Form.appendRow(b.text, &rows[n], s.sent > 0)
		n++
		s.sent++
	}
	return n
}

// look does what is due while there are rows to tell: a client that is behind all the
// time never waits.
func (s *session) look(ctx context.Context, stopping <-chan struct{}) (o outcome, over bool) {
	select {
	case <-stopping:
		return s.end(0)
	case <-ctx.Done():
		return s.give(busy)
	default:
	}
	if time.Now().Before(s.check) {
		return 0, false
	}
	return s.tick(ctx)
}

// wait waits for something to happen.
func (s *session) wait(ctx context.Context, stopping, moved <-chan struct{}) (o outcome, over bool) {
	s.timer.Reset(s.until(time.Now()))
	select {
	case <-moved:
	case p := <-s.pages:
		return s.take(ctx, p)
	case <-s.timer.C:
		return s.tick(ctx)
	case <-stopping:
		if s.last == "" || s.g.view().phase == opening {
			return s.give(busy)
		}
		return s.end(0)
	case <-ctx.Done():
		return s.give(busy)
	}
	return 0, false
}

// tick does what time asks for.
func (s *session) tick(ctx context.Context) (o outcome, over bool) {
	now := time.Now()
	if !now.Before(s.check) {
		if !s.may(ctx) {
			return s.give(pass)
		}
		if now.After(s.forget) {
			s.seen = nil
		}
		s.check = now.Add(s.feeds.cfg.Recheck)
	}
	switch {
	case now.Before(s.due):
		return 0, false
	case s.q.Beat == 0 && s.placed:
		return s.end(0)
	case s.q.Beat == 0, s.g.view().phase == opening: // the node takes its time, and may still refuse
		s.rearm(now)
		return 0, false
	}
	s.rearm(now)
	return s.write(s.q.Form.beat())
}

// rearm starts the time within which something must be said.
func (s *session) rearm(now time.Time) {
	d := s.q.Beat
	switch {
	case d == 0 && s.placed:
		d = s.q.Timeout
	case d == 0:
		d = longest
	}
	s.due = now.Add(d)
}

// until is how long there is to wait.
func (s *session) until(now time.Time) time.Duration {
	return min(s.due.Sub(now), s.check.Sub(now))
}

// write sends text, behind the head if that was not sent yet.
func (s *session) write(text []byte) (o outcome, over bool) {
	if err := s.begin(); err != nil {
		return served, true
	}
	if _, err := s.out.Write(text); err != nil {
		s.out.Cut()
		return served, true
	}
	return 0, false
}

func (s *session) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	s.g.mu.Lock()
	header := s.g.header
	s.g.mu.Unlock()
	if err := s.out.begin(s.q.Form, header); err != nil {
		return err
	}
	_, err := s.out.Write(s.q.Form.opening())
	return err
}

// end ends the feed in order; more is how many rows are known to be left.
func (s *session) end(more int) (o outcome, over bool) {
	if s.last == "" { // the client could not go on from there
		return s.give(pass)
	}
	if s.placed {
		more += int(s.g.view().end - s.at)
	}
	if o, over := s.write(s.q.Form.closing(s.g.written(s.last), more)); over {
		return o, over
	}
	_ = s.out.Close()
	return served, true
}

// give ends the feed without order, or leaves it to somebody else if nothing of it
// was sent.
func (s *session) give(o outcome) (outcome, bool) {
	if !s.begun {
		return o, true
	}
	s.out.Cut()
	return served, true
}

// asJSON writes a client's position as it may stand in a feed.
func asJSON(since string) string {
	if since != "" && (since[0] == '[' || since[0] >= '0' && since[0] <= '9') && json.Valid([]byte(since)) {
		return since
	}
	text, err := json.Marshal(since)
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(text)
}
