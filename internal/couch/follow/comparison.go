package follow

import (
	"context"
	"time"
)

// depths are how many of a node's newest changes the others are asked for. The
// next one is tried when a node lacks changes so old that it must lack others
// that are older than those.
var depths = [...]int{500, maxDepth}

// maxDepth is how many changes are compared at the most.
const maxDepth = 10000

// maxComparePause is the longest time between two comparisons of nodes that lack so
// much, or take so long.
const maxComparePause = 30 * time.Second

// comparison finds out what nodes lack that are adrift. It belongs to tend.
type comparison struct {
	*Database
	pause time.Duration // after the last one, which did not find out
	last  time.Time

	// syncedUpTo is by two nodes a position in the feed of the second up to which the first
	// one has everything.
	syncedUpTo [][]feedPosition
}

// feedPosition is a place in a node's feed.
type feedPosition struct {
	at     string // as JSON; "" for none
	resets uint64 // how often both nodes' feeds had begun anew by then: it is good for no others
}

func newComparison(d *Database) *comparison {
	c := &comparison{Database: d}
	for range d.nodes {
		c.syncedUpTo = append(c.syncedUpTo, make([]feedPosition, len(d.nodes)))
	}
	return c
}

// notePositions takes down how far the feeds have come for the nodes that lack nothing.
func (c *comparison) notePositions() {
	// The positions first: what comes after them may be lacking.
	positions := make([]feedPosition, len(c.nodes))
	for node := range c.nodes {
		positions[node].resets = c.resets(node)
		positions[node].at = c.followerState(node).Position
	}
	now := c.table.cfg.Cache.Now()
	for node := range c.nodes {
		if s := c.tracker.replicaState(node, now); s.Lacks > 0 || s.Unsynced || s.Out {
			continue
		}
		for other, p := range positions {
			c.syncedUpTo[node][other] = feedPosition{p.at, p.resets + positions[node].resets}
		}
	}
}

// run compares the nodes if some are adrift and all feeds that the database has
// are open: what changes from now on is told by them.
func (c *comparison) run(ctx context.Context) {
	adrift, mark := c.tracker.unsyncedNodes()
	in, open := c.presentNodes()
	if adrift == 0 || !open || time.Since(c.last) < c.pause {
		return
	}
	began := time.Now()
	far, err := c.compareAll(ctx, in, adrift)
	c.last = time.Now()
	c.setCompareError(err)
	if err != nil {
		c.backOff(c.last.Sub(began))
		return
	}
	c.tracker.markSynced(in&^far, mark)
	if far == 0 {
		c.pause = 0
		return
	}
	c.tracker.markUnsynced(far)
	c.pause = min(max(2*c.pause, maintainInterval), maxComparePause)
}

// backOff waits a turn after a comparison that failed at once, and longer and longer after
// those that took long: a slow node goes on with what it was asked although nobody waits
// for it any more, and would only become slower.
func (c *comparison) backOff(took time.Duration) {
	if took <= maintainInterval {
		c.pause = maintainInterval
		return
	}
	c.pause = min(max(2*c.pause, took), maxComparePause)
}

// setCompareError takes note of why the nodes can't be compared; nil if they can.
func (d *Database) setCompareError(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.compareErr = err
}

// presentNodes returns the nodes that are not out, and whether all of them have been
// heard since their feeds began.
func (d *Database) presentNodes() (in NodeSet, open bool) {
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

// compareAll compares every two nodes of which one is adrift, and returns those that lack
// more of what another has than can be seen.
func (c *comparison) compareAll(ctx context.Context, in, adrift NodeSet) (far NodeSet, err error) {
	for node := range c.nodes {
		for other := range c.nodes {
			if node == other || !in.Has(node) || !in.Has(other) || !adrift.Has(node) && !adrift.Has(other) {
				continue
			}
			seen, err := c.comparePair(ctx, node, other)
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

// comparePair finds out what node lacks that other has: from the position on up to which
// it has everything, if that is known and not too long ago, else of the newest.
func (c *comparison) comparePair(ctx context.Context, node, other int) (seen bool, err error) {
	if from := c.syncedUpTo[node][other]; from.at != "" && from.resets == c.resets(other)+c.resets(node) {
		list, err := c.after(ctx, other, from.at, maxDepth)
		if err == nil && len(list) < maxDepth {
			return c.recordMissing(ctx, node, list, true)
		}
	}
	for _, depth := range depths {
		list, err := c.newest(ctx, other, depth)
		if err != nil {
			return false, err
		}
		if seen, err = c.recordMissing(ctx, node, list, len(list) < depth); seen || err != nil {
			return seen, err
		}
	}
	return false, nil
}

// recordMissing asks a node which of another's changes, the newest first, it lacks. seen is
// true if those must be all: whole says that there are no older ones to ask for,
// else the node has the whole older half of them.
func (c *comparison) recordMissing(ctx context.Context, node int, list []revision, whole bool) (seen bool, err error) {
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
		c.tracker.markMissing(node, []byte(change.ID), []byte(change.Rev), now)
	}
	return true, nil
}
