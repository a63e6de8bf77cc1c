package cache

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// node is one of the caches of a round.
type node struct {
	c *Cache
	s *Space
}

// clusterFaults are the rules of a cluster that are switched off. Each must lead to a violation.
type clusterFaults struct {
	oneRound     bool // fence and forget in one message
	someFence    bool // a member may be left out of a round
	keepsLease   bool // a member that is taken out has a lease still
	keepsEntries bool // a member that joins again has its entries still
	noQuarantine bool // the writes of a member that is taken out are forgotten
	sendsAnyway  bool // the lease is not checked before a write is sent
	forgetsBooks bool // a joining member gets no writes in flight
	sharesAnyway bool // a node without a lease answers others
	notesLate    bool // generations are noted after another member was asked
}

// cluster connects caches in one process as package cluster connects those of several: it has a
// list of members, from which one is taken out at times, to join again. Its messages take a while.
type cluster struct {
	faults clusterFaults
	all    []*node

	mu      sync.Mutex // guards what follows
	r       *rand.Rand
	members map[*node]bool
	rounds  map[*clusterRound]bool // not ended
	books   []quarantined
}

// quarantined is a quarantine that joining members have to know of.
type quarantined struct {
	tags  []Tag
	until time.Time
}

// clusterRound is a write in flight.
type clusterRound struct {
	cl   *cluster
	by   *node
	tags []Tag
	held map[*node]*Hold
}

// newCluster makes one cluster of nodes. stop ends the changes of its members.
func newCluster(nodes []*node, with clusterFaults, r *rand.Rand) (cl *cluster, stop func()) {
	cl = &cluster{faults: with, all: nodes, r: rand.New(rand.NewPCG(r.Uint64(), 0)),
		members: make(map[*node]bool), rounds: make(map[*clusterRound]bool)}
	for _, n := range nodes {
		cl.members[n] = true
		n.c.SetCoordinator(clusterNode{cl, n})
		n.c.SetPeers(clusterNode{cl, n})
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
			}
			cl.change()
		}
	}()
	return cl, func() { close(end); <-ended }
}

// nap passes some of the time that a message takes.
func (cl *cluster) nap(limit int) {
	cl.mu.Lock()
	d := time.Duration(cl.r.IntN(limit)) * time.Millisecond
	cl.mu.Unlock()
	pass(d)
}

// change takes a member out and lets it join again.
func (cl *cluster) change() {
	cl.nap(300)
	cl.mu.Lock()
	n := cl.all[cl.r.IntN(len(cl.all))]
	if !cl.faults.keepsLease {
		n.c.SetLease(n.c.Now())
	}
	cl.mu.Unlock()
	pass(time.Millisecond) // what has been checked against the lease is sent by now
	cl.mu.Lock()
	cl.takeOut(n)
	cl.mu.Unlock()
	cl.nap(100)
	cl.mu.Lock()
	cl.join(n)
	cl.mu.Unlock()
}

// takeOut removes n. The other members put its writes in quarantine.
func (cl *cluster) takeOut(n *node) {
	delete(cl.members, n)
	for r := range cl.rounds {
		if r.by == n {
			r.quarantine(nil)
		} else if h := r.held[n]; h != nil {
			h.Release()
			delete(r.held, n)
		}
	}
}

// join adds n and hands the books over to it. Only now n empties its cache, as a node that was cut
// off and has not found out earlier that it was taken out.
func (cl *cluster) join(n *node) {
	if !cl.faults.keepsEntries {
		n.c.Empty()
	}
	cl.members[n] = true
	n.c.SettleUntil(n.c.Now() + int64(originLag) + int64(time.Millisecond))
	if !cl.faults.forgetsBooks {
		for r := range cl.rounds {
			r.held[n] = n.c.Hold(r.tags)
		}
		for _, q := range cl.books {
			if d := time.Until(q.until); d >= 0 {
				n.c.Quarantine(d, q.tags...)
			}
		}
	}
	n.c.SetLease(math.MaxInt64)
}

// clusterNode is the coordinator of a node.
type clusterNode struct {
	cl *cluster
	n  *node
}

func (clusterNode) Broadcast(context.Context, []byte) error { return nil }

