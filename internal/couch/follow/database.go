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

// Database is a database in use. Its methods are safe for concurrent use. After it is
// closed, it reports that nothing may be cached or served from memory.
type Database struct {
	table   *Table
	name    string
	path    string // "/name", escaped
	tracker *tracker
	cancel  context.CancelFunc
	wakeup  chan struct{} // wakes maintain; capacity 1
	pinned  bool          // never released

	used        atomic.Bool // since maintain checked last
	barred      atomic.Bool // nothing may be cached or served from memory
	closed      atomic.Bool // it was released
	incarnation atomic.Uint64
	lagging     atomic.Uint64 // NodeSet: the nodes that lack a change for longer than MaxLag

	leader leader

	mu    sync.Mutex // acquired before tracker.mu
	nodes []replica
	// compareErr is why the last comparison of the nodes failed.
	compareErr error
	lastUsed   time.Time // as seen by maintain
}

// replica is the database on one node. It is guarded by Database.mu.
type replica struct {
	follower    *Follower
	restart     context.CancelFunc // ends the follower's run; a new run begins after that
	run         uint64             // the number of the run; reports of older runs are dropped
	resets      uint64
	breaks      uint64 // of this run's follower, as seen by maintain
	interrupted bool   // breaks has grown, and the feed has not been open since
	absent      bool   // the node does not have the database
	uncompared  bool   // not compared since the database was found there
	out         bool   // see tracker.markOut
	heard       bool   // since the last reset
	heardAt     int64  // the last time; initially the time of creation
}

// open creates a database and follows it. t.mu is held.
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

// close bars the database, puts its copies out of reach and stops the followers.
func (d *Database) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed.Store(true)
	d.barred.Store(true)
	d.invalidate(nil)
	d.cancel()
}

// invalidate moves the tags of a document, or the tag of the database if id is nil.
func (d *Database) invalidate(id []byte) {
	t, name := d.table, []byte(d.name)
	if id == nil {
		t.cfg.Cache.Apply(cache.Change{Cause: cache.ByFeed, Tags: []cache.Tag{t.tagger.Database(name)}})
		return
	}
	t.cfg.Cache.Apply(cache.Change{Cause: cache.ByFeed, Tags: []cache.Tag{t.tagger.Document(name, id), t.tagger.Results(name)}})
}

// Servable reports whether the feeds are recent enough to serve copies at that time.
func (d *Database) Servable(now int64) bool { return !d.barred.Load() && d.tracker.servable(now) }

// Behind returns for how long changes of the database may be missing here that were made on its
// nodes, and past Kasoku: another process may have got them already. ok is false if that is not
// known, or copies can't be served. A copy that is found afterwards lacks no older change.
func (d *Database) Behind(now int64) (behind time.Duration, ok bool) {
	if !d.Servable(now) {
		return 0, false
	}
	return d.tracker.behind(now)
}

// Current returns the nodes whose answers may be cached. The order matters: first read the
// tags, then call Current, then send the request. If the set is empty, send the request to
// the write node, and use the answer for that client only. See tracker.current.
func (d *Database) Current(id []byte) NodeSet { return d.usable(d.tracker.current(id)) }

// usable removes the lagging nodes from nodes, and all nodes while d is barred.
func (d *Database) usable(nodes NodeSet) NodeSet {
	if d.barred.Load() {
		return 0
	}
	return nodes &^ NodeSet(d.lagging.Load())
}

// Likely returns the reachable nodes that probably have the document's newest revision. See
// tracker.likely.
func (d *Database) Likely(id []byte) NodeSet { return d.tracker.likely(id) }

// Present returns the nodes that have the database and are reachable according to the feeds.
func (d *Database) Present() NodeSet { return d.tracker.present() }

// Reachable returns the nodes that are reachable according to the feeds and to writes
// through Kasoku.
func (d *Database) Reachable() NodeSet { return d.tracker.reachable() }

// Wrote records the result of a write through Kasoku: node has stored the revision. It must
// be called before the write ends (cache.Write.Commit).
func (d *Database) Wrote(node int, id, rev []byte, now int64) {
	d.tracker.wrote(node, id, rev, now)
	d.recordWriter(node)
	// A released database may have a successor, which needs the revision too. A successor
	// created after this check compares the nodes after the write.
	if d.closed.Load() {
		if next := (*d.table.databases.Load())[d.name]; next != nil && next != d {
			next.Wrote(node, id, rev, now)
		}
	}
}

// WroteUnknown is Wrote for a finished write with unknown result. The other nodes count as
// unsynced until they are compared; meanwhile only node may be current.
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

// Incarnation returns a number that changes whenever the name may mean another database:
// after it was deleted or recreated on a node, or not in use for a while. It is unique among
// all databases. An entity tag of one incarnation is meaningless in another.
func (d *Database) Incarnation() uint64 { return d.incarnation.Load() }

// ReplicaState returns the state of node at that time. It is slow, and meant for reports.
func (d *Database) ReplicaState(node int, now int64) ReplicaState {
	return d.tracker.replicaState(node, now)
}

// Name returns the database's name, unescaped.
func (d *Database) Name() string { return d.name }

// RecheckExistence is called when a write through Kasoku has, or may have, created or
// deleted the database on node. Call it before that write ends. The database counts as
// absent there until it is found.
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

// reset discards the state of node. d.mu is held. A database that becomes barred is barred
// before its tag moves; one that stops being barred is barred until after that.
func (d *Database) reset(node int, why ResetReason) {
	p := &d.nodes[node]
	p.heard, p.absent = false, why == Deleted
	p.uncompared = p.uncompared || why == Opened || why == Recreated
	p.resets++
	d.refreshLocked()
	if why != Opened {
		d.incarnation.Store(d.table.incarnations.Add(1))
	}
	d.tracker.resetNode(node, why)
}

// refresh takes unreachable nodes out, and updates barred.
func (d *Database) refresh() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refreshLocked()
}

// refreshLocked decides which nodes are out and whether the database is barred. d.mu is
// held. Only Heard takes a node back in.
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

// absentEverywhere reports whether no node has the database.
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

// wake runs maintain at once.
func (d *Database) wake() {
	select {
	case d.wakeup <- struct{}{}:
	default:
	}
}
