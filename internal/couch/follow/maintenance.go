package follow

import (
	"context"
	"log/slog"
	"time"
)

const (
	// maintainInterval is the interval between two ticks of maintain.
	maintainInterval = time.Second
	// sweepTicks is the number of ticks between two sweeps.
	sweepTicks = 5
	// lagTicks is the number of ticks between two calls of Config.Lagging.
	lagTicks = 10
	// absentTimeout is how long a database is followed that no node has.
	absentTimeout = 10 * time.Second
)

// maintain does the periodic work for the database until ctx ends.
func (d *Database) maintain(ctx context.Context) {
	ticker := time.NewTicker(maintainInterval)
	defer ticker.Stop()
	seen := time.Now() // on any node
	c := newComparison(d)
	for ticks := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-d.wakeup:
			c.pause = 0
		case <-ticker.C:
			ticks++
			if !d.absentEverywhere() {
				seen = time.Now()
			}
			if !d.pinned && (d.idle() || time.Since(seen) >= absentTimeout) {
				d.table.release(d)
				return
			}
			d.reportReturned()
			d.updateLagging(ticks)
			c.notePositions()
			if ticks%sweepTicks == 0 {
				d.sweep()
			}
		}
		d.refresh()
		c.run(ctx)
		d.admitCompared()
	}
}

// idle reports whether the database has been unused for Config.Idle.
func (d *Database) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used.Swap(false) {
		d.lastUsed = time.Now()
	}
	return time.Since(d.lastUsed) >= d.table.cfg.Idle
}

// reportReturned reports the nodes whose feeds had broken off and are open again.
func (d *Database) reportReturned() {
	for node := range d.nodes {
		if d.returned(node) {
			d.table.cfg.Returned(node)
		}
	}
}

// returned reports once whether node's feed is open again after it had broken off.
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

// updateLagging updates the set of lagging nodes, and reports them from time to time.
func (d *Database) updateLagging(ticks int) {
	now := d.table.cfg.Cache.Now()
	var lagging uint64
	for node := range d.nodes {
		if s := d.tracker.replicaState(node, now); s.Lag > d.table.cfg.MaxLag {
			lagging |= 1 << node
			if ticks%lagTicks == 0 {
				d.table.cfg.Lagging(d.name, node)
			}
		}
	}
	d.lagging.Store(lagging)
}

func (d *Database) sweep() {
	if n := d.tracker.sweep(d.table.cfg.Cache.Now()); n > 0 {
		d.table.metrics.abandoned.Add(uint64(n))
		d.table.cfg.Log.Warn("changes did not reach every node in time and are not waited for any more",
			slog.String("database", d.name), slog.Int("changes", n))
	}
}

// admitCompared records which nodes were compared since the database was found there, or
// need no comparison.
func (d *Database) admitCompared() {
	d.mu.Lock()
	defer d.mu.Unlock()
	unsynced, _ := d.tracker.unsyncedNodes()
	for node := range d.nodes {
		if p := &d.nodes[node]; p.heard && !unsynced.Has(node) {
			p.uncompared = false
		}
	}
	d.refreshLocked()
}

// maxOverdue is the maximum number of changes in one query.
const maxOverdue = 1000

// maxSkippedTicks is the maximum number of ticks between two queries to a node that lacked
// everything it was queried for.
const maxSkippedTicks = 8

// requestTimeout is the timeout of one request to a node.
const requestTimeout = 10 * time.Second

// checkOverdue queries node for overdue changes until ctx ends. While node lacks all of
// them, for example because it lags, the queries become less frequent.
func (d *Database) checkOverdue(ctx context.Context, node int) {
	ticker := time.NewTicker(maintainInterval)
	defer ticker.Stop()
	for skip, next := 0, 0; ; next-- {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if next > 0 {
			continue
		}
		queried, found := d.queryOverdue(ctx, node)
		if queried == 0 || found > 0 {
			skip = 0
		} else {
			skip = min(2*skip+1, maxSkippedTicks)
		}
		next = skip
	}
}

// queryOverdue queries node for overdue changes, and continues while there are many and the
// node has at least half of them.
func (d *Database) queryOverdue(ctx context.Context, node int) (queried, found int) {
	for {
		resets := d.resets(node)
		revs := d.tracker.overdue(node, d.table.cfg.Cache.Now(), maxOverdue)
		if len(revs) == 0 {
			return queried, found
		}
		missing, err := d.missing(ctx, node, revs)
		if err != nil {
			return queried, found
		}
		d.confirmFound(node, resets, revs, missing)
		queried += len(revs)
		found += len(revs) - len(missing)
		if len(revs) < maxOverdue || len(missing) > maxOverdue/2 {
			return queried, found
		}
	}
}

func (d *Database) resets(node int) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node].resets
}

// confirmFound confirms the revisions that node has, unless its database was replaced since
// the query.
func (d *Database) confirmFound(node int, resets uint64, revs []revision, missing map[revision]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[node].resets != resets {
		return
	}
	now := d.table.cfg.Cache.Now()
	for _, rev := range revs {
		if !missing[rev] {
			d.tracker.confirm(node, rev, now)
		}
	}
}
