package watch

import (
	"context"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/couch/coherence"
)

// depths are how many of a node's newest changes the others are asked for. The
// next one is tried when a node lacks changes so old that it must lack others
// that are older than those.
var depths = [...]int{500, 10000}

// mostPause is the longest time between two comparisons of nodes that lack so
// much.
const mostPause = 30 * time.Second

// comparison finds out what nodes lack that are adrift.
type comparison struct {
	*Database
	pause time.Duration // after the last one, which did not find out
	last  time.Time
}

// make compares the nodes if some are adrift and all feeds that the database has
// are open: what changes from now on is told by them.
func (c *comparison) make(ctx context.Context) {
	adrift, mark := c.known.Adrift()
	in, open := c.present()
	if adrift == 0 || !open || time.Since(c.last) < c.pause {
		return
	}
	known, err := c.lists(ctx, in)
	c.last = time.Now()
	if err != nil {
		c.pause = turn
		c.table.cfg.Log.Debug("the nodes could not be compared", slog.String("database", c.name), slog.Any("error", err))
		return
	}
	c.known.Compared(known, mark)
	far := in &^ known
	if far == 0 {
		c.pause = 0
		return
	}
	c.known.Drift(far)
	c.pause = min(max(2*c.pause, turn), mostPause)
}

// present returns the nodes that are not out, and whether all of them have been
// heard since their feeds began.
func (d *Database) present() (in coherence.Nodes, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	open = true
	for node := range d.nodes {
		if p := &d.nodes[node]; !p.out {
			in |= 1 << node
			open = open && p.heard
		}
	}
	return in, open
}

// lists asks each node for its newest changes and the others for those that they
// lack, and returns the nodes of which it is known then.
func (c *comparison) lists(ctx context.Context, in coherence.Nodes) (known coherence.Nodes, err error) {
	known = in
	for node := range c.nodes {
		if !in.Has(node) {
			continue
		}
		unknown, err := c.list(ctx, node, in&^(1<<node))
		if err != nil {
			return 0, err
		}
		known &^= unknown
	}
	return known, nil
}

// list compares the others with one node, and returns those that lack more of what
// it has than can be seen.
func (c *comparison) list(ctx context.Context, node int, others coherence.Nodes) (unknown coherence.Nodes, err error) {
	unknown = others
	for _, depth := range depths {
		list, err := c.newest(ctx, node, depth)
		if err != nil {
			return 0, err
		}
		for other := range c.nodes {
			if !unknown.Has(other) {
				continue
			}
			seen, err := c.lacks(ctx, other, list, len(list) < depth)
			if err != nil {
				return 0, err
			}
			if seen {
				unknown &^= 1 << other
			}
		}
		if unknown == 0 {
			break
		}
	}
	return unknown, nil
}

// lacks asks a node which of another's newest changes it lacks. seen is true if
// those must be all: whole says that there are no older ones, else it has the whole
// older half of them.
func (c *comparison) lacks(ctx context.Context, node int, newest []coherence.Doubt, whole bool) (seen bool, err error) {
	if len(newest) == 0 {
		return true, nil
	}
	missing, err := c.missing(ctx, node, newest)
	if err != nil {
		return false, err
	}
	for _, older := range newest[len(newest)/2:] {
		if missing[older] && !whole {
			return false, nil
		}
	}
	now := c.table.cfg.Cache.Now()
	for change := range missing {
		c.known.Missing(node, []byte(change.ID), []byte(change.Rev), now)
	}
	return true, nil
}
