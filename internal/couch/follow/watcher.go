package follow

import (
	"context"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// maxHeartbeat is the longest interval of heartbeats.
const maxHeartbeat = 300 * time.Millisecond

// heartbeatsPerWindow is the number of heartbeats within MaxUnfollowed.
const heartbeatsPerWindow = 3

// followNode keeps a follower of the database on node running until ctx ends.
func (d *Database) followNode(ctx context.Context, node int) {
	for ctx.Err() == nil {
		run, stop := context.WithCancel(ctx)
		d.newFollower(node, stop).Run(run)
		stop()
	}
}

// newFollower returns the follower for the next run, which stop ends.
func (d *Database) newFollower(node int, stop context.CancelFunc) *Follower {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.nodes[node]
	p.restart, p.breaks = stop, 0
	p.follower = NewFollower(FollowerConfig{
		DB: d.name, Get: d.table.cfg.Get(node), Watcher: &nodeWatcher{d, node, p.run},
		Heartbeat: min(maxHeartbeat, d.table.cfg.MaxUnfollowed/heartbeatsPerWindow),
	})
	return p.follower
}

// nodeWatcher receives the events of one run of a follower.
type nodeWatcher struct {
	*Database
	node int
	run  uint64
}

// Reset implements Watcher.
func (f *nodeWatcher) Reset(why ResetReason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes[f.node].run != f.run {
		return
	}
	f.reset(f.node, why)
	f.table.metrics.nodes[f.node].resets.Inc()
	if why != Opened {
		f.table.cfg.Log.Info("cached copies of a database are dropped", slog.String("database", f.name),
			slog.String("node", f.table.cfg.Nodes[f.node]), slog.String("why", why.String()))
	}
}

// Row implements Watcher.
func (f *nodeWatcher) Row(row *api.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes[f.node].run != f.run {
		return
	}
	f.tracker.announced(f.node, row.ID, row.Rev, f.table.cfg.Cache.Now())
	f.table.metrics.nodes[f.node].rows.Inc() // after the tags have moved
}

// Heard implements Watcher. It takes a node in again, since the feed has delivered
// everything that was missed.
func (f *nodeWatcher) Heard(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.nodes[f.node]
	if p.run != f.run {
		return
	}
	first := !p.heard
	p.heard, p.heardAt = true, f.table.cfg.Cache.At(at)
	f.tracker.heardFrom(f.node, p.heardAt)
	if p.out {
		p.out, first = false, true
		f.tracker.rejoin(f.node)
	}
	if first {
		f.wake()
	}
}
