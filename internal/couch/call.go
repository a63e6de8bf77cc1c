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
	svc *Service
	set *settings
	x   *edge.Exchange

	route api.Route
	who   auth.Identity
	db    *follow.Database // nil: nothing of it is kept
	name  []byte           // of the database, without escapes
	query []byte           // without the callback

	callback jsonp.Session
	stripped bool // the request's query had a callback

	key    []byte
	accept []byte // scratch
	body   []byte // of a POST that reads, nil if it is not held
	plan   httpcache.Plan

	given bool // the engine has the exchange
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
	c.x, c.set, c.given = x, c.svc.settings.Load(), false
	c.disarm()
	r := &x.Request
	c.stripCallback()
	c.route = api.Classify(r.Method, c.override(), r.Path, c.query)
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

// override is what X-HTTP-Method-Override says on a POST, where it counts; nil if it is
// not there.
func (c *call) override() []byte {
	if string(c.x.Request.Method) != http.MethodPost {
		return nil
	}
	return c.joined(overriding)
}

// finish gives the call back. A fault of ours must not become a failed request where
// that can be helped.
func (c *call) finish() {
	if p := recover(); p != nil {
		c.fault(p)
		return // a call that panicked is not used again
	}
	c.x, c.set, c.db, c.body, c.plan.Body, c.plan.Own = nil, nil, nil, nil, nil, nil
	c.query = nil
	c.callback.Reset()
	c.route = api.Route{}
	c.svc.calls.Put(c)
}

// fault passes a read on that the engine has not got yet.
func (c *call) fault(p any) {
	c.svc.log.Error("a fault inside the accelerator", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if c.given {
		panic(p) // the engine lets through only what nobody can help
	}
	c.x.Reply.Reset()
	if c.route.Class == api.Write {
		c.x.Reply.Status = 500
		return
	}
	c.svc.engine.Pass(c.x, &httpcache.Passage{Why: policy.CacheFault, Ask: c.inOrder(c.set.cfg.inTurn(), origin.Hold{})})
}

// serve sends a request on the way that it has by what it means.
func (c *call) serve() {
	if c.stripped && c.refused() {
		c.pass(policy.ProtocolPassed) // the engine says so
		return
	}
	switch c.route.Class {
	case api.Static:
		c.given = true
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

// replicators are those whose requests must all go to one node: what they have
// written down of positions and revisions means nothing to another.
var replicators = []string{"CouchDB-Replicator/", "PouchDB"}

// replicates tells whether a replicator asks.
func (c *call) replicates() bool {
	agent := c.x.Request.Get("User-Agent")
	for _, name := range replicators {
		if len(agent) > 0 && bytes.Contains(agent, []byte(name)) {
			return true
		}
	}
	return false
}

// writers is the order of the nodes for a write, or for what only the node knows that
// takes writes. Databases of the server's own are not replicated: the first node has
// them. Clients that have to stay with a node do so by their address.
func (c *call) writers() order {
	cfg := &c.set.cfg
	switch {
	case c.route.System():
		return cfg.inTurn()
	case cfg.Writes == WritesFirst:
		return cfg.inTurn().from(c.writer())
	case c.route.Touch&(api.TouchNames|api.TouchSecurity) != 0: // each node has its own
		return cfg.inTurn()
	case c.route.Where == api.SameNode || c.replicates():
		return c.affinity()
	}
	id := c.route.AppendID(nil)
	o := cfg.writers(0, c.name, id)
	if db := c.followed(); db != nil && len(id) > 0 {
		o = o.sooner(db.Likely(id)) // where it was written last, until the others have that
	}
	return o
}

// keepers is the order of the nodes for who may read the database: those that are told
// of changes of that first.
func (c *call) keepers() order {
	cfg := &c.set.cfg
	if cfg.Writes == WritesFirst {
		return cfg.inTurn().from(c.writer())
	}
	return cfg.inTurn()
}

// writer is the node whose turn it is to take the writes, where one node does. Databases
// are created and deleted on the first one.
func (c *call) writer() int {
	if db := c.followed(); db != nil && c.route.Touch&api.TouchNames == 0 {
		return db.WriteNode()
	}
	return 0
}

// followed is the database if it is followed now.
func (c *call) followed() *follow.Database {
	if c.db == nil && c.set.table() != nil && len(c.name) > 0 {
		return c.set.table().Find(c.name)
	}
	return c.db
}

// affinity is an order that stays the same for one client and database.
func (c *call) affinity() order {
	return c.set.cfg.byKey(fmt.Append(nil, c.x.Record.Client.Addr()), c.name)
}

// hash is that of the client and the database, for fleet.recent.
func (c *call) hash() uint64 { return hashOf(c.x.Record.Client.Addr().AsSlice(), c.name) }

// reading says which node a read is for.
func (c *call) reading() *reading {
	cfg := &c.set.cfg
	r := &reading{svc: c.svc, fleet: c.set.fleet, db: c.db, lacking: c.svc.security.lacking(c.set.fleet, c.name), writers: c.writers(), patient: cfg.patience(&c.route), hold: cfg.hold(), spread: cfg.Writes == WritesAny}
	if cfg.HTTP.Group.Algorithm == balance.ConsistentHash {
		r.key = slices.Concat(c.x.Request.Path, []byte{'?'}, c.query)
	}
	switch c.route.What {
	case api.Document, api.Attachment:
		r.id = c.route.AppendID(nil)
	case api.Database: // it tells a position
		r.prefer = c.set.cfg.writers(c.writer(), c.name, nil)
	}
	switch {
	case c.db != nil && r.spread && r.id == nil && !c.route.System() && !c.replicates():
		r.writers = r.writers.from(c.lately())
	case c.db != nil:
	case c.set.table() != nil && len(c.name) > 0:
		r.prefer = r.writers // who lacks what is not known
	default:
		if node, ok := c.set.fleet.recent.node(c.hash(), c.x.Now().Unix(), c.set.cfg.MaxLag); ok {
			r.prefer = order{node}
		}
	}
	return r
}

// lately is the node that has what the client wrote last in the database, or else what
// anybody did.
func (c *call) lately() int {
	node, ok := c.set.fleet.recent.node(c.hash(), c.x.Now().Unix(), c.set.cfg.MaxLag)
	if ok && c.db.Reachable().Has(node) {
		return node
	}
	return c.db.WriteNode()
}

// pass gives the request to the node that has to answer it.
func (c *call) pass(why policy.Reason) {
	c.db = c.followed()
	p := &httpcache.Passage{Why: why}
	switch {
	case c.route.Where != api.AnyNode, c.route.System(), c.replicates():
		p.Ask = c.inOrder(c.passOrder(), c.held())
	default:
		p.Ask = c.anywhere(c.reading())
	}
	c.given = true
	c.svc.engine.Pass(c.x, p)
}

// passOrder is the order for what is not any node's. All feeds of a database are
// those of one node, since positions mean something to that one only: of the node
// that takes its writes, so that who has written finds it there.
func (c *call) passOrder() order {
	if c.route.What == api.Feed && !c.replicates() && !c.route.System() {
		return c.set.cfg.writers(c.writer(), c.name, nil)
	}
	return c.writers()
}

type asking = func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault)

// held says what is held of the answer to a request that is passed on: of a read, whose
// answer ends by itself.
func (c *call) held() origin.Hold {
	if string(c.x.Request.Method) != http.MethodGet || c.route.Class == api.Stream {
		return origin.Hold{}
	}
	return c.set.cfg.hold()
}

// inOrder asks the first node of an order that is available, and another one if the answer
// breaks off while it is held.
func (c *call) inOrder(o order, hold origin.Hold) asking {
	s, f, body, db := c.svc, c.set.fleet, c.body, c.name
	return func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
		hand(q, body)
		choice := s.security.choice(f, db, o)
		choice.Hold = hold
		return s.engine.Ask(ctx, q, choice)
	}
}

// anywhere asks a node that r chooses.
func (c *call) anywhere(r *reading) asking {
	body := c.body
	return func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
		hand(q, body)
		in, _, f := r.ask(ctx, q)
		return in, f
	}
}

