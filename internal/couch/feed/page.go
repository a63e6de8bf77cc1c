package feed

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// page is a piece of what has changed since a position.
type page struct {
	rows  []row
	mark  uint64 // the ring's end before the page was asked for
	last  string // the position behind it, as JSON
	whole bool   // there was no more

	pending int // what the node says is behind it
}

// pageSilence is how long a node may say nothing while it reads a page; pickSilence is
// that where it has to look for rows that a filter lets through, which are told when
// there are some.
const (
	pageSilence = time.Minute
	pickSilence = 10 * time.Minute
)

// page reads what has changed since a position: at most so many rows, and no more
// than one beyond so many bytes.
func (s *source) page(ctx context.Context, since string, rows, bytes int) (*page, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := pageSilence
	if s.picks {
		silence = pickSilence
	}
	dog := time.AfterFunc(silence, cancel)
	defer dog.Stop()
	a, err := s.feed(ctx, fmt.Sprintf("feed=normal&limit=%d", rows), since)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	p := &page{last: since}
	for r := api.NewFeedReader(&watched{a.Body, dog, silence}, api.NormalFeed); bytes > 0; {
		kind, text, err := r.Next()
		switch {
		case err != nil:
			return nil, plainly(err)
		case kind == api.EndEvent:
			p.whole = len(p.rows) < rows
			p.close(text)
			_, _ = io.CopyN(io.Discard, a.Body, 64) // the end, so that the connection can be used again
			return p, nil
		case kind == api.ChangeEvent:
			n, ok := parse(text)
			if !ok {
				return nil, errGarbled
			}
			p.rows, p.last = append(p.rows, n), n.seq
			bytes -= len(n.text) + overhead
		}
	}
	return p, nil
}

// close reads what stands behind the rows.
func (p *page) close(text []byte) {
	for f := api.MembersOf(text); f.Next(); {
		switch {
		case f.Is("last_seq") && p.whole:
			p.last = string(f.Value)
		case f.Is("pending"):
			if n, err := strconv.Atoi(string(f.Value)); err == nil {
				p.pending = n
			}
		}
	}
}

// flight is a page on its way to those who want the same one.
type flight struct {
	done   chan struct{} // closed when page is there
	page   *page         // nil if it does not come
	cancel context.CancelFunc
	wanted int // by so many; guarded by group.mu
}

// wish is what a flight is for.
type wish struct {
	since string
	rows  int
}

// page reads a page, once for all who want it at the same time: when a feed has broken
// off, its clients come back from one position. It is as good for who comes while it is
// on its way: what changes after the mark is behind that in the ring.
func (f *Feeds) page(ctx context.Context, g *group, since string, rows int) *page {
	w := wish{since, rows}
	t := f.board(g, w)
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.wanted--; t.wanted == 0 {
		t.cancel()
		g.drop(w, t)
	}
	return t.page
}

// board finds the flight for a wish, or begins it.
func (f *Feeds) board(g *group, w wish) *flight {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.flights[w]
	if t == nil {
		ctx, cancel := context.WithCancel(f.ctx)
		t = &flight{done: make(chan struct{}), cancel: cancel}
		g.flights[w] = t
		go func() {
			p := f.insist(ctx, g, w)
			g.mu.Lock()
			defer g.mu.Unlock()
			t.page = p
			g.drop(w, t)
			close(t.done)
		}()
	}
	t.wanted++
	return t
}

// drop has nobody board a flight any more. g.mu is held.
func (g *group) drop(w wish, t *flight) {
	if g.flights[w] == t {
		delete(g.flights, w)
	}
}

// insist reads a page. A node that can't be reached is asked again for longer than its feed
// may be resumed, so that the client learns from the group what becomes of it.
func (f *Feeds) insist(ctx context.Context, g *group, w wish) *page {
	until := time.Now().Add(2 * f.cfg.Patience)
	for {
		p, err := f.attempt(ctx, g, w)
		if err == nil {
			return p
		}
		if unopened(err) == refused || time.Now().After(until) || !rest(ctx, f.cfg.Patience/8) {
			return nil
		}
	}
}

// attempt reads a page when there is a slot for it.
func (f *Feeds) attempt(ctx context.Context, g *group, w wish) (*page, error) {
	slots := f.slots[0]
	if g.picks {
		slots = f.slots[1]
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.paged()
	mark := g.view().end
	p, err := g.page(ctx, w.since, w.rows, f.cfg.PageBytes)
	if err != nil {
		return nil, err
	}
	p.mark = mark
	return p, nil
}