func (k clusterNode) Begin(_ context.Context, tags, _ []Tag) (Round, error) {
	r := &clusterRound{cl: k.cl, by: k.n, tags: tags, held: make(map[*node]*Hold)}
	k.cl.mu.Lock()
	k.cl.rounds[r] = true
	k.cl.mu.Unlock()
	if err := r.fence(func(h *Hold) {}); err != nil {
		r.end(false, nil)
		return nil, err
	}
	return r, nil
}

// fence returns when all members have fenced the round's tags. again is called for those that have
// fenced some.
func (r *clusterRound) fence(again func(h *Hold)) error {
	cl, had := r.cl, make(map[*node]bool)
	for {
		cl.mu.Lock()
		if !r.sendable() {
			cl.mu.Unlock()
			return ErrIsolated
		}
		var next *node
		for n := range cl.members {
			if n != r.by && !had[n] {
				next = n
			}
		}
		if next == nil || cl.faults.someFence && cl.r.IntN(4) == 0 {
			cl.mu.Unlock()
			return nil
		}
		had[next] = true
		if h := r.held[next]; h != nil {
			again(h)
		} else {
			r.held[next] = next.c.Hold(r.tags)
		}
		if cl.faults.oneRound {
			r.held[next].Release()
		}
		cl.mu.Unlock()
		cl.nap(4)
	}
}

// sendable reports whether the node of the write is a member with a lease. The cluster is locked.
func (r *clusterRound) sendable() bool {
	return r.cl.faults.sendsAnyway || r.cl.rounds[r] && r.cl.members[r.by] && r.by.c.Serves(r.by.c.Now())
}

func (r *clusterRound) Sendable() bool {
	r.cl.mu.Lock()
	defer r.cl.mu.Unlock()
	return r.sendable()
}

func (r *clusterRound) Extend(_ context.Context, tags []Tag) error {
	r.cl.mu.Lock()
	r.tags = append(r.tags, tags...)
	r.cl.mu.Unlock()
	return r.fence(func(h *Hold) { h.Extend(tags) })
}

func (r *clusterRound) Commit()            { go r.end(false, nil) }
func (r *clusterRound) Unknown(more []Tag) { go r.end(true, more) }

// end sends the end of the write to one member after the other.
func (r *clusterRound) end(unknown bool, more []Tag) {
	for {
		r.cl.nap(4)
		r.cl.mu.Lock()
		if unknown {
			r.quarantine(more)
		}
		var last *Hold
		for n, h := range r.held {
			last = h
			delete(r.held, n)
			break
		}
		if last == nil {
			delete(r.cl.rounds, r)
			r.cl.mu.Unlock()
			return
		}
		last.Release()
		r.cl.mu.Unlock()
	}
}

// quarantine ends the write with an unknown outcome at all members. The cluster is locked.
func (r *clusterRound) quarantine(more []Tag) {
	if !r.cl.rounds[r] {
		return
	}
	delete(r.cl.rounds, r)
	for n, h := range r.held {
		if r.cl.faults.noQuarantine {
			h.Release()
		} else {
			h.Quarantine(originLate, more...)
		}
		delete(r.held, n)
	}
	if !r.cl.faults.noQuarantine {
		r.cl.books = append(r.cl.books, quarantined{append(more, r.tags...), time.Now().Add(originLate)})
	}
}

var _ Coordinator = clusterNode{}

// TestHistoryFindsFaults checks that the histories of a cluster show each fault of its rules.
func TestHistoryFindsFaults(t *testing.T) {
	f := func(name string, with clusterFaults) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			var total totals
			for seed := range uint64(500) {
				if len(history(t, seed, 360, &with, &total)) > 0 {
					t.Logf("found in round %d", seed)
					return
				}
			}
			t.Error("got no violation")
		})
	}
	f("one round", clusterFaults{oneRound: true})
	f("not all fence", clusterFaults{someFence: true})
	f("lease outlives membership", clusterFaults{keepsLease: true})
	f("entries outlive membership", clusterFaults{keepsEntries: true})
	f("no quarantine", clusterFaults{noQuarantine: true})
	f("sent without a lease", clusterFaults{sendsAnyway: true})
	f("joining without books", clusterFaults{forgetsBooks: true})
	f("shared without a lease", clusterFaults{sharesAnyway: true})
	f("noted late", clusterFaults{notesLate: true})
}
