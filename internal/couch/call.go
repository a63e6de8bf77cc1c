package couch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// call is one exchange in the service. Calls are pooled: nothing that outlives the exchange
// may refer to a call or its fields.
type call struct {
	svc        *Service
	settings   *settings
	x          *edge.Exchange
	handedOver bool // the engine handles the exchange

	// The request's meaning.
	route    api.Route
	identity auth.Identity
	db       *follow.Database // nil: nothing of it is cached
	name     []byte           // of the database, unescaped
	query    []byte           // without the callback
	body     []byte           // of a request that may be sent again; nil if it is not buffered

	callback jsonp.Session
	stripped bool // the request's query had a callback

	// How its answer is cached.
	plan    httpcache.Plan
	peering httpcache.Peering
	key     []byte

	scratch []byte // for joined
}

func newCall(s *Service) *call {
	c := &call{svc: s}
	c.plan.Filler = c
	c.peering.Attest = c.attest
	return c
}

// Serve answers one exchange.
func (s *Service) Serve(x *edge.Exchange) {
	c := s.calls.Get().(*call)
	c.begin(x)
	defer c.finish()
	c.serve()
}

func (c *call) begin(x *edge.Exchange) {
	c.x, c.settings, c.handedOver = x, c.svc.settings.Load(), false
	c.dropPrivateFields()
	r := &x.Request
	c.stripCallback()
	c.route = api.Classify(r.Method, c.methodOverride(), r.Path, c.query)
	c.name = c.route.AppendDB(c.name[:0])
	x.Record.Table = c.route.DB
	c.recordUser()
}

// recordUser records the user of a session, or the user named by a proxy in front. The
// engine records the user of a password.
func (c *call) recordUser() {
	for i := range c.x.Request.Fields {
		switch f := &c.x.Request.Fields[i]; {
		case f.Is("X-Auth-CouchDB-UserName"):
			c.x.SetPrincipal(f.Value)
		case f.Is("Cookie"):
			if session := auth.Session(f.Value); session != nil {
				c.x.RecordSession(session)
			}
		}
	}
}

// methodOverride returns the value of X-HTTP-Method-Override on a POST; nil if it is missing
// or the method is another one.
func (c *call) methodOverride() []byte {
	if string(c.x.Request.Method) != http.MethodPost {
		return nil
	}
	return c.joined(overrideField)
}

// finish returns the call to the pool. It also recovers from panics: a fault of Kasoku
// should not fail a request.
func (c *call) finish() {
	if p := recover(); p != nil {
		c.fault(p)
		return // a call that panicked is not reused
	}
	c.x, c.settings, c.db, c.body, c.plan.Body, c.plan.ClientFields, c.plan.Peers = nil, nil, nil, nil, nil, nil, nil
	c.query = nil
	c.callback.Reset()
	c.route = api.Route{}
	c.svc.calls.Put(c)
}

