package follow

import (
	"context"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// mostBeat is how often nodes are to say that nothing has changed, at the least.
const mostBeat = 300 * time.Millisecond

// beats are how many heartbeats fit into the time that copies are given out
// without one.
const beats = 3

// follow keeps a follower of the database on node running until ctx ends.
func (d *Database) follow(ctx context.Context, node int) {
	for ctx.Err() == nil {
		run, stop := context.WithCancel(ctx)
		d.newRun(node, stop).Run(run)
		stop()
	}
}

// newRun makes the follower for the next run, which stop ends.
func (d *Database) newRun(node int, stop context.CancelFunc) *Follower {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.nodes[node]
	p.restart, p.breaks = stop, 0
	p.follower = NewFollower(FollowerConfig{
		DB: d.name, Get: d.table.cfg.Get(node), Watcher: &feed{d, node, p.run},
		Beat: min(mostBeat, d.table.cfg.Unfollowed/beats),
	})
	return p.follower
}

// feed takes what one run of a follower tells.
type feed struct {
	*Database
	node int
	run  uint64
}

// Reset implements Watcher.
func (f *feed) Reset(why ResetReason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes[f.node].run != f.run {
		return
	}
	f.reset(f.node, why)
	f.table.metrics.nodes[f.node].resets.Inc()
	if why != Opened {
		f.table.cfg.Log.Info("what was kept of a database is given up", slog.String("database", f.name),
			slog.String("node", f.table.cfg.Nodes[f.node]), slog.String("why", why.String()))
	}
}

// Row implements Watcher.
func (f *feed) Row(row *api.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes[f.node].run != f.run {
		return
	}
	f.known.Row(f.node, row.ID, row.Rev, f.table.cfg.Cache.Now())
	f.table.metrics.nodes[f.node].rows.Inc() // what is counted is out of reach
}

// Heard implements Watcher. A node that was out is back, since all that was
// missed is told by now.
func (f *feed) Heard(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.nodes[f.node]
	if p.run != f.run {
		return
	}
	first := !p.heard
	p.heard, p.at = true, f.table.cfg.Cache.At(at)
	f.known.Heard(f.node, p.at)
	if p.out {
		p.out, first = false, true
		f.known.Back(f.node)
	}
	if first {
		f.wake()
	}
}
