package follow

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// trackerConfig says how a database is watched. Times are durations on the clock whose
// readings the methods are given.
type trackerConfig struct {
	// NodeSet is how many nodes have the database: they replicate it to each other.
	Nodes int
	// MaxUnfollowed is how long copies are given out without a sign that every node's
	// feed is alive. Default 1s.
	MaxUnfollowed time.Duration
	// revision is how long a node may take to announce a change until it is asked.
	// Default 500ms.
	AnnounceTimeout time.Duration
	// GiveUpAfter is how long a node that has been asked is waited for until it is
	// taken to never get the change: replication to it does not exist. Default 10m.
	GiveUpAfter time.Duration
	// MaxOpen is how many changes are kept that not every node has announced; over it
	// all nodes count as adrift. Default 65,536.
	MaxOpen int
	// Invalidate moves a document's tag and the results' (id not nil), or the database's
	// tag (id nil). It is called with the database locked.
	Invalidate func(id []byte)
	// Replicated is told how long after it became known a node had a change: the lag
	// of replication. It may be nil.
	Replicated func(node int, lag time.Duration)
}

// tracker knows of one database which changes each node has. Its methods may be
// called by many goroutines. Times are readings of one clock in nanoseconds.
type tracker struct {
	cfg trackerConfig

	// servableUntil is when copies may no longer be given out, unless something is heard.
	// Read without the lock by every hit.
	servableUntil atomic.Int64

	mu            sync.Mutex
	all           NodeSet
	out           NodeSet // not reachable: nobody waits for them, nothing is kept of them
	unsynced      NodeSet // what they lack is not known
	rejoined      NodeSet // of these, those that were out: they lack whatever was written meanwhile
	wroteWhileOut NodeSet // of those that are out, those that have stored something for Kasoku all the same
	epoch         uint64
	unsyncedAt    [MaxNodes]uint64 // drifts when a node went adrift the last time
	heard         [MaxNodes]int64
	lacks         [MaxNodes]int      // open changes that the node does not have
	open          map[string]*change // by id
	changes       uint64             // how many changes have become known
	oldest        [MaxNodes]lack
}

// change is the newest revision of a document that any node has, for as long as
// not all have announced it.
type change struct {
	rev       string
	number    uint64  // its place in the order in which changes became known, from 1 on
	steps     []step  // before it, the oldest first
	closed    bool    // it is not open any more
	at        int64   // when it became known
	has       NodeSet // have it
	announced NodeSet // have announced it by their feed
	queried   NodeSet // were named by Doubts
	presumed  NodeSet // are taken to have it, since nobody said that they lack it
	stored    NodeSet // have stored it for Kasoku
}

// newTracker makes a database of which nothing is known: until each node is heard of
// nothing may be given out, and nodes are adrift if there are several.
func newTracker(cfg trackerConfig) *tracker {
	if cfg.MaxUnfollowed == 0 {
		cfg.MaxUnfollowed = time.Second
	}
	if cfg.AnnounceTimeout == 0 {
		cfg.AnnounceTimeout = 500 * time.Millisecond
	}
	if cfg.GiveUpAfter == 0 {
		cfg.GiveUpAfter = 10 * time.Minute
	}
	if cfg.MaxOpen == 0 {
		cfg.MaxOpen = 1 << 16
	}
	d := &tracker{cfg: cfg, all: AllNodes(cfg.Nodes), open: map[string]*change{}}
	d.unsynced = d.all
	for i := range d.heard {
		d.heard[i] = never
	}
	d.servableUntil.Store(never)
	return d
}

const never = -1 << 62

// servable tells whether a copy may be given out at that time, as far as the feeds
// are concerned.
func (d *tracker) servable(now int64) bool { return now <= d.servableUntil.Load() }

// heardFrom takes note that node has announced all that had changed by the time at.
func (d *tracker) heardFrom(node int, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard[node] = max(d.heard[node], at)
	d.updateServable()
}

// updateServable computes until.
func (d *tracker) updateServable() {
	until := int64(never)
	if in := d.all &^ d.out; in != 0 {
		until = 1 << 62
		in.forEach(func(node int) { until = min(until, d.heard[node]) })
	}
	d.servableUntil.Store(until + int64(d.cfg.MaxUnfollowed))
}

// announced takes a row of node's feed.
func (d *tracker) announced(node int, id, rev []byte, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[string(id)]
	if c != nil && c.rev == string(rev) {
		if c.announced.Has(node) {
			d.cfg.Invalidate(id) // told again, or another leaf than the winner has come
		}
		d.markHas(c, node, now)
		c.announced = c.announced.with(node)
		d.closeIfDone(string(id), c)
		return
	}
	d.cfg.Invalidate(id)
	c = d.record(id, rev, node, now)
	if c.rev == string(rev) {
		c.announced = c.announced.with(node)
	}
	d.closeIfDone(string(id), c)
}

