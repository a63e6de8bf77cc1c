package follow

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
)

// Database is a database in use. Its methods may be called by many goroutines, also
// after it was let go: then it says that nothing may be kept nor given out.
type Database struct {
	table   *Table
	name    string
	path    string // "/name", escaped
	tracker *tracker
	cancel  context.CancelFunc
	wakeup  chan struct{} // wakes tend; holds one
	pinned  bool          // it is not let go

	used        atomic.Bool // since tend looked last
	barred      atomic.Bool // nothing may be kept nor given out
	closed      atomic.Bool // it was let go
	incarnation atomic.Uint64
	lagging     atomic.Uint64 // Nodes that lack a change for longer than MaxLag

	leader leader

	mu    sync.Mutex // taken before known's own lock
	nodes []replica
	// compareErr is why the nodes could not be compared the last time.
	compareErr error
	lastUsed   time.Time // when it was last used, as far as tend knows
}

// replica is a database on one node. It is guarded by Database.mu.
type replica struct {
	follower    *Follower
	restart     context.CancelFunc // ends the follower's run, after which a new one begins
	run         uint64             // counts the runs: what an old one still tells is dropped
	resets      uint64
	breaks      uint64 // of this run's follower, as far as tend knows
	interrupted bool   // they have grown, and the feed was not seen open since
	absent      bool   // it is not there
	uncompared  bool   // it has not been compared since it was found there
	out         bool   // see Database.Out
	heard       bool   // since the last reset
	heardAt     int64  // when it was heard last; when it was made, before
}

// openChange makes a database and follows it. t.mu is held.
func (t *Table) open(name string) *Database {
	ctx, cancel := context.WithCancel(t.ctx)
	d := &Database{
		table: t, name: name, path: "/" + url.PathEscape(name), cancel: cancel, wakeup: make(chan struct{}, 1),
		nodes: make([]replica, len(t.cfg.Nodes)), lastUsed: time.Now(), pinned: slices.Contains(t.cfg.Pinned, name),
	}
	d.tracker = newTracker(trackerConfig{
		Nodes: len(t.cfg.Nodes), MaxUnfollowed: t.cfg.MaxUnfollowed, Invalidate: d.invalidate,
		Replicated: func(node int, lag time.Duration) { t.metrics.nodes[node].replicated.Observe(lag) },
	})
	d.incarnation.Store(t.incarnations.Add(1))
	for node := range d.nodes {
		d.nodes[node].heardAt = t.cfg.Cache.Now()
		t.running.Go(func() { d.followNode(ctx, node) })
		t.running.Go(func() { d.checkOverdue(ctx, node) })
	}
	t.running.Go(func() { d.maintain(ctx) })
	return d
}

// close says no from now on, puts what was kept out of reach and stops the followers.
func (d *Database) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed.Store(true)
	d.barred.Store(true)
	d.invalidate(nil)
	d.cancel()
}

// invalidate moves the tags of a document, or of the database if id is nil.
func (d *Database) invalidate(id []byte) {
	t, name := d.table, []byte(d.name)
	if id == nil {
		t.cfg.Cache.Apply(cache.Change{Cause: cache.ByFeed, Tags: []cache.Tag{t.tagger.Database(name)}})
		return
	}
	t.cfg.Cache.Apply(cache.Change{Cause: cache.ByFeed, Tags: []cache.Tag{t.tagger.Document(name, id), t.tagger.Results(name)}})
}

// servable tells whether a copy may be given out at that time, as far as the feeds
// are concerned.
func (d *Database) Servable(now int64) bool { return !d.barred.Load() && d.tracker.servable(now) }

// current returns the nodes whose answers may be kept; see
// Database.Current, and its order: tags are noted, then Current, then a
// node is asked. If it is empty, whoever takes the writes is to be asked, and the
// answer is good for whoever asked only.
func (d *Database) Current(id []byte) NodeSet { return d.usable(d.tracker.current(id)) }

// usable returns those of the nodes of which something may be kept at all.
func (d *Database) usable(nodes NodeSet) NodeSet {
	if d.barred.Load() {
		return 0
	}
	return nodes &^ NodeSet(d.lagging.Load())
}