// hand gives q the body that is held, if one is: it can be sent again then.
func hand(q *origin.Outbound, body []byte) {
	if body != nil {
		q.Content, q.Body, q.Stop, q.Trailer, q.Length = body, nil, nil, nil, 0
	}
}

// private are the fields by which nodes are told who a user is, or what was asked for,
// by whoever stands before them. From clients they would be believed.
var private = []string{
	"X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles", "X-Auth-CouchDB-Token", "X-Couchdb-Vhost-Path", "X-Couchdb-Requested-Path",
}

// overriding is the field by which CouchDB takes a POST for another method.
const overriding = "X-HTTP-Method-Override"

// overrides are fields that some servers take a request's method from. CouchDB goes by
// overriding alone, and on POST alone: what is sent elsewhere must not mean more to
// whoever stands before a node than it does to us.
var overrides = []string{overriding, "X-HTTP-Method", "X-Method-Override"}

// disarm takes off the request what means nothing to CouchDB and may mean something to
// others, and what only a proxy that is trusted may say. It comes before all else: no node
// may get it, and nobody may be taken for whom it names.
func (c *call) disarm() {
	post := string(c.x.Request.Method) == http.MethodPost
	c.drop(func(f http1.Field) bool { return named(f.Name, overrides) && !(post && f.Is(overriding)) })
	if slices.ContainsFunc(c.x.Request.Fields, isPrivate) && !c.trusted() {
		c.drop(isPrivate)
	}
}

func isPrivate(f http1.Field) bool { return named(f.Name, private) }

// drop takes fields off the request.
func (c *call) drop(which func(http1.Field) bool) {
	if fields := c.x.Request.Fields; slices.ContainsFunc(fields, which) {
		c.x.Request.Fields = slices.DeleteFunc(fields, which)
	}
}

// without is a copy of fields without those called one of names.
func without(fields http1.Fields, names []string) http1.Fields {
	kept := make(http1.Fields, 0, len(fields))
	for _, f := range fields {
		if !named(f.Name, names) {
			kept = append(kept, f)
		}
	}
	return kept
}

func named(name []byte, names []string) bool {
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
	for _, p := range c.set.cfg.HTTP.Forwarding.Trust {
		if p.Contains(client) {
			return true
		}
	}
	return false
}
