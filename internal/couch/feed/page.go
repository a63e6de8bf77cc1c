package feed

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// readPage is a piece of what has changed since a position.
type page struct {
	rows     []row
	mark     uint64 // the ring's end before the page was asked for
	last     string // the position behind it, as JSON
	complete bool   // there was no more

	pending int // what the node says is behind it
}

// pageSilence is how long a node may say nothing while it reads a page; filteredPageSilence is
// that where it has to look for rows that a filter lets through, which are told when
// there are some.
const (
	pageSilence         = time.Minute
	filteredPageSilence = 10 * time.Minute
)

// readPage reads what has changed since a position: at most so many rows, and no more
// than one beyond so many bytes.
func (s *source) readPage(ctx context.Context, since string, rows, bytes int) (*page, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := pageSilence
	if s.filtered {
		silence = filteredPageSilence
	}
	dog := time.AfterFunc(silence, cancel)
	defer dog.Stop()
	a, err := s.changes(ctx, fmt.Sprintf("feed=normal&limit=%d", rows), since)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	p := &page{last: since}
	for r := api.NewFeedReader(&watchedReader{a.Body, dog, silence}, api.NormalFeed); bytes > 0; {
		kind, text, err := r.Next()
		switch {
		case err != nil:
			return nil, feedError(err)
		case kind == api.EndEvent:
			p.complete = len(p.rows) < rows
			p.parseEnd(text)
			_, _ = io.CopyN(io.Discard, a.Body, 64) // the end, so that the connection can be used again
			return p, nil
		case kind == api.ChangeEvent:
			n, ok := parseRow(text)
			if !ok {
				return nil, errGarbled
			}
			p.rows, p.last = append(p.rows, n), n.seq
			bytes -= len(n.text) + rowOverhead
		}
	}
	return p, nil
}

// parseEnd reads what stands behind the rows.
func (p *page) parseEnd(text []byte) {
	for f := api.MembersOf(text); f.Next(); {
		switch {
		case f.Is("last_seq") && p.complete:
			p.last = string(f.Value)
		case f.Is("pending"):
			if n, err := strconv.Atoi(string(f.Value)); err == nil {
				p.pending = n
			}
		}
	}
}

// pageRead is a page on its way to those who want the same one.
type pageRead struct {
	done    chan struct{} // closed when page is there
	page    *page         // nil if it does not come
	cancel  context.CancelFunc
	waiters int // by so many; guarded by group.mu
}

// pageKey is what a flight is for.
type pageKey struct {
	since string
	rows  int
}

// readPage reads a page, once for all who want it at the same time: when a feed has broken
// off, its clients come back from one position. It is as good for who comes while it is
// on its way: what changes after the mark is behind that in the ring.
func (f *Feeds) page(ctx context.Context, g *group, since string, rows int) *page {
	w := pageKey{since, rows}
	t := f.joinPage(g, w)
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.waiters--; t.waiters == 0 {
		t.cancel()
		g.forgetPage(w, t)
	}
	return t.page
}

// joinPage finds the flight for a wish, or begins it.
func (f *Feeds) joinPage(g *group, w pageKey) *pageRead {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.pages[w]
	if t == nil {
		ctx, cancel := context.WithCancel(f.ctx)
		t = &pageRead{done: make(chan struct{}), cancel: cancel}
		g.pages[w] = t
		go func() {
			p := f.retryPage(ctx, g, w)
			g.mu.Lock()
			defer g.mu.Unlock()
			t.page = p
			g.forgetPage(w, t)
			close(t.done)
		}()
	}
	t.waiters++
	return t
}

// forgetPage has nobody board a flight any more. g.mu is held.
func (g *group) forgetPage(w pageKey, t *pageRead) {
	if g.pages[w] == t {
		delete(g.pages, w)
	}
}

// retryPage reads a page. A node that can't be reached is asked again for longer than its feed
// may be resumed, so that the client learns from the group what becomes of it.
func (f *Feeds) retryPage(ctx context.Context, g *group, w pageKey) *page {
	until := time.Now().Add(2 * f.cfg.ResumeTime)
	for {
		p, err := f.readPage(ctx, g, w)
		if err == nil {
			return p
		}
		if openFailure(err) == refused || time.Now().After(until) || !pause(ctx, f.cfg.ResumeTime/8) {
			return nil
		}
	}
}

// readPage reads a page when there is a slot for it.
func (f *Feeds) readPage(ctx context.Context, g *group, w pageKey) (*page, error) {
	slots := f.slots[0]
	if g.filtered {
		slots = f.slots[1]
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.countPage()
	mark := g.view().end
	p, err := g.readPage(ctx, w.since, w.rows, f.cfg.PageBytes)
	if err != nil {
		return nil, err
	}
	p.mark = mark
	return p, nil
}
