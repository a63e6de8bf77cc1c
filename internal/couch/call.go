package couch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

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

// call is one exchange on its way through the service. It is used again: nothing
// that outlives the exchange may refer to it or to what it holds.
type call struct {
	svc      *Service
	settings *settings
	x        *edge.Exchange

	route    api.Route
	identity auth.Identity
	db       *follow.Database // nil: nothing of it is kept
	name     []byte           // of the database, without escapes
	query    []byte           // without the callback

	callback jsonp.Session
	stripped bool // the request's query had a callback

	key     []byte
	scratch []byte // scratch
	body    []byte // of a POST that reads, nil if it is not held
	plan    httpcache.Plan

	handedOver bool // the engine has the exchange
}

func newCall(s *Service) *call {
	c := &call{svc: s}
	c.plan.Filler = c
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

// recordUser records the user that the request names: of a session, or as a proxy in front
// says. The engine records that of a password.
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

// methodOverride is what X-HTTP-Method-Override says on a POST, where it counts; nil if it is
// not there.
func (c *call) methodOverride() []byte {
	if string(c.x.Request.Method) != http.MethodPost {
		return nil
	}
	return c.joined(overrideField)
}

// finish gives the call back. A fault of ours must not become a failed request where
// that can be helped.
func (c *call) finish() {
	if p := recover(); p != nil {
		c.fault(p)
		return // a call that panicked is not used again
	}
	c.x, c.settings, c.db, c.body, c.plan.Body, c.plan.Own = nil, nil, nil, nil, nil, nil
	c.query = nil
	c.callback.Reset()
	c.route = api.Route{}
	c.svc.calls.Put(c)
}

// fault passes a read on that the engine has not got yet.
func (c *call) fault(p any) {
	c.svc.log.Error("a fault inside the accelerator", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if c.handedOver {
		panic(p) // the engine lets through only what nobody can help
	}
	c.x.Reply.Reset()
	if c.route.Class == api.Write {
		c.x.Reply.Status = 500
		return
	}
	c.svc.engine.Pass(c.x, &httpcache.Passage{Why: policy.CacheFault, Ask: c.askInOrder(c.settings.cfg.configOrder(), origin.Hold{})})
}

// serve sends a request on the way that it has by what it means.
func (c *call) serve() {
	if c.stripped && c.refused() {
		c.pass(policy.ProtocolPassed) // the engine says so
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

// replicatorAgents are those whose requests must all go to one node: what they have
// written down of positions and revisions means nothing to another.
var replicatorAgents = []string{"CouchDB-Replicator/", "PouchDB"}

// fromReplicator tells whether a replicator asks.
func (c *call) fromReplicator() bool {
	agent := c.x.Request.Get("User-Agent")
	for _, name := range replicatorAgents {
		if len(agent) > 0 && bytes.Contains(agent, []byte(name)) {
			return true
		}
	}
	return false
}

// writeOrder is the order of the nodes for a write, or for what only the node knows that
// takes writes. Databases of the server's own are not replicated: the first node has
// them. Clients that have to stay with a node do so by their address.
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
		o = o.prefer(db.Likely(id)) // where it was written last, until the others have that
	}
	return o
}

// authOrder is the order of the nodes for who may read the database: those that are told
// of changes of that first.
func (c *call) authOrder() nodeOrder {
	cfg := &c.settings.cfg
	if cfg.Writes == WritesFirst {
		return cfg.configOrder().startingAt(c.writeNode())
	}
	return cfg.configOrder()
}

// writeNode is the node whose turn it is to take the writes, where one node does. Databases
// are created and deleted on the first one.
func (c *call) writeNode() int {
	if db := c.followedDatabase(); db != nil && c.route.Touch&api.TouchDatabaseList == 0 {
		return db.WriteNode()
	}
	return 0
}

// followedDatabase is the database if it is followed now.
func (c *call) followedDatabase() *follow.Database {
	if c.db == nil && c.settings.table() != nil && len(c.name) > 0 {
		return c.settings.table().Find(c.name)
	}
	return c.db
}

// clientOrder is an order that stays the same for one client and database.
func (c *call) clientOrder() nodeOrder {
	return c.settings.cfg.hashOrder(fmt.Append(nil, c.x.Record.Client.Addr()), c.name)
}

// clientHash is that of the client and the database, for fleet.recent.
func (c *call) clientHash() uint64 { return hashOf(c.x.Record.Client.Addr().AsSlice(), c.name) }

// nodeSelection says which node a read is for.
func (c *call) selection() *nodeSelection {
	cfg := &c.settings.cfg
	r := &nodeSelection{svc: c.svc, fleet: c.settings.fleet, db: c.db, excluded: c.svc.security.lacking(c.settings.fleet, c.name), writeOrder: c.writeOrder(), headTimeout: cfg.headTimeout(&c.route), hold: cfg.hold(), anyWriter: cfg.Writes == WritesAny}
	if cfg.HTTP.Group.Algorithm == balance.ConsistentHash {
		r.key = slices.Concat(c.x.Request.Path, []byte{'?'}, c.query)
	}
	switch c.route.Kind {
	case api.Document, api.Attachment:
		r.id = c.route.AppendID(nil)
	case api.Database: // it tells a position
		r.preferred = c.settings.cfg.writeOrder(c.writeNode(), c.name, nil)
	}
	switch {
	case c.db != nil && r.anyWriter && r.id == nil && !c.route.InSystemDatabase() && !c.fromReplicator():
		r.writeOrder = r.writeOrder.startingAt(c.recentWriter())
	case c.db != nil:
	case c.settings.table() != nil && len(c.name) > 0:
		r.preferred = r.writeOrder // who lacks what is not known
	default:
		if node, ok := c.settings.fleet.recentWrites.node(c.clientHash(), c.x.Now().Unix(), c.settings.cfg.MaxLag); ok {
			r.preferred = nodeOrder{node}
		}
	}
	return r
}

// recentWriter is the node that has what the client wrote last in the database, or else what
// anybody did.
func (c *call) recentWriter() int {
	node, ok := c.settings.fleet.recentWrites.node(c.clientHash(), c.x.Now().Unix(), c.settings.cfg.MaxLag)
	if ok && c.db.Reachable().Has(node) {
		return node
	}
	return c.db.WriteNode()
}

// pass gives the request to the node that has to answer it.
func (c *call) pass(why policy.Reason) {
	c.db = c.followedDatabase()
	p := &httpcache.Passage{Why: why}
	switch {
	case c.route.Node != api.AnyNode, c.route.InSystemDatabase(), c.fromReplicator():
		p.Ask = c.askInOrder(c.passOrder(), c.answerHold())
	default:
		p.Ask = c.askSelected(c.selection())
	}
	c.handedOver = true
	c.svc.engine.Pass(c.x, p)
}

// passOrder is the order for what is not any node's. All feeds of a database are
// those of one node, since positions mean something to that one only: of the node
// that takes its writes, so that who has written finds it there.
func (c *call) passOrder() nodeOrder {
	if c.route.Kind == api.Feed && !c.fromReplicator() && !c.route.InSystemDatabase() {
		return c.settings.cfg.writeOrder(c.writeNode(), c.name, nil)
	}
	return c.writeOrder()
}

type askFunc = func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault)

// answerHold says what is held of the answer to a request that is passed on: of a read, whose
// answer ends by itself.
func (c *call) answerHold() origin.Hold {
	if string(c.x.Request.Method) != http.MethodGet || c.route.Class == api.Stream {
		return origin.Hold{}
	}
	return c.settings.cfg.hold()
}

// askInOrder asks the first node of an order that is available, and another one if the answer
// breaks off while it is held.
func (c *call) askInOrder(o nodeOrder, hold origin.Hold) askFunc {
	s, f, body, db := c.svc, c.settings.fleet, c.body, c.name
	return func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
		setBody(q, body)
		choice := s.security.choice(f, db, o)
		choice.Hold = hold
		return s.engine.Ask(ctx, q, choice)
	}
}

