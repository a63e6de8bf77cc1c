package feed

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/pause"
)

// page is a part of the changes after a position.
type page struct {
	rows     []row
	mark     uint64 // the ring's end before the page was requested
	last     string // the position at its end, as JSON
	complete bool   // no more rows followed

	pending int // the number of rows after it, as reported by the node
}

// pageSilence is how long a node may be silent while it reads a page. filteredPageSilence
// applies if it has to search for rows that pass a filter.
const (
	pageSilence         = time.Minute
	filteredPageSilence = 10 * time.Minute
)

// readPage reads the changes after a position: up to the given number of rows, or one row
// more than fits into bytes.
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
			_, _ = io.CopyN(io.Discard, a.Body, 64) // the rest, so that the connection can be reused
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

// parseEnd reads the members after the rows.
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

// pageRead is a page request that clients share.
type pageRead struct {
	done    chan struct{} // closed when the request is done
	page    *page         // nil if the request failed
	cancel  context.CancelFunc
	waiters int // guarded by group.mu
}

type pageKey struct {
	since string
	rows  int
}

// page returns a page. Clients that need the same page at the same time share the request,
// for example clients that reconnect from one position after a break. Clients that join
// later can use it too, since changes after the mark follow it in the ring.
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

// joinPage returns the page request for w, and starts one if there is none.
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

// forgetPage keeps further clients from joining a page request. g.mu is held.
func (g *group) forgetPage(w pageKey, t *pageRead) {
	if g.pages[w] == t {
		delete(g.pages, w)
	}
}

// retryPage reads a page. It retries an unreachable node for longer than the feed may be
// resumed, so that the client gets the result from the group.
func (f *Feeds) retryPage(ctx context.Context, g *group, w pageKey) *page {
	until := time.Now().Add(2 * f.cfg.ResumeTime)
	for {
		p, err := f.readPage(ctx, g, w)
		if err == nil {
			return p
		}
		if openFailure(err) == refused || time.Now().After(until) || !pause.For(ctx, f.cfg.ResumeTime/8) {
			return nil
		}
	}
}

// readPage waits for a slot and reads a page.
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
