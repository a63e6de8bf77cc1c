package follow

import (
	"context"
	"sync"
	"time"
)

// leader is the node that takes a database's writes. When the first node fails, another node
// takes them until the first lacks nothing. Otherwise no node would have both the last write
// and the next.
type leader struct {
	mu        sync.Mutex // acquired before Database.mu and tracker.mu
	node      int        // took the last write
	changedAt time.Time  // the last time that another node took the writes; zero if never
	writes    int        // in flight
}

// WriteNode returns the node that took the last write through Kasoku, and takes the next one
// if a single node takes the writes. It is the first node, unless another one took a write
// that the first may lack.
func (d *Database) WriteNode() int {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	return d.writeNodeLocked()
}

// BeginWrite records that a write begins. EndWrite must be called after it, and after Wrote.
// The writes return to the first node only while no write is in flight.
func (d *Database) BeginWrite() {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	d.writeNodeLocked()
	d.leader.writes++
}

// EndWrite ends a write that BeginWrite began.
func (d *Database) EndWrite() {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	d.leader.writes--
}

// recordWriter records that node took a write.
func (d *Database) recordWriter(node int) {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	if d.leader.node != node {
		d.leader.node, d.leader.changedAt = node, time.Now()
	}
}

// writeNodeLocked is WriteNode. d.leader.mu is held.
func (d *Database) writeNodeLocked() int {
	t := &d.leader
	switch {
	case t.node == 0:
	case !d.tracker.present().Has(t.node), d.absent(0):
		return 0
	case t.writes == 0 && d.Current(nil).Has(0):
		t.node = 0
	}
	return t.node
}

// absent reports whether node does not have the database.
func (d *Database) absent(node int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node].absent
}

// pollInterval is how often AwaitCurrent checks.
const pollInterval = 5 * time.Millisecond

// AwaitCurrent waits until some node has all changes that are now recorded, and returns
// those nodes. Their answers may be cached like those of Current. It returns no node after a
// timeout of at most a tenth of MaxLag, or when ctx ends.
//
// It waits in two cases: two nodes have recently taken writes in turn, or writer, the
// alternative, lacks a change for longer than the timeout and another node does not.
func (d *Database) AwaitCurrent(ctx context.Context, writer int) NodeSet {
	mark := d.tracker.mark()
	left := d.awaitTime(writer)
	if left <= 0 {
		return 0
	}
	d.table.metrics.awaited.Inc()
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-ticker.C:
			if nodes := d.usable(d.tracker.covers(mark)); nodes != 0 {
				return nodes
			}
		}
	}
}

// awaitTime returns how long AwaitCurrent waits.
func (d *Database) awaitTime(writer int) time.Duration {
	timeout := d.table.cfg.MaxLag / 10
	d.leader.mu.Lock()
	left := timeout - time.Since(d.leader.changedAt)
	d.leader.mu.Unlock()
	if left > 0 {
		return left
	}
	if recent := d.usable(d.tracker.within(timeout, d.table.cfg.Cache.Now())); recent != 0 && !recent.Has(writer) {
		return timeout
	}
	return 0
}