// askSelected asks a node that r chooses.
func (c *call) askSelected(r *nodeSelection) askFunc {
	body := c.body
	return func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
		setBody(q, body)
		in, _, f := r.ask(ctx, q)
		return in, f
	}
}

// setBody gives q the body that is held, if one is: it can be sent again then.
func setBody(q *origin.Outbound, body []byte) {
	if body != nil {
		q.Content, q.Body, q.Stop, q.Trailer, q.Length = body, nil, nil, nil, 0
	}
}

// proxyFields are the fields by which nodes are told who a user is, or what was asked for,
// by whoever stands before them. From clients they would be believed.
var proxyFields = []string{
	"X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles", "X-Auth-CouchDB-Token", "X-Couchdb-Vhost-Path", "X-Couchdb-Requested-Path",
}

// overrideField is the field by which CouchDB takes a POST for another method.
const overrideField = "X-HTTP-Method-Override"

// overrideFields are fields that some servers take a request's method from. CouchDB goes by
// overriding alone, and on POST alone: what is sent elsewhere must not mean more to
// whoever stands before a node than it does to us.
var overrideFields = []string{overrideField, "X-HTTP-Method", "X-Method-Override"}

// dropPrivateFields takes off the request what means nothing to CouchDB and may mean something to
// others, and what only a proxy that is trusted may say. It comes before all else: no node
// may get it, and nobody may be taken for whom it names.
func (c *call) dropPrivateFields() {
	post := string(c.x.Request.Method) == http.MethodPost
	c.dropFields(func(f http1.Field) bool { return isOneOf(f.Name, overrideFields) && !(post && f.Is(overrideField)) })
	if slices.ContainsFunc(c.x.Request.Fields, isProxyField) && !c.trusted() {
		c.dropFields(isProxyField)
	}
}

func isProxyField(f http1.Field) bool { return isOneOf(f.Name, proxyFields) }

// dropFields takes fields off the request.
func (c *call) dropFields(which func(http1.Field) bool) {
	if fields := c.x.Request.Fields; slices.ContainsFunc(fields, which) {
		c.x.Request.Fields = slices.DeleteFunc(fields, which)
	}
}

// without is a copy of fields without those called one of names.
func without(fields http1.Fields, names []string) http1.Fields {
	kept := make(http1.Fields, 0, len(fields))
	for _, f := range fields {
		if !isOneOf(f.Name, names) {
			kept = append(kept, f)
		}
	}
	return kept
}

func isOneOf(name []byte, names []string) bool {
	for _, n := range names {
		if len(n) == len(name) && strings.EqualFold(n, string(name)) {
			return true
		}
	}
	return false
}

// trusted tells whether the client is a proxy whose word on users is believed.
func (c *call) trusted() bool {
	client := c.x.Record.Client.Addr().Unmap()
	for _, p := range c.settings.cfg.HTTP.Forwarding.Trust {
		if p.Contains(client) {
			return true
		}
	}
	return false
}
