package couch

import (
	"context"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

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
