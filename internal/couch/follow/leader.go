package follow

import (
	"context"
	"sync"
	"time"
)

// leader is whose turn it is to take a database's writes. When the first node fails,
// another one takes them, and goes on until the first lacks nothing: else what was
// written last would be on neither node together with what is written next.
type leader struct {
	mu        sync.Mutex // taken before the locks of what is known
	node      int        // took the last write
	changedAt time.Time  // when another node had taken the one before it; zero if none ever
	writes    int        // writes under way
}

// WriteNode returns the node that has what was written last through Kasoku, and takes
// what is written next where one node takes the writes. It is the first one, unless
// another took a write that the first may lack.
func (d *Database) WriteNode() int {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	return d.writeNodeLocked()
}

// BeginWrite takes note that a write begins. Written has to be called when it is over,
// after Wrote: until then no other node's turn comes.
func (d *Database) BeginWrite() {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	d.writeNodeLocked()
	d.leader.writes++
}

// EndWrite ends what Writing began.
func (d *Database) EndWrite() {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	d.leader.writes--
}

// recordWriter takes note that node took a write.
func (d *Database) recordWriter(node int) {
	d.leader.mu.Lock()
	defer d.leader.mu.Unlock()
	if d.leader.node != node {
		d.leader.node, d.leader.changedAt = node, time.Now()
	}
}

// writeNodeLocked is Writer. d.lead.mu is held.
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

// absent tells whether the database is not on node.
func (d *Database) absent(node int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node].absent
}

// pollInterval is how often Merged looks.
const pollInterval = 5 * time.Millisecond

// AwaitCurrent waits until a node has all that is known now, and returns those that do: none if
// it was in vain or ctx has ended. Their answers may be kept as those of Current. It waits
// for a tenth of MaxLag at most: after writes were taken by two nodes in turn, or if
// writer, which would be asked instead, lacks something for longer than that, and another
// node does not.
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

// awaitTime is how long it is worth while to wait in Merged.
func (d *Database) awaitTime(writer int) time.Duration {
	most := d.table.cfg.MaxLag / 10
	d.leader.mu.Lock()
	left := most - time.Since(d.leader.changedAt)
	d.leader.mu.Unlock()
	if left > 0 {
		return left
	}
	if near := d.usable(d.tracker.within(most, d.table.cfg.Cache.Now())); near != 0 && !near.Has(writer) {
		return most
	}
	return 0
}
