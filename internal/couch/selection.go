package couch

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// nodeOrder is in which order nodes are asked: the first one that is available is.
type nodeOrder []int

// configOrder is the order of the configuration.
func (c *Config) configOrder() nodeOrder {
	o := make(nodeOrder, len(c.Nodes))
	for i := range o {
		o[i] = i
	}
	return o
}

// hashOrder is an order that is the same for the same key, as long as the nodes are, and
// in which all nodes come first equally often. When a node leaves, nothing moves
// between the others (rendezvous hashing).
func (c *Config) hashOrder(key ...[]byte) nodeOrder {
	o := c.configOrder()
	scores := make([]uint64, len(o))
	for i, url := range c.Nodes {
		h := xxhash.New()
		for _, part := range key {
			h.Write(part)
			h.Write([]byte{0})
		}
		h.WriteString(url)
		scores[i] = h.Sum64()
	}
	slices.SortFunc(o, func(a, b int) int {
		if scores[a] > scores[b] {
			return -1
		}
		return 1
	})
	return o
}

// writeOrder is the order for writes: of a document, or of a whole database with id nil.
// Where one node takes the writes, first is that one.
func (c *Config) writeOrder(first int, db, id []byte) nodeOrder {
	if c.Writes == WritesFirst {
		return c.configOrder().startingAt(first)
	}
	return c.hashOrder(db, id)
}

// startingAt puts node before all others.
func (o nodeOrder) startingAt(node int) nodeOrder {
	at := slices.Index(o, node)
	copy(o[1:at+1], o[:at])
	o[0] = node
	return o
}

// preferred puts the nodes of a set before the others.
func (o nodeOrder) prefer(set follow.NodeSet) nodeOrder {
	slices.SortStableFunc(o, func(a, b int) int {
		switch {
		case set.Has(a) == set.Has(b):
			return 0
		case set.Has(a):
			return -1
		}
		return 1
	})
	return o
}

// nodeSelection chooses the node for a read. It refers to nothing of an exchange.
type nodeSelection struct {
	svc         *Service
	fleet       *fleet
	db          *follow.Database // nil: the database is not followed
	id          []byte           // the document that is read, nil for any
	writeOrder  nodeOrder        // who has what was written, the likeliest first
	preferred   nodeOrder        // who is asked first of those that may be; nil: any
	key         []byte           // what balance.ConsistentHash goes by
	headTimeout time.Duration    // how long the answer may take to begin; 0: as long as any
	anyWriter   bool             // no node takes all writes
	hold        origin.Hold      // what is held of the answer before its client gets any of it
	excluded    follow.NodeSet   // must not be asked, since they lack the newest _security
	member      int              // who has answered, if the answer may be kept
}

// indexTime is how long a node may take to begin an answer for which it may have to
// build an index first, unless all answers may take longer.
const indexTime = 10 * time.Minute

// headTimeout is how long a node may take to begin an answer to a request like r; 0: as
// long as any.
func (c *Config) headTimeout(r *api.Route) time.Duration {
	if r.Kind == api.Result || r.Kind == api.Rendering {
		return max(indexTime, c.HTTP.Group.Transport.HeadTimeout)
	}
	return 0
}

// ask sends q to a node that lacks nothing of what the answer depends on; keep is
// true then. If there is none, or none that answers, last says who is asked.
func (r *nodeSelection) ask(ctx context.Context, q *origin.Outbound) (in *origin.Inbound, keep bool, f *origin.Fault) {
	q.Repeatable, q.HeadTimeout = true, r.headTimeout
	member := -1
	choice, all := r.choice(r.preferred), follow.AllNodes(len(r.writeOrder))&^r.excluded
	choice.Member, choice.Key = &member, r.key
	current := all
	if r.db != nil {
		if current = r.current(ctx) &^ r.excluded; current == 0 {
			return r.askLastWriter(ctx, q, 0, nil)
		}
	}
	if r.db != nil || r.excluded != 0 {
		choice.Allow = current.Has
	}
	in, f = r.svc.engine.Ask(ctx, q, choice)
	r.member = member
	switch {
	case r.authoritative(in, member), current == all && !r.doubtful(in, member), ctx.Err() != nil, !q.Replayable():
		return in, r.db != nil && f == nil && r.fleet.nodes.isOwnAnswer(member, in.Header), f
	case r.doubtful(in, member):
		current = 0
	}
	if in != nil {
		in.Close()
	}
	return r.askLastWriter(ctx, q, current, f)
}

// choice asks the balancer for the first available node of an order, and for another one if
// the answer breaks off early.
func (r *nodeSelection) choice(o nodeOrder) *balance.Choice {
	choice := r.fleet.choice(o)
	choice.Hold = r.hold
	return choice
}

// current are the nodes that lack nothing of what the answer depends on. It may take a
// moment until one has everything.
func (r *nodeSelection) current(ctx context.Context) follow.NodeSet {
	current := r.db.Current(r.id)
	if current == 0 && r.id == nil && len(r.writeOrder) > 1 {
		current = r.db.AwaitCurrent(ctx, r.writeOrder[0])
	}
	return current
}

