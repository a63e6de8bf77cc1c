package follow

import (
	"context"
	"sync"
	"time"
)

// lead is whose turn it is to take a database's writes. When the first node fails,
// another one takes them, and goes on until the first lacks nothing: else what was
// written last would be on neither node together with what is written next.
type lead struct {
	mu      sync.Mutex // taken before the locks of what is known
	node    int        // took the last write
	moved   time.Time  // when another node had taken the one before it; zero if none ever
	writing int        // writes under way
}

// Writer returns the node that has what was written last through Kasoku, and takes
// what is written next where one node takes the writes. It is the first one, unless
// another took a write that the first may lack.
func (d *Database) Writer() int {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	return d.writer()
}

// Writing takes note that a write begins. Written has to be called when it is over,
// after Wrote: until then no other node's turn comes.
func (d *Database) Writing() {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	d.writer()
	d.lead.writing++
}

// Written ends what Writing began.
func (d *Database) Written() {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	d.lead.writing--
}

// took takes note that node took a write.
func (d *Database) took(node int) {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	if d.lead.node != node {
		d.lead.node, d.lead.moved = node, time.Now()
	}
}

// writer is Writer. d.lead.mu is held.
func (d *Database) writer() int {
	t := &d.lead
	switch {
	case t.node == 0:
	case !d.known.In().Has(t.node), d.gone(0):
		return 0
	case t.writing == 0 && d.Current(nil).Has(0):
		t.node = 0
	}
	return t.node
}

// gone tells whether the database is not on node.
func (d *Database) gone(node int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node].absent
}

// looking is how often Merged looks.
const looking = 5 * time.Millisecond

// Merged waits until a node has all that is known now, and returns those that do: none if
// it was in vain or ctx has ended. Their answers may be kept as those of Current. It waits
// for a tenth of MaxLag at most: after writes were taken by two nodes in turn, or if
// writer, which would be asked instead, lacks something for longer than that, and another
// node does not.
func (d *Database) Merged(ctx context.Context, writer int) NodeSet {
	mark := d.known.Mark()
	left := d.merging(writer)
	if left <= 0 {
		return 0
	}
	d.table.metrics.merging.Inc()
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	ticker := time.NewTicker(looking)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-ticker.C:
			if nodes := d.sound(d.known.Covers(mark)); nodes != 0 {
				return nodes
			}
		}
	}
}

// merging is how long it is worth while to wait in Merged.
func (d *Database) merging(writer int) time.Duration {
	most := d.table.cfg.MaxLag / 10
	d.lead.mu.Lock()
	left := most - time.Since(d.lead.moved)
	d.lead.mu.Unlock()
	if left > 0 {
		return left
	}
	if near := d.sound(d.known.Within(most, d.table.cfg.Cache.Now())); near != 0 && !near.Has(writer) {
		return most
	}
	return 0
}
