package follow

import (
	"context"
	"log/slog"
	"time"
)

const (
	// maintainInterval is how often a database is looked after.
	maintainInterval = time.Second
	// sweepTicks is how many turns are between two calls of Sweep.
	sweepTicks = 5
	// lagTicks is how many turns are between two calls of Config.Behind.
	lagTicks = 10
	// absentTimeout is how long a database that is on no node is followed.
	absentTimeout = 10 * time.Second
)

// maintain looks after the database until ctx ends.
func (d *Database) maintain(ctx context.Context) {
	ticker := time.NewTicker(maintainInterval)
	defer ticker.Stop()
	seen := time.Now() // on any node
	c := newComparison(d)
	for turns := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-d.wakeup:
			c.pause = 0
		case <-ticker.C:
			turns++
			if !d.absentEverywhere() {
				seen = time.Now()
			}
			if !d.pinned && (d.idle() || time.Since(seen) >= absentTimeout) {
				d.table.release(d)
				return
			}
			d.reportReturned()
			d.updateLagging(turns)
			c.notePositions()
			if turns%sweepTicks == 0 {
				d.sweep()
			}
		}
		d.refresh()
		c.run(ctx)
		d.admitCompared()
	}
}

// idle tells whether nobody has asked for the database for long enough.
func (d *Database) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used.Swap(false) {
		d.lastUsed = time.Now()
	}
	return time.Since(d.lastUsed) >= d.table.cfg.Idle
}

// reportReturned tells whose feeds have broken and are there again.
func (d *Database) reportReturned() {
	for node := range d.nodes {
		if d.returned(node) {
			d.table.cfg.Returned(node)
		}
	}
}

// returned tells, once, whether node's feed is open again after it has broken.
func (d *Database) returned(node int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.nodes[node]
	if p.follower == nil {
		return false
	}
	st := p.follower.State()
	if st.Breaks != p.breaks {
		p.breaks, p.interrupted = st.Breaks, true
	}
	if !p.interrupted || st.Phase != Following && st.Phase != Polling {
		return false
	}
	p.interrupted = false
	return true
}

// updateLagging finds out which nodes lag too far behind. That they still do is told from
// time to time.
func (d *Database) updateLagging(turns int) {
	now := d.table.cfg.Cache.Now()
	var lagging uint64
	for node := range d.nodes {
		if s := d.tracker.replicaState(node, now); s.Lag > d.table.cfg.MaxLag {
			lagging |= 1 << node
			if turns%lagTicks == 0 {
				d.table.cfg.Lagging(d.name, node)
			}
		}
	}
	d.lagging.Store(lagging)
}

func (d *Database) sweep() {
	if n := d.tracker.sweep(d.table.cfg.Cache.Now()); n > 0 {
		d.table.metrics.abandoned.Add(uint64(n))
		d.table.cfg.Log.Warn("changes have not reached every node for so long that they are not waited for any more",
			slog.String("database", d.name), slog.Int("changes", n))
	}
}

// admitCompared takes note of the nodes that are compared since the database was found
// there, or that nobody has to be compared with.
func (d *Database) admitCompared() {
	d.mu.Lock()
	defer d.mu.Unlock()
	adrift, _ := d.tracker.unsyncedNodes()
	for node := range d.nodes {
		if p := &d.nodes[node]; p.heard && !adrift.Has(node) {
			p.uncompared = false
		}
	}
	d.refreshLocked()
}

// maxOverdue is how many changes a node is asked about at once.
const maxOverdue = 1000

// maxSkippedTicks is how many turns at most a node is not asked that did not have what it
// was asked for.
const maxSkippedTicks = 8

// requestTimeout bounds one request to a node.
const requestTimeout = 10 * time.Second

// checkOverdue asks node, until ctx ends, about the changes that it should have announced.
// The longer it has none of them, the more seldom: it lags.
func (d *Database) checkOverdue(ctx context.Context, node int) {
	ticker := time.NewTicker(maintainInterval)
	defer ticker.Stop()
	for rest, next := 0, 0; ; next-- {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if next > 0 {
			continue
		}
		asked, found := d.queryOverdue(ctx, node)
		if asked == 0 || found > 0 {
			rest = 0
		} else {
			rest = min(2*rest+1, maxSkippedTicks)
		}
		next = rest
	}
}

// queryOverdue asks node about its doubts, for as long as there are many that it dispels.
func (d *Database) queryOverdue(ctx context.Context, node int) (asked, found int) {
	for {
		resets := d.resets(node)
		doubts := d.tracker.overdue(node, d.table.cfg.Cache.Now(), maxOverdue)
		if len(doubts) == 0 {
			return asked, found
		}
		missing, err := d.missing(ctx, node, doubts)
		if err != nil {
			return asked, found
		}
		d.confirmFound(node, resets, doubts, missing)
		asked += len(doubts)
		found += len(doubts) - len(missing)
		if len(doubts) < maxOverdue || len(missing) > maxOverdue/2 {
			return asked, found
		}
	}
}

func (d *Database) resets(node int) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node].resets
}

// confirmFound takes the node's word on the doubts, unless its database has become
// another one since it was asked.
func (d *Database) confirmFound(node int, resets uint64, doubts []revision, missing map[revision]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[node].resets != resets {
		return
	}
	now := d.table.cfg.Cache.Now()
	for _, doubt := range doubts {
		if !missing[doubt] {
			d.tracker.confirm(node, doubt, now)
		}
	}
}