// fault passes a read on if the engine does not handle it yet.
func (c *call) fault(p any) {
	c.svc.log.Error("a fault inside the accelerator", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if c.handedOver {
		panic(p) // the engine has recovered where it can
	}
	c.x.Reply.Reset()
	if c.route.Class == api.Write {
		c.x.Reply.Status = 500
		return
	}
	c.svc.engine.Pass(c.x, &httpcache.PassThrough{Why: policy.CacheFault, Ask: c.askInOrder(c.settings.cfg.configOrder(), origin.Hold{})})
}

// serve dispatches a request by its class.
func (c *call) serve() {
	if c.stripped && c.refused() {
		c.pass(policy.ProtocolPassed) // the engine sends the refusal
		return
	}
	switch c.route.Class {
	case api.Static:
		c.handedOver = true
		c.svc.engine.Serve(c.x)
	case api.Read, api.ReadByBody:
		c.read()
	case api.Write:
		c.write()
	case api.Stream:
		c.stream()
	default:
		c.pass(policy.ProtocolPassed)
	}
}

// replicatorAgents are the user agents of replicators. All requests of a replicator must be
// sent to one node, since its positions and revisions are meaningless to others.
var replicatorAgents = []string{"CouchDB-Replicator/", "PouchDB"}

// fromReplicator reports whether the client is a replicator.
func (c *call) fromReplicator() bool {
	agent := c.x.Request.Get("User-Agent")
	return slices.ContainsFunc(replicatorAgents, func(name string) bool { return bytes.Contains(agent, []byte(name)) })
}

// writeOrder returns the order of the nodes for a write, or for a request that only the
// write node can answer. System databases are not replicated, so the first node has them.
// Clients that must use one node are assigned by their address.
func (c *call) writeOrder() nodeOrder {
	cfg := &c.settings.cfg
	switch {
	case c.route.InSystemDatabase():
		return cfg.configOrder()
	case cfg.Writes == WritesFirst:
		return cfg.configOrder().startingAt(c.writeNode())
	case c.route.Touch&(api.TouchDatabaseList|api.TouchSecurity) != 0: // each node has its own
		return cfg.configOrder()
	case c.route.Node == api.SameNode || c.fromReplicator():
		return c.clientOrder()
	}
	id := c.route.AppendID(nil)
	o := cfg.writeOrder(0, c.name, id)
	if db := c.followedDatabase(); db != nil && len(id) > 0 {
		o = o.prefer(db.Likely(id)) // prefer the node of the last write, until others have it
	}
	return o
}

// authOrder returns the order of the nodes for permission checks: first the node that gets
// changes of permissions first.
func (c *call) authOrder() nodeOrder {
	cfg := &c.settings.cfg
	if cfg.Writes == WritesFirst {
		return cfg.configOrder().startingAt(c.writeNode())
	}
	return cfg.configOrder()
}

// writeNode returns the node that takes the writes, if a single node does. The first node
// creates and deletes databases.
func (c *call) writeNode() int {
	if db := c.followedDatabase(); db != nil && c.route.Touch&api.TouchDatabaseList == 0 {
		return db.WriteNode()
	}
	return 0
}

// followedDatabase returns the database if it is being followed, and otherwise nil.
func (c *call) followedDatabase() *follow.Database {
	if c.db == nil && c.settings.table() != nil && len(c.name) > 0 {
		return c.settings.table().Find(c.name)
	}
	return c.db
}

// clientOrder returns an order that is constant for a client and a database.
func (c *call) clientOrder() nodeOrder {
	return c.settings.cfg.hashOrder(fmt.Append(nil, c.x.Record.Client.Addr()), c.name)
}

// clientHash returns the hash of the client and the database, for fleet.recentWrites.
func (c *call) clientHash() uint64 { return hashOf(c.x.Record.Client.Addr().AsSlice(), c.name) }

// selection returns the selection of the node for a read.
func (c *call) selection() *nodeSelection {
	cfg := &c.settings.cfg
	r := &nodeSelection{svc: c.svc, fleet: c.settings.fleet, db: c.db, excluded: c.svc.security.lacking(c.settings.fleet, c.name), writeOrder: c.writeOrder(), headTimeout: cfg.headTimeout(&c.route), hold: cfg.hold(), anyWriter: cfg.Writes == WritesAny}
	if cfg.HTTP.Group.Algorithm == balance.ConsistentHash {
		r.key = slices.Concat(c.x.Request.Path, []byte{'?'}, c.query)
	}
	switch c.route.Kind {
	case api.Document, api.Attachment:
		r.id = c.route.AppendID(nil)
	case api.Database: // the answer has a position
		r.preferred = c.settings.cfg.writeOrder(c.writeNode(), c.name, nil)
	}
	switch {
	case c.db != nil && r.anyWriter && r.id == nil && !c.route.InSystemDatabase() && !c.fromReplicator():
		r.writeOrder = r.writeOrder.startingAt(c.recentWriter())
	case c.db != nil:
	case c.settings.table() != nil && len(c.name) > 0:
		r.preferred = r.writeOrder // the nodes' missing changes are not recorded
	default:
		if node, ok := c.settings.fleet.recentWrites.node(c.clientHash(), c.x.Now().Unix(), c.settings.cfg.MaxLag); ok {
			r.preferred = nodeOrder{node}
		}
	}
	return r
}

// recentWriter returns the node of the client's last write in the database, or otherwise of
// the last write of any client.
func (c *call) recentWriter() int {
	node, ok := c.settings.fleet.recentWrites.node(c.clientHash(), c.x.Now().Unix(), c.settings.cfg.MaxLag)
	if ok && c.db.Reachable().Has(node) {
		return node
	}
	return c.db.WriteNode()
}

// pass sends the request to a node without using the cache.
func (c *call) pass(why policy.Reason) {
	c.db = c.followedDatabase()
	p := &httpcache.PassThrough{Why: why}
	switch {
	case c.route.Node != api.AnyNode, c.route.InSystemDatabase(), c.fromReplicator():
		p.Ask = c.askInOrder(c.passOrder(), c.answerHold())
	default:
		p.Ask = c.askSelected(c.selection())
	}
	c.handedOver = true
	c.svc.engine.Pass(c.x, p)
}

// passOrder returns the order for requests that not every node can answer. All feeds of a
// database are read from the node that takes its writes: positions are meaningless to other
// nodes, and a client that writes finds its write there.
func (c *call) passOrder() nodeOrder {
	if c.route.Kind == api.Feed && !c.fromReplicator() && !c.route.InSystemDatabase() {
		return c.settings.cfg.writeOrder(c.writeNode(), c.name, nil)
	}
	return c.writeOrder()
}

type askFunc = func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault)