// stored takes the outcome of a write through Kasoku: node has stored the
// revision. It must be called before the write ends, which moves the tags: else a
// read between the two could be kept that came from a node without the revision.
func (d *tracker) wrote(node int, id, rev []byte, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[string(id)]
	if c != nil && c.rev == string(rev) {
		d.markHas(c, node, now)
	} else {
		c = d.record(id, rev, node, now)
	}
	if c.rev == string(rev) {
		c.stored = c.stored.with(node)
	}
	d.wroteWhileOut |= d.out & NodeSet(0).with(node)
	d.closeIfDone(string(id), c)
}

// record takes note that node has a revision that the open change, if there is one,
// is not about. The newer of the two is the one to wait for. Of the node we know
// only that it has this one: it may have got it after the other or before.
func (d *tracker) record(id, rev []byte, node int, now int64) *change {
	c := d.open[string(id)]
	if c != nil && newer(c.rev, rev) {
		if c.has.Has(node) {
			d.markLacks(c, node)
		}
		c.reached(node, rev)
		c.announced, c.queried = c.announced.without(node), c.queried.without(node)
		return c
	}
	return d.openChange(id, &change{rev: string(rev), at: now, has: NodeSet(0).with(node)})
}

// openChange opens a change in the place of the one that is open, if there is one.
func (d *tracker) openChange(id []byte, c *change) *change {
	if before := d.open[string(id)]; before != nil {
		c.steps = before.pendingSteps(d.all)
		d.remove(string(id), before)
	} else if len(d.open) >= d.cfg.MaxOpen {
		d.overflow()
	}
	d.changes++
	c.number = d.changes
	d.open[string(id)] = c
	(d.all &^ c.has).forEach(func(n int) { d.lacks[n]++ })
	return c
}

// markLacks takes note that node, which was taken to have the change, lacks it.
func (d *tracker) markLacks(c *change, node int) {
	c.has = c.has.without(node)
	d.lacks[node]++
	d.oldest[node] = lack{}
}

// markHas takes note that node has the change.
func (d *tracker) markHas(c *change, node int, now int64) {
	c.presumed = c.presumed.without(node)
	if c.has.Has(node) {
		return
	}
	c.has = c.has.with(node)
	d.lacks[node]--
	if d.cfg.Replicated != nil {
		d.cfg.Replicated(node, time.Duration(now-c.at))
	}
}

// closeIfDone forgets a change that all nodes have and have announced. Nodes that are
// out are not waited for: what they lack is found out when they come back.
func (d *tracker) closeIfDone(id string, c *change) {
	if in := d.all &^ d.out; in&^c.has == 0 && in&^c.announced == 0 {
		d.remove(id, c)
	}
}

// remove takes a change out of the books.
func (d *tracker) remove(id string, c *change) {
	delete(d.open, id)
	c.closed = true
	(d.all &^ c.has).forEach(func(n int) { d.lacks[n]-- })
}

// overflow gives the books up: what the nodes lack must be found out anew.
func (d *tracker) overflow() {
	clear(d.open)
	d.lacks, d.oldest = [MaxNodes]int{}, [MaxNodes]lack{}
	d.unsync(d.all)
}

// unsync takes note that it is not known what the nodes lack.
func (d *tracker) unsync(nodes NodeSet) {
	d.epoch++
	d.unsynced |= nodes
	nodes.forEach(func(n int) { d.unsyncedAt[n] = d.epoch })
}

// markUnsynced takes note that it is not known what the nodes lack: a comparison has
// found that they lack more than it could see, or another node has stored what nobody
// can tell. In the latter case it must be called before the write ends, as Wrote.
func (d *tracker) markUnsynced(nodes NodeSet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unsync(nodes)
}

// newer tells whether revision a is to be waited for rather than b. CouchDB lets
// the longer history win, then the greater hash, so that this is right but for
// deletions; where it is wrong, Doubts finds out.
func newer(a string, b []byte) bool {
	genA, hashA := splitRevision([]byte(a))
	genB, hashB := splitRevision(b)
	if genA != genB {
		return genA > genB
	}
	return bytes.Compare(hashA, hashB) > 0
}

// splitRevision takes "12-abc" apart.
func splitRevision(rev []byte) (n int, hash []byte) {
	before, hash, _ := bytes.Cut(rev, []byte{'-'})
	n, _ = strconv.Atoi(string(before))
	return n, hash
}
