package follow

import (
	"bytes"
	"cmp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// trackerConfig is the configuration of a tracker.
type trackerConfig struct {
	// Nodes is the number of nodes, which replicate the database to each other.
	Nodes int
	// MaxUnfollowed is how long copies are served without a sign of life from every node's
	// feed. Default 1s.
	MaxUnfollowed time.Duration
	// AnnounceTimeout is the time after which a node that has not announced a change is
	// queried for it. Default 500ms.
	AnnounceTimeout time.Duration
	// GiveUpAfter is the time after which a queried node is presumed never to get a change,
	// because no replication to it exists. Default 10m.
	GiveUpAfter time.Duration
	// MaxOpen is the maximum number of changes that some node has not announced. With more,
	// all nodes become unsynced. Default 65,536.
	MaxOpen int
	// Invalidate moves the tags of a document and of results, or the tag of the database if
	// id is nil. It is called with the tracker locked.
	Invalidate func(id []byte)
	// Replicated is called when another node's change has reached node; lag is the time
	// since the change was recorded. It may be nil.
	Replicated func(node int, lag time.Duration)
}

// tracker records which node has which changes of one database. Its methods are safe for
// concurrent use. Times are readings of one clock in nanoseconds.
type tracker struct {
	cfg trackerConfig

	// servableUntil is the time until which copies may be served unless a feed is heard
	// from. Each hit reads it without the lock.
	servableUntil atomic.Int64

	mu sync.Mutex // guards the following fields

	// Sets of nodes.
	all           NodeSet
	out           NodeSet // unreachable: changes don't wait for them, and their answers are not cached
	unsynced      NodeSet // it is not recorded which changes they lack
	rejoined      NodeSet // unsynced nodes that were out, and lack all writes of that time
	wroteWhileOut NodeSet // nodes that are out and have stored a write for Kasoku nevertheless

	// replacedWhileOut are nodes that are out and may have another database of that name.
	replacedWhileOut NodeSet

	// Changes.
	open    map[string]*change // by document id
	changes uint64             // the number of changes recorded so far
	epoch   uint64             // the number of times that nodes became unsynced

	// By node.
	heard      [MaxNodes]int64
	unsyncedAt [MaxNodes]uint64 // the epoch in which the node became unsynced
	lacks      [MaxNodes]int    // the number of open changes that the node lacks
	oldest     [MaxNodes]lack
}

// change is the newest revision of a document, kept until all nodes have announced it.
type change struct {
	rev       string
	number    uint64  // its position in the sequence of changes, from 1 on
	steps     []step  // earlier revisions, oldest first
	closed    bool    // not open any more
	at        int64   // when it was recorded
	has       NodeSet // the nodes that have it
	mayHave   NodeSet // has, nodes that may have announced another revision late, and nodes that may have lost it
	announced NodeSet // by their feeds
	queried   NodeSet // returned by overdue
	presumed  NodeSet // presumed to have it, since they were not found to lack it
	stored    NodeSet // for Kasoku
}

// newTracker returns a tracker without any state. Nothing may be served until each node was
// heard from. If there are several nodes, they are unsynced.
func newTracker(cfg trackerConfig) *tracker {
	cfg.MaxUnfollowed = cmp.Or(cfg.MaxUnfollowed, time.Second)
	cfg.AnnounceTimeout = cmp.Or(cfg.AnnounceTimeout, 500*time.Millisecond)
	cfg.GiveUpAfter = cmp.Or(cfg.GiveUpAfter, 10*time.Minute)
	cfg.MaxOpen = cmp.Or(cfg.MaxOpen, 1<<16)
	t := &tracker{cfg: cfg, all: AllNodes(cfg.Nodes), open: map[string]*change{}}
	t.unsynced = t.all
	for i := range t.heard {
		t.heard[i] = never
	}
	t.servableUntil.Store(never)
	return t
}

const never = -1 << 62

// servable reports whether the feeds are recent enough to serve copies at that time.
func (t *tracker) servable(now int64) bool { return now <= t.servableUntil.Load() }

// heardFrom records that node has announced all its changes up to the time at.
func (t *tracker) heardFrom(node int, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard[node] = max(t.heard[node], at)
	t.updateServable()
}

// updateServable updates servableUntil. t.mu is held.
func (t *tracker) updateServable() {
	until := int64(never)
	if in := t.all &^ t.out; in != 0 {
		until = 1 << 62
		in.forEach(func(node int) { until = min(until, t.heard[node]) })
	}
	t.servableUntil.Store(until + int64(t.cfg.MaxUnfollowed))
}

// announced records a row of node's feed.
func (t *tracker) announced(node int, id, rev []byte, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[string(id)]
	if c != nil && c.rev == string(rev) {
		if c.announced.Has(node) {
			t.cfg.Invalidate(id) // a repetition, or a leaf that did not win
		}
		t.markHas(c, node, now)
		c.announced = c.announced.with(node)
		t.closeIfDone(string(id), c)
		return
	}
	t.cfg.Invalidate(id)
	c = t.record(id, rev, node, now)
	if c.rev == string(rev) {
		c.announced = c.announced.with(node)
	}
	t.closeIfDone(string(id), c)
}

// wrote records the result of a write through Kasoku: node has stored the revision. It must
// be called before the write ends, which moves the tags. Otherwise a read between the two
// might cache the answer of a node without the revision.
func (t *tracker) wrote(node int, id, rev []byte, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[string(id)]
	if c != nil && c.rev == string(rev) {
		t.markHas(c, node, now)
	} else {
		c = t.record(id, rev, node, now)
	}
	if c.rev == string(rev) {
		c.stored = c.stored.with(node)
	}
	t.wroteWhileOut |= t.out & NodeSet(0).with(node)
	t.closeIfDone(string(id), c)
}

// record records that node has a revision other than that of the document's open change. The
// newer revision becomes or remains the open change. node may have got its revision before
// or after the other one.
func (t *tracker) record(id, rev []byte, node int, now int64) *change {
	c := t.open[string(id)]
	if c != nil && newer(c.rev, rev) {
		if c.has.Has(node) {
			t.markLacks(c, node)
		}
		c.reached(node, rev)
		c.announced, c.queried = c.announced.without(node), c.queried.without(node)
		return c
	}
	return t.openChange(id, &change{rev: string(rev), at: now, has: NodeSet(0).with(node)})
}

// openChange opens a change, and replaces the open change of that document.
func (t *tracker) openChange(id []byte, c *change) *change {
	if before := t.open[string(id)]; before != nil {
		c.steps = before.pendingSteps(t.all)
		t.remove(string(id), before)
	} else if len(t.open) >= t.cfg.MaxOpen {
		t.overflow()
	}
	t.changes++
	c.number, c.mayHave = t.changes, c.has
	t.open[string(id)] = c
	(t.all &^ c.has).forEach(func(n int) { t.lacks[n]++ })
	return c
}

// markLacks records that node lacks a change that it was recorded to have.
func (t *tracker) markLacks(c *change, node int) {
	c.has = c.has.without(node)
	t.lacks[node]++
	t.oldest[node] = lack{}
}

// markHas records that node has the change.
func (t *tracker) markHas(c *change, node int, now int64) {
	c.presumed = c.presumed.without(node)
	if c.has.Has(node) {
		return
	}
	c.has, c.mayHave = c.has.with(node), c.mayHave.with(node)
	t.lacks[node]--
	if t.cfg.Replicated != nil {
		t.cfg.Replicated(node, time.Duration(now-c.at))
	}
}

// closeIfDone drops a change that all nodes have announced, except nodes that are out. A
// comparison finds their missing changes when they rejoin. If all nodes are out, it drops
// nothing, since the first one that rejoins may lack the change.
func (t *tracker) closeIfDone(id string, c *change) {
	if in := t.all &^ t.out; in != 0 && in&^c.has == 0 && in&^c.announced == 0 {
		t.remove(id, c)
	}
}

// remove drops a change.
func (t *tracker) remove(id string, c *change) {
	delete(t.open, id)
	c.closed = true
	(t.all &^ c.has).forEach(func(n int) { t.lacks[n]-- })
}

// overflow drops all changes. A comparison must find the missing changes again.
func (t *tracker) overflow() {
	clear(t.open)
	t.lacks, t.oldest = [MaxNodes]int{}, [MaxNodes]lack{}
	t.unsync(t.all)
}

// unsync marks the nodes as unsynced, in a new epoch.
func (t *tracker) unsync(nodes NodeSet) {
	t.epoch++
	t.unsynced |= nodes
	nodes.forEach(func(n int) { t.unsyncedAt[n] = t.epoch })
}

// markUnsynced records that the nodes lack unrecorded changes: a comparison did not reach
// far enough, or another node has stored something unknown. In the latter case call it
// before the write ends, like wrote.
func (t *tracker) markUnsynced(nodes NodeSet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsync(nodes)
}

// newer reports whether a is the newer revision. Like CouchDB, it prefers the longer history
// and then the greater hash. This is wrong only for deletions; then a query for overdue
// changes finds it out.
func newer(a string, b []byte) bool {
	genA, hashA := splitRevision([]byte(a))
	genB, hashB := splitRevision(b)
	if genA != genB {
		return genA > genB
	}
	return bytes.Compare(hashA, hashB) > 0
}

// splitRevision splits "12-abc" into its number and its hash.
func splitRevision(rev []byte) (n int, hash []byte) {
	before, hash, _ := bytes.Cut(rev, []byte{'-'})
	n, _ = strconv.Atoi(string(before))
	return n, hash
}
