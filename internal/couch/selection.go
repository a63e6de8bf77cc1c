package couch

import (
	"context"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// nodeSelection selects the node for a read. It does not refer to the exchange.
type nodeSelection struct {
	svc         *Service
	fleet       *fleet
	db          *follow.Database // nil: the database is not followed
	id          []byte           // the document that is read; nil for any
	writeOrder  nodeOrder        // the nodes by how likely they have the latest writes
	preferred   nodeOrder        // the preferred order; nil if any node will do
	key         []byte           // for balance.ConsistentHash
	headTimeout time.Duration    // timeout for the header; 0 for the default
	anyWriter   bool             // writes are distributed over the nodes
	hold        origin.Hold      // how much of the answer is buffered
	excluded    follow.NodeSet   // nodes that lack the newest _security
	member      int              // the node that answered, if the answer may be cached
}

// indexTime is the minimum timeout for the header of an answer that may need a new index.
const indexTime = 10 * time.Minute

// headTimeout returns the timeout for the header of an answer to r; 0 for the default.
func (c *Config) headTimeout(r *api.Route) time.Duration {
	if r.Kind == api.Result || r.Kind == api.Rendering {
		return max(indexTime, c.HTTP.Group.Transport.HeadTimeout)
	}
	return 0
}

// ask sends q to a current node: one that lacks nothing that the answer depends on. Then
// keep is true. If there is no current node, or none answers, askLastWriter selects the
// node.
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

// choice returns a choice of the first available node of an order, or of another one if the
// answer breaks off early.
func (r *nodeSelection) choice(o nodeOrder) *balance.Choice {
	choice := r.fleet.choice(o)
	choice.Hold = r.hold
	return choice
}

// current returns the current nodes. If there are none, it may wait for a moment until some
// node has everything.
func (r *nodeSelection) current(ctx context.Context) follow.NodeSet {
	current := r.db.Current(r.id)
	if r.mayHaveMissedWrites() {
		if r.anyWriter && r.id == nil {
			return 0 // no single node has the writes of all nodes
		}
		return current & r.lastWriters(0)
	}
	if current == 0 && r.id == nil && len(r.writeOrder) > 1 {
		current = r.db.AwaitCurrent(ctx, r.writeOrder[0])
	}
	return current
}

// mayHaveMissedWrites reports whether other members of the cluster may have made writes
// lately that are not recorded here: this node has no lease, or joined a moment ago. The node
// that takes the writes has them.
func (r *nodeSelection) mayHaveMissedWrites() bool {
	c := r.svc.cache
	if !c.Coordinated() {
		return false
	}
	st := c.Note() // without tags: writes that are recorded don't count
	return st.Strong
}

// askLastWriter sends q to a node that has the latest writes, even if its answer must not be
// cached or the node has failed before. Other nodes may lack these writes, and get q only if
// no such node can be reached. current are the nodes that were tried before, and f is the
// result.
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

// lastWriters returns the nodes that have the latest writes through Kasoku. These are the
// reachable current nodes, if the read is for one document or the node that takes all writes
// is among them. Otherwise it is the likeliest reachable node. It returns none if the
// database is not followed.
func (r *nodeSelection) lastWriters(current follow.NodeSet) follow.NodeSet {
	if r.db == nil {
		return 0
	}
	in := r.db.Present()
	if r.id != nil || r.anyWriter { // includes nodes that took a write before their feed was heard from
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

// unreachable reports whether the request reached no node.
func unreachable(f *origin.Fault) bool {
	return f != nil && !f.Reached && (f.Kind == origin.Dial || f.Kind == origin.BreakerOpen)
}

// authoritative reports whether the answer is the node's own and can be trusted.
func (r *nodeSelection) authoritative(in *origin.Inbound, member int) bool {
	return in != nil && in.Status != 502 && in.Status != 503 && in.Status != 504 && !r.doubtful(in, member)
}

// doubtful reports whether the write node may answer differently: nodes may have different
// sessions, and get documents at different times.
func (r *nodeSelection) doubtful(in *origin.Inbound, member int) bool {
	return in != nil && member != r.writeOrder[0] && (in.Status == 401 || in.Status == 404 && r.db == nil)
}

// holdTime is how long an answer is buffered after its header.
const holdTime = time.Second

// hold returns how much of an answer is buffered if there is another node to try.
func (c *Config) hold() origin.Hold {
	if len(c.Nodes) < 2 {
		return origin.Hold{}
	}
	return origin.Hold{Bytes: c.Buffer, Time: holdTime}
}
