package follow

import (
	"context"
	"time"
)

// depths are how many of a node's newest changes the others are asked for. The
// next one is tried when a node lacks changes so old that it must lack others
// that are older than those.
var depths = [...]int{500, deepest}

// deepest is how many changes are compared at the most.
const deepest = 10000

// mostPause is the longest time between two comparisons of nodes that lack so
// much, or take so long.
const mostPause = 30 * time.Second

// comparison finds out what nodes lack that are adrift. It belongs to tend.
type comparison struct {
	*Database
	pause time.Duration // after the last one, which did not find out
	last  time.Time

	// good is by two nodes a position in the feed of the second up to which the first
	// one has everything.
	good [][]feedPosition
}

// feedPosition is a place in a node's feed.
type feedPosition struct {
	at     string // as JSON; "" for none
	resets uint64 // how often both nodes' feeds had begun anew by then: it is good for no others
}

func newComparison(d *Database) *comparison {
	c := &comparison{Database: d}
	for range d.nodes {
		c.good = append(c.good, make([]feedPosition, len(d.nodes)))
	}
	return c
}

// mark takes down how far the feeds have come for the nodes that lack nothing.
func (c *comparison) mark() {
	// The positions first: what comes after them may be lacking.
	positions := make([]feedPosition, len(c.nodes))
	for node := range c.nodes {
		positions[node].resets = c.resets(node)
		positions[node].at = c.state(node).Position
	}
	now := c.table.cfg.Cache.Now()
	for node := range c.nodes {
		if s := c.known.Standing(node, now); s.Lacks > 0 || s.Adrift || s.Out {
			continue
		}
		for other, p := range positions {
			c.good[node][other] = feedPosition{p.at, p.resets + positions[node].resets}
		}
	}
}

// make compares the nodes if some are adrift and all feeds that the database has
// are open: what changes from now on is told by them.
func (c *comparison) make(ctx context.Context) {
	adrift, mark := c.known.Adrift()
	in, open := c.present()
	if adrift == 0 || !open || time.Since(c.last) < c.pause {
		return
	}
	began := time.Now()
	far, err := c.all(ctx, in, adrift)
	c.last = time.Now()
	c.incomparable(err)
	if err != nil {
		c.rest(c.last.Sub(began))
		return
	}
	c.known.Compared(in&^far, mark)
	if far == 0 {
		c.pause = 0
		return
	}
	c.known.Drift(far)
	c.pause = min(max(2*c.pause, turn), mostPause)
}

// rest waits a turn after a comparison that failed at once, and longer and longer after
// those that took long: a slow node goes on with what it was asked although nobody waits
// for it any more, and would only become slower.
func (c *comparison) rest(took time.Duration) {
	if took <= turn {
		c.pause = turn
		return
	}
	c.pause = min(max(2*c.pause, took), mostPause)
}

// incomparable takes note of why the nodes can't be compared; nil if they can.
func (d *Database) incomparable(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble = err
}

// present returns the nodes that are not out, and whether all of them have been
// heard since their feeds began.
func (d *Database) present() (in NodeSet, open bool) {
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

// all compares every two nodes of which one is adrift, and returns those that lack
// more of what another has than can be seen.
func (c *comparison) all(ctx context.Context, in, adrift NodeSet) (far NodeSet, err error) {
	for node := range c.nodes {
		for other := range c.nodes {
			if node == other || !in.Has(node) || !in.Has(other) || !adrift.Has(node) && !adrift.Has(other) {
				continue
			}
			seen, err := c.pair(ctx, node, other)
			if err != nil {
				return 0, err
			}
			if !seen {
				far |= 1 << node
			}
		}
	}
	return far, nil
}

// pair finds out what node lacks that other has: from the position on up to which
// it has everything, if that is known and not too long ago, else of the newest.
func (c *comparison) pair(ctx context.Context, node, other int) (seen bool, err error) {
	if from := c.good[node][other]; from.at != "" && from.resets == c.resets(other)+c.resets(node) {
		list, err := c.after(ctx, other, from.at, deepest)
		if err == nil && len(list) < deepest {
			return c.lacks(ctx, node, list, true)
		}
	}
	for _, depth := range depths {
		list, err := c.newest(ctx, other, depth)
		if err != nil {
			return false, err
		}
		if seen, err = c.lacks(ctx, node, list, len(list) < depth); seen || err != nil {
			return seen, err
		}
	}
	return false, nil
}

// lacks asks a node which of another's changes, the newest first, it lacks. seen is
// true if those must be all: whole says that there are no older ones to ask for,
// else the node has the whole older half of them.
func (c *comparison) lacks(ctx context.Context, node int, list []Revision, whole bool) (seen bool, err error) {
	if len(list) == 0 {
		return true, nil
	}
	missing, err := c.missing(ctx, node, list)
	if err != nil {
		return false, err
	}
	for _, older := range list[len(list)/2:] {
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