// likely returns the nodes that have the document's newest revision, as far as anybody
// knows, of those that can be reached; see Database.Likely.
func (d *Database) Likely(id []byte) NodeSet { return d.tracker.likely(id) }

// presentNodes returns the nodes that can be reached, as far as the feeds tell, and have the
// database.
func (d *Database) Present() NodeSet { return d.tracker.present() }

// reachable returns the nodes that can be reached, as far as the feeds and the writes
// through Kasoku tell.
func (d *Database) Reachable() NodeSet { return d.tracker.reachable() }

// stored takes the outcome of a write through Kasoku: node has stored the revision.
// It must be called before the write ends (cache.Write.Commit).
func (d *Database) Wrote(node int, id, rev []byte, now int64) {
	d.tracker.wrote(node, id, rev, now)
	d.recordWriter(node)
	// One that was let go meanwhile may have a successor, which has to know. A
	// successor that is made after this look compares the nodes after the write.
	if d.closed.Load() {
		if next := (*d.table.databases.Load())[d.name]; next != nil && next != d {
			next.Wrote(node, id, rev, now)
		}
	}
}

// WroteUnknown is Wrote for a write that is over, and of which nobody can tell what it
// stored on node. What the others lack is not known until they were compared; meanwhile
// node alone may be current.
func (d *Database) WroteUnknown(node int) {
	d.tracker.markUnsynced(AllNodes(len(d.nodes)) &^ (1 << node))
	d.recordWriter(node)
	d.wake()
	if d.closed.Load() {
		if next := (*d.table.databases.Load())[d.name]; next != nil && next != d {
			next.WroteUnknown(node)
		}
	}
}

// Incarnation is another number whenever the database may be another one: it was
// deleted or created anew on a node, or not in use for a while. No two databases
// have one in common. An entity tag that was learnt in one says nothing in another.
func (d *Database) Incarnation() uint64 { return d.incarnation.Load() }

// replicaState returns what is known of a node at that time; see Standing.
// It is meant for reports.
func (d *Database) ReplicaState(node int, now int64) ReplicaState {
	return d.tracker.replicaState(node, now)
}

// Name is the database's name, without escapes.
func (d *Database) Name() string { return d.name }

// RecheckExistence takes note that a write through Kasoku has deleted the database on node,
// created it there, or may have done so. It is to be called before that write ends.
// The database counts as absent there until it is found.
func (d *Database) RecheckExistence(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.nodes[node]
	p.run++
	if p.restart != nil {
		p.restart()
	}
	d.reset(node, Deleted)
}

// reset gives up what was known of node. d.mu is held. The database is barred, if it
// has to be, before its tag moves, and not before that if it has to be no longer.
func (d *Database) reset(node int, why ResetReason) {
	p := &d.nodes[node]
	p.heard, p.absent = false, why == Deleted
	p.uncompared = p.uncompared || why == Opened || why == Recreated
	p.resets++
	d.refreshLocked()
	if why != Opened {
		d.incarnation.Store(d.table.incarnations.Add(1))
	}
	d.tracker.resetNode(node, why != Opened)
}

// refresh takes nodes out that can't be reached.
func (d *Database) refresh() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refreshLocked()
}

// refreshLocked decides which nodes are out and whether the database is barred. d.mu is
// held. A node comes back in Heard only.
func (d *Database) refreshLocked() {
	now, up := d.table.cfg.Cache.Now(), NodeSet(d.table.up.Load())
	for node := range d.nodes {
		p := &d.nodes[node]
		silent := !p.heard || now-p.heardAt > int64(d.table.cfg.MaxUnfollowed)
		if !p.out && (p.absent || silent && !up.Has(node)) {
			p.out = true
			d.tracker.markOut(node)
		}
	}
	first := &d.nodes[d.table.firstUp()]
	d.barred.Store(d.closed.Load() || first.absent || first.uncompared)
}

// absentEverywhere tells whether the database is on no node.
func (d *Database) absentEverywhere() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.nodes {
		if !d.nodes[i].absent {
			return false
		}
	}
	return true
}

// wake has tend look after the database at once.
func (d *Database) wake() {
	select {
	case d.wakeup <- struct{}{}:
	default:
	}
}
