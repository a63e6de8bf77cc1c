package feed

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/couch/changes"
	"github.com/kasoku/kasoku/internal/couch/object"
)

// page is a piece of what has changed since a position.
type page struct {
	rows  []row
	mark  uint64 // the ring's end before the page was asked for
	last  string // the position behind it, as JSON
	whole bool   // there was no more

	pending int // what the node says is behind it
}

// pageSilence is how long a node may look for rows that a filter lets through.
const pageSilence = time.Minute

// page reads what has changed since a position: at most so many rows, and no more
// than one beyond so many bytes.
func (s *source) page(ctx context.Context, since string, rows, bytes int) (*page, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dog := time.AfterFunc(pageSilence, cancel)
	defer dog.Stop()
	a, err := s.feed(ctx, fmt.Sprintf("feed=normal&limit=%d", rows), since)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	p := &page{last: since}
	for r := changes.NewReader(&watched{a.Body, dog, pageSilence}, changes.Results); bytes > 0; {
		kind, text, err := r.Next()
		switch {
		case err != nil:
			return nil, plainly(err)
		case kind == changes.Last:
			p.whole = len(p.rows) < rows
			p.close(text)
			_, _ = io.CopyN(io.Discard, a.Body, 64) // the end, so that the connection can be used again
			return p, nil
		case kind == changes.Item:
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
	for f := object.Of(text); f.Next(); {
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

// page reads a page. A node that can't be reached is asked again for longer than its feed
// may be resumed, so that the client learns from the group what becomes of it.
func (f *Feeds) page(ctx context.Context, g *group, since string, rows int) *page {
	until := time.Now().Add(2 * f.cfg.Patience)
	for {
		p, err := f.attempt(ctx, g, since, rows)
		if err == nil {
			return p
		}
		if unopened(err) == refused || time.Now().After(until) || !rest(ctx, f.cfg.Patience/8) {
			return nil
		}
	}
}

// attempt reads a page when there is a slot for it.
func (f *Feeds) attempt(ctx context.Context, g *group, since string, rows int) (*page, error) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.paged()
	mark := g.view().end
	p, err := g.page(ctx, since, rows, f.cfg.PageBytes)
	if err != nil {
		return nil, err
	}
	p.mark = mark
	return p, nil
}
