package follow

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// TrackerConfig says how a database is watched. Times are durations on the clock whose
// readings the methods are given.
type TrackerConfig struct {
	// NodeSet is how many nodes have the database: they replicate it to each other.
	Nodes int
	// Unfollowed is how long copies are given out without a sign that every node's
	// feed is alive. Default 1s.
	Unfollowed time.Duration
	// Revision is how long a node may take to announce a change until it is asked.
	// Default 500ms.
	Doubt time.Duration
	// Patience is how long a node that has been asked is waited for until it is
	// taken to never get the change: replication to it does not exist. Default 10m.
	Patience time.Duration
	// Open is how many changes are kept that not every node has announced; over it
	// all nodes count as adrift. Default 65,536.
	Open int
	// Move moves a document's tag and the results' (id not nil), or the database's
	// tag (id nil). It is called with the database locked.
	Move func(id []byte)
	// Caught is told how long after it became known a node had a change: the lag
	// of replication. It may be nil.
	Caught func(node int, lag time.Duration)
}

// Tracker knows of one database which changes each node has. Its methods may be
// called by many goroutines. Times are readings of one clock in nanoseconds.
type Tracker struct {
	cfg TrackerConfig

	// until is when copies may no longer be given out, unless something is heard.
	// Read without the lock by every hit.
	until atomic.Int64

	mu     sync.Mutex
	all    NodeSet
	out    NodeSet // not reachable: nobody waits for them, nothing is kept of them
	adrift NodeSet // what they lack is not known
	behind NodeSet // of these, those that were out: they lack whatever was written meanwhile
	late   NodeSet // of those that are out, those that have stored something for Kasoku all the same
	drifts uint64
	since  [MaxNodes]uint64 // drifts when a node went adrift the last time
	heard  [MaxNodes]int64
	lacks  [MaxNodes]int      // open changes that the node does not have
	open   map[string]*change // by id
	known  uint64             // how many changes have become known
	oldest [MaxNodes]lack
}

// change is the newest revision of a document that any node has, for as long as
// not all have announced it.
type change struct {
	rev   string
	no    uint64  // its place in the order in which changes became known, from 1 on
	steps []step  // before it, the oldest first
	over  bool    // it is not open any more
	at    int64   // when it became known
	has   NodeSet // have it
	told  NodeSet // have announced it by their feed
	asked NodeSet // were named by Doubts
	taken NodeSet // are taken to have it, since nobody said that they lack it
	wrote NodeSet // have stored it for Kasoku
}

// NewTracker makes a database of which nothing is known: until each node is heard of
// nothing may be given out, and nodes are adrift if there are several.
func NewTracker(cfg TrackerConfig) *Tracker {
	if cfg.Unfollowed == 0 {
		cfg.Unfollowed = time.Second
	}
	if cfg.Doubt == 0 {
		cfg.Doubt = 500 * time.Millisecond
	}
	if cfg.Patience == 0 {
		cfg.Patience = 10 * time.Minute
	}
	if cfg.Open == 0 {
		cfg.Open = 1 << 16
	}
	d := &Tracker{cfg: cfg, all: AllNodes(cfg.Nodes), open: map[string]*change{}}
	d.adrift = d.all
	for i := range d.heard {
		d.heard[i] = never
	}
	d.until.Store(never)
	return d
}

const never = -1 << 62

// Servable tells whether a copy may be given out at that time, as far as the feeds
// are concerned.
func (d *Tracker) Servable(now int64) bool { return now <= d.until.Load() }

// Heard takes note that node has announced all that had changed by the time at.
func (d *Tracker) Heard(node int, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard[node] = max(d.heard[node], at)
	d.follow()
}

// follow computes until.
func (d *Tracker) follow() {
	until := int64(never)
	if in := d.all &^ d.out; in != 0 {
		until = 1 << 62
		in.each(func(node int) { until = min(until, d.heard[node]) })
	}
	d.until.Store(until + int64(d.cfg.Unfollowed))
}

// Row takes a row of node's feed.
func (d *Tracker) Row(node int, id, rev []byte, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[string(id)]
	if c != nil && c.rev == string(rev) {
		if c.told.Has(node) {
			d.cfg.Move(id) // told again, or another leaf than the winner has come
		}
		d.gets(c, node, now)
		c.told = c.told.with(node)
		d.close(string(id), c)
		return
	}
	d.cfg.Move(id)
	c = d.learn(id, rev, node, now)
	if c.rev == string(rev) {
		c.told = c.told.with(node)
	}
	d.close(string(id), c)
}