// answerHold returns how much of an answer is buffered before it is passed on, so that
// another node can be tried. Only reads whose answer ends by itself are buffered.
func (c *call) answerHold() origin.Hold {
	if string(c.x.Request.Method) != http.MethodGet || c.route.Class == api.Stream {
		return origin.Hold{}
	}
	return c.settings.cfg.hold()
}

// askInOrder returns a function that sends a request to the first available node of an
// order, and to another one if the answer breaks off while it is buffered.
func (c *call) askInOrder(o nodeOrder, hold origin.Hold) askFunc {
	s, f, body, db := c.svc, c.settings.fleet, c.body, c.name
	return func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
		setBody(q, body)
		choice := s.security.choice(f, db, o)
		choice.Hold = hold
		return s.engine.Ask(ctx, q, choice)
	}
}

// askSelected returns a function that sends a request to a node selected by r.
func (c *call) askSelected(r *nodeSelection) askFunc {
	body := c.body
	return func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
		setBody(q, body)
		in, _, f := r.ask(ctx, q)
		return in, f
	}
}

// setBody sets q's body if it is buffered, so that q can be sent again.
func setBody(q *origin.Outbound, body []byte) {
	if body != nil {
		q.Content, q.Body, q.Stop, q.Trailer, q.Length = body, nil, nil, nil, 0
	}
}

// proxyFields are the fields in which a proxy names the user or the original path to nodes.
// Nodes would believe them from clients as well.
var proxyFields = []string{
	"X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles", "X-Auth-CouchDB-Token", "X-Couchdb-Vhost-Path", "X-Couchdb-Requested-Path",
}

// overrideField overrides the method of a POST in CouchDB.
const overrideField = "X-HTTP-Method-Override"

// overrideFields are fields that override the method on some servers. CouchDB uses only
// overrideField, and only on POST. The others are removed, so that a proxy in front of a
// node interprets a request like Kasoku.
var overrideFields = []string{overrideField, "X-HTTP-Method", "X-Method-Override"}

// dropPrivateFields removes the fields that mean nothing to CouchDB but may affect proxies,
// and the fields that only a trusted proxy may set. It must be called first: no node may get
// these fields, and they must not identify the client.
func (c *call) dropPrivateFields() {
	post := string(c.x.Request.Method) == http.MethodPost
	c.dropFields(func(f http1.Field) bool {
		return ascii.ContainsFold(overrideFields, f.Name) && !(post && f.Is(overrideField))
	})
	if slices.ContainsFunc(c.x.Request.Fields, isProxyField) && !c.trusted() {
		c.dropFields(isProxyField)
	}
}

func isProxyField(f http1.Field) bool { return ascii.ContainsFold(proxyFields, f.Name) }

// dropFields removes fields from the request.
func (c *call) dropFields(which func(http1.Field) bool) {
	if fields := c.x.Request.Fields; slices.ContainsFunc(fields, which) {
		c.x.Request.Fields = slices.DeleteFunc(fields, which)
	}
}

// without returns a copy of fields without the named ones.
func without(fields http1.Fields, names []string) http1.Fields {
	return slices.DeleteFunc(slices.Clone(fields), func(f http1.Field) bool { return ascii.ContainsFold(names, f.Name) })
}

// trusted reports whether the client is a proxy that is trusted to name the user.
func (c *call) trusted() bool {
	client := c.x.Record.Client.Addr().Unmap()
	return slices.ContainsFunc(c.settings.cfg.HTTP.Forwarding.Trust, func(p netip.Prefix) bool { return p.Contains(client) })
}