// askLastWriter sends q to who has what was written, although its answer may not be kept, or it
// has failed before. Others may lack that: they are asked only if nobody who has it can
// be reached. current are the nodes that were asked before, f is what came of it.
func (r *nodeSelection) askLastWriter(ctx context.Context, q *origin.Outbound, current follow.NodeSet, f *origin.Fault) (*origin.Inbound, bool, *origin.Fault) {
	if only := r.lastWriters(current); only != 0 && !(only&^current == 0 && unreachable(f)) {
		choice := r.choice(r.writeOrder)
		choice.Allow = only.Has
		in, f := r.svc.engine.Ask(ctx, q, choice)
		if !unreachable(f) || ctx.Err() != nil || !q.Replayable() {
			return in, false, f
		}
	}
	choice := r.choice(r.writeOrder)
	if r.excluded != 0 {
		choice.Allow = (^r.excluded).Has
	}
	in, f := r.svc.engine.Ask(ctx, q, choice)
	return in, false, f
}

// lastWriters are the nodes that have what was written through Kasoku and is read: those
// that are current, as long as they can be reached and the node that takes all writes, if
// one does, is among them or one document is read; else the likeliest. Of a database that
// is not followed nobody knows: none.
func (r *nodeSelection) lastWriters(current follow.NodeSet) follow.NodeSet {
	if r.db == nil {
		return 0
	}
	in := r.db.Present()
	if r.id != nil || r.anyWriter { // what was written to a node before anything is heard of it
		in = r.db.Reachable()
	}
	in &^= r.excluded
	if current &= in; current != 0 && (r.id != nil || r.anyWriter || current.Has(r.writeOrder[0])) {
		return current
	}
	for _, node := range r.writeOrder {
		if in.Has(node) {
			return follow.NodeSet(1) << node
		}
	}
	return 0
}

// unreachable tells whether nobody got the request, nor could have.
func unreachable(f *origin.Fault) bool {
	return f != nil && !f.Reached && (f.Kind == origin.Dial || f.Kind == origin.BreakerOpen)
}

// authoritative tells whether the node has answered by itself, and may be believed.
func (r *nodeSelection) authoritative(in *origin.Inbound, member int) bool {
	return in != nil && in.Status != 502 && in.Status != 503 && in.Status != 504 && !r.doubtful(in, member)
}

// doubtful tells whether the node that takes the writes may answer otherwise: nodes
// need not know the same sessions, nor have the same documents at once.
func (r *nodeSelection) doubtful(in *origin.Inbound, member int) bool {
	return in != nil && member != r.writeOrder[0] && (in.Status == 401 || in.Status == 404 && r.db == nil)
}

// holdTime is how long after its head an answer is held at most.
const holdTime = time.Second

// readQueryBody says what is held of an answer while another node could be asked.
func (c *Config) hold() origin.Hold {
	if len(c.Nodes) < 2 {
		return origin.Hold{}
	}
	return origin.Hold{Bytes: c.Buffer, Time: holdTime}
}

// recentWrites remembers which node took the last write of a client in a database that is
// not followed, so that the client reads what it wrote. Places are shared by
// whoever falls on the same: the later one counts.
type recentWrites struct {
	slots [1 << 14]atomic.Uint64 // 40 bits of the hash, 6 of the node, 18 of the time in seconds
}

const (
	recentNode = 6
	recentTime = 18
	recentMask = 1<<recentTime - 1
)

func (r *recentWrites) slot(hash uint64) *atomic.Uint64 { return &r.slots[hash%uint64(len(r.slots))] }

// record takes note of a write at a time in Unix seconds.
func (r *recentWrites) record(hash uint64, node int, now int64) {
	r.slot(hash).Store(hash>>24<<24 | uint64(node)<<recentTime | uint64(now)&recentMask)
}

// node returns the node that took the last write, if that was less than d ago.
func (r *recentWrites) node(hash uint64, now int64, d time.Duration) (node int, ok bool) {
	p := r.slot(hash).Load()
	age := (uint64(now) - p) & recentMask
	if p == 0 || p>>24 != hash>>24 || time.Duration(age)*time.Second > d {
		return 0, false
	}
	return int(p >> recentTime & (1<<recentNode - 1)), true
}

// hashOf hashes parts.
func hashOf(parts ...[]byte) uint64 {
	h := xxhash.New()
	for _, part := range parts {
		h.Write(part)
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// copyFrom takes over what old knows. nodes are the numbers of old's nodes here, -1 for
// who is gone.
func (r *recentWrites) copyFrom(old *recentWrites, nodes []int) {
	const mask = 1<<recentNode - 1
	for i := range old.slots {
		p := old.slots[i].Load()
		if node := int(p >> recentTime & mask); p != 0 && node < len(nodes) && nodes[node] >= 0 {
			r.slots[i].Store(p&^(mask<<recentTime) | uint64(nodes[node])<<recentTime)
		}
	}
}