// Wrote takes the outcome of a write through Kasoku: node has stored the
// revision. It must be called before the write ends, which moves the tags: else a
// read between the two could be kept that came from a node without the revision.
func (d *Tracker) Wrote(node int, id, rev []byte, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[string(id)]
	if c != nil && c.rev == string(rev) {
		d.gets(c, node, now)
	} else {
		c = d.learn(id, rev, node, now)
	}
	if c.rev == string(rev) {
		c.wrote = c.wrote.with(node)
	}
	d.late |= d.out & NodeSet(0).with(node)
	d.close(string(id), c)
}

// learn takes note that node has a revision that the open change, if there is one,
// is not about. The newer of the two is the one to wait for. Of the node we know
// only that it has this one: it may have got it after the other or before.
func (d *Tracker) learn(id, rev []byte, node int, now int64) *change {
	c := d.open[string(id)]
	if c != nil && newer(c.rev, rev) {
		if c.has.Has(node) {
			d.loses(c, node)
		}
		c.reaches(node, rev)
		c.told, c.asked = c.told.without(node), c.asked.without(node)
		return c
	}
	return d.begin(id, &change{rev: string(rev), at: now, has: NodeSet(0).with(node)})
}

// begin opens a change in the place of the one that is open, if there is one.
func (d *Tracker) begin(id []byte, c *change) *change {
	if before := d.open[string(id)]; before != nil {
		c.steps = before.walked(d.all)
		d.drop(string(id), before)
	} else if len(d.open) >= d.cfg.Open {
		d.overflow()
	}
	d.known++
	c.no = d.known
	d.open[string(id)] = c
	(d.all &^ c.has).each(func(n int) { d.lacks[n]++ })
	return c
}

// loses takes note that node, which was taken to have the change, lacks it.
func (d *Tracker) loses(c *change, node int) {
	c.has = c.has.without(node)
	d.lacks[node]++
	d.oldest[node] = lack{}
}

// gets takes note that node has the change.
func (d *Tracker) gets(c *change, node int, now int64) {
	c.taken = c.taken.without(node)
	if c.has.Has(node) {
		return
	}
	c.has = c.has.with(node)
	d.lacks[node]--
	if d.cfg.Caught != nil {
		d.cfg.Caught(node, time.Duration(now-c.at))
	}
}

// close forgets a change that all nodes have and have announced. Nodes that are
// out are not waited for: what they lack is found out when they come back.
func (d *Tracker) close(id string, c *change) {
	if in := d.all &^ d.out; in&^c.has == 0 && in&^c.told == 0 {
		d.drop(id, c)
	}
}

// drop takes a change out of the books.
func (d *Tracker) drop(id string, c *change) {
	delete(d.open, id)
	c.over = true
	(d.all &^ c.has).each(func(n int) { d.lacks[n]-- })
}

// overflow gives the books up: what the nodes lack must be found out anew.
func (d *Tracker) overflow() {
	clear(d.open)
	d.lacks, d.oldest = [MaxNodes]int{}, [MaxNodes]lack{}
	d.drift(d.all)
}

// drift takes note that it is not known what the nodes lack.
func (d *Tracker) drift(nodes NodeSet) {
	d.drifts++
	d.adrift |= nodes
	nodes.each(func(n int) { d.since[n] = d.drifts })
}

// Drift takes note that it is not known what the nodes lack: a comparison has
// found that they lack more than it could see, or another node has stored what nobody
// can tell. In the latter case it must be called before the write ends, as Wrote.
func (d *Tracker) Drift(nodes NodeSet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drift(nodes)
}

// newer tells whether revision a is to be waited for rather than b. CouchDB lets
// the longer history win, then the greater hash, so that this is right but for
// deletions; where it is wrong, Doubts finds out.
func newer(a string, b []byte) bool {
	genA, hashA := generation([]byte(a))
	genB, hashB := generation(b)
	if genA != genB {
		return genA > genB
	}
	return bytes.Compare(hashA, hashB) > 0
}

// generation takes "12-abc" apart.
func generation(rev []byte) (n int, hash []byte) {
	before, hash, _ := bytes.Cut(rev, []byte{'-'})
	n, _ = strconv.Atoi(string(before))
	return n, hash
}
