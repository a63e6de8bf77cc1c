package follow

import (
	"context"
	"time"
)

// depths are the numbers of a node's newest changes that the other nodes are queried for.
// The next depth is tried if a node lacks such old changes that it probably lacks older ones
// too.
var depths = [...]int{500, maxDepth}

// maxDepth is the maximum number of changes that are compared.
const maxDepth = 10000

// maxComparePause is the longest pause between two comparisons of nodes that lack too many
// changes or answer slowly.
const maxComparePause = 30 * time.Second

// comparison finds the changes that unsynced nodes lack. It is owned by maintain.
type comparison struct {
	*Database
	pause time.Duration // until the next comparison, after an incomplete one
	last  time.Time

	// syncedUpTo[a][b] is a position in b's feed up to which node a has every change.
	syncedUpTo [][]feedPosition
}

// feedPosition is a position in a node's feed.
type feedPosition struct {
	at     string // JSON; "" for none
	resets uint64 // the sum of both nodes' resets at that time; the position is invalid after another reset
}

func newComparison(d *Database) *comparison {
	c := &comparison{Database: d}
	for range d.nodes {
		c.syncedUpTo = append(c.syncedUpTo, make([]feedPosition, len(d.nodes)))
	}
	return c
}

// notePositions records the positions of the feeds for the nodes that lack nothing.
func (c *comparison) notePositions() {
	// Positions are read first: a node may lack changes after them.
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

// run compares the nodes if some are unsynced and the feeds of all present nodes are open.
// The feeds report all later changes.
func (c *comparison) run(ctx context.Context) {
	unsynced, mark := c.tracker.unsyncedNodes()
	in, open := c.presentNodes()
	if unsynced == 0 || !open || time.Since(c.last) < c.pause {
		return
	}
	began := time.Now()
	tooFar, err := c.compareAll(ctx, in, unsynced)
	c.last = time.Now()
	c.setCompareError(err)
	if err != nil {
		c.backOff(c.last.Sub(began))
		return
	}
	c.tracker.markSynced(in&^tooFar, mark)
	if tooFar == 0 {
		c.pause = 0
		return
	}
	c.tracker.markUnsynced(tooFar)
	c.pause = min(max(2*c.pause, maintainInterval), maxComparePause)
}

// backOff pauses for one interval after a comparison that failed at once, and for increasing
// times after slow ones. A slow node continues to process an abandoned request, and more of
// them would make it slower.
func (c *comparison) backOff(took time.Duration) {
	if took <= maintainInterval {
		c.pause = maintainInterval
		return
	}
	c.pause = min(max(2*c.pause, took), maxComparePause)
}

// setCompareError records why the nodes can't be compared; nil if they can.
func (d *Database) setCompareError(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.compareErr = err
}

// presentNodes returns the nodes that are not out, and whether all of them have been heard
// from since their last reset.
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

// compareAll compares each pair of nodes with an unsynced one, and returns the nodes that
// lack more of another node's changes than the comparison shows.
func (c *comparison) compareAll(ctx context.Context, in, unsynced NodeSet) (tooFar NodeSet, err error) {
	for node := range c.nodes {
		for other := range c.nodes {
			if node == other || !in.Has(node) || !in.Has(other) || !unsynced.Has(node) && !unsynced.Has(other) {
				continue
			}
			complete, err := c.comparePair(ctx, node, other)
			if err != nil {
				return 0, err
			}
			if !complete {
				tooFar |= 1 << node
			}
		}
	}
	return tooFar, nil
}

// comparePair finds the changes of other that node lacks. It begins at the position up to
// which node has everything, if that is valid and recent enough. Otherwise it looks at the
// newest changes.
func (c *comparison) comparePair(ctx context.Context, node, other int) (complete bool, err error) {
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
		if complete, err = c.recordMissing(ctx, node, list, len(list) < depth); complete || err != nil {
			return complete, err
		}
	}
	return false, nil
}

// recordMissing asks node which of another node's changes it lacks; list is sorted newest
// first. complete reports whether that is all it lacks: either whole is true, because list has
// all candidates, or node has all of the older half.
func (c *comparison) recordMissing(ctx context.Context, node int, list []revision, whole bool) (complete bool, err error) {
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
