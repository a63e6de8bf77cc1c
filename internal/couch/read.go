package couch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// cachePolicy is the policy for copies that are valid until an event. A lifetime that a list
// or show sets itself applies as well.
var cachePolicy = func() *policy.Options {
	o := policy.Defaults()
	o.Heuristic, o.DefaultTTL = 0, 100*365*24*3600
	o.StaleWhileRevalidate, o.StaleIfError, o.StaleIfDisconnected = 0, 0, 0
	o.IgnoreRequestDirectives = true
	return &o
}()

// maxQuery is the maximum size of the body of a cacheable POST.
const maxQuery = 256 << 10

// read answers from a copy, or from a node, and caches the answer.
func (c *call) read() {
	if !c.cacheable() || c.fromReplicator() {
		c.pass(policy.ProtocolPassed)
		return
	}
	c.identity = auth.Identify(c.x.Request.Fields)
	c.db = c.settings.table().Find(c.name)
	now := c.svc.cache.At(c.x.Now())
	if !c.allowed(now) {
		c.pass(policy.NotAllowed)
		return
	}
	if c.db == nil || c.route.Class == api.ReadByBody && !c.readQueryBody() {
		c.pass(policy.ProtocolPassed)
		return
	}
	c.plan.Valid, c.plan.Since = c.db.Servable(now), 0
	if !c.plan.Valid {
		c.plan.Since = now - int64(c.maxJoined())
	}
	if !c.makeKey() {
		c.pass(policy.ProtocolPassed)
		return
	}
	c.plan.Key, c.plan.Body, c.plan.Options, c.plan.ClientFields = c.key, c.body, cachePolicy, c.svc.sessions.take(c.identity)
	if c.plan.Valid && c.svc.cache.HasPeers() {
		c.setPeers()
	}
	c.handedOver = true
	c.svc.engine.Read(c.x, &c.plan)
}

// cacheable reports whether the answer can be cached at all.
func (c *call) cacheable() bool {
	r := &c.route
	return c.settings.table() != nil && len(c.name) > 0 && r.Kind != api.DatabaseList && r.Flags&api.AllowsStale == 0 &&
		(r.Class == api.ReadByBody || c.x.BodyLength() == 0)
}

// allowed reports whether the client may get copies. It queries a node if that is not
// cached, and begins to follow the database if it is not in use.
func (c *call) allowed(now int64) bool {
	v, refresh := c.settings.auth.Lookup(c.identity, c.name, now)
	switch {
	case v == auth.Unknown:
		v, _ = c.settings.auth.Decide(c.x.Context(), c.identity, c.name, c.authCheck()) // an error leaves it unknown
	case refresh:
		c.settings.auth.Refresh(c.identity, c.name, c.authCheck())
	}
	if v == auth.Allowed && c.db == nil {
		c.useDatabase()
	}
	return v == auth.Allowed
}

// authCheck returns a function that queries a node whether the client may read the database.
func (c *call) authCheck() auth.Check {
	s, f, o, id, db := c.svc, c.settings.fleet, c.authOrder(), auth.Identify(c.x.Request.Fields), bytes.Clone(c.name)
	path := append([]byte{'/'}, c.route.DB...)
	host := bytes.Clone(c.x.Request.Host)
	header := credentials(c.x.Request.Fields).Clone()
	if client := c.x.Record.Client.Addr().Unmap(); c.settings.cfg.HTTP.Forwarding.X && client.IsValid() {
		// CouchDB counts wrong passwords by address.
		header = append(header, http1.Field{Name: []byte("X-Forwarded-For"), Value: client.AppendTo(nil)})
	}
	return func(ctx context.Context, _ bool) (status int, err error) {
		q := &origin.Outbound{Method: []byte("HEAD"), Target: path, Host: host, Header: header}
		in, fault := s.engine.Ask(ctx, q, s.security.choice(f, db, o))
		if fault != nil {
			return 0, fault
		}
		defer in.Close()
		s.sessions.put(id, in.Header)
		return in.Status, nil
	}
}

// credentials returns the fields that identify the client to a node.
func credentials(fields http1.Fields) (list http1.Fields) {
	for _, f := range fields {
		if f.Is("Authorization") || f.Is("Cookie") || isProxyField(f) {
			list = append(list, f)
		}
	}
	return list
}

// readQueryBody reads the body of a POST that reads. It returns false if the body is too
// long to be part of a key.
func (c *call) readQueryBody() bool {
	body, err := c.x.ReadBody(maxQuery)
	if err != nil {
		return false // an error in it shows when it is sent
	}
	c.body = body
	return true
}

// incarnationSize is the length of the database's incarnation at the beginning of a key.
const incarnationSize = 8

// makeKey builds the cache key: the database's incarnation, the identity if the answer
// depends on it, the request, and the representation. It returns false if the answer must
// not be cached.
func (c *call) makeKey() (ok bool) {
	key := binary.LittleEndian.AppendUint64(c.key[:0], c.db.Incarnation())
	key = auth.AppendScope(key, &c.route, c.identity)
	key = append(c.route.AppendKey(key), 0)
	key = append(c.route.AppendAccept(key, c.joined("Accept")), 0)
	key = append(append(key, c.joined("Origin")...), 0) // CORS: echoed, without Vary
	key = append(append(key, c.joined("Prefer")...), 0)
	key = append(append(key, c.x.Request.Host...), 0) // virtual hosts map to other paths
	if c.trusted() {
		key = policy.AppendVaryValues(key, siteFields, c.x.Request.Fields, cachePolicy)
	}
	if c.route.Kind == api.Rendering && c.x.Record.TLS {
		key = append(key, 's')
	}
	key = append(key, 0)
	ok = true
	if c.route.Class == api.ReadByBody {
		key, ok = c.route.AppendBody(key, c.body)
	}
	c.key = key
	return ok
}

// siteFields are the fields in which a trusted proxy names the site and the path of the
// original request. Virtual hosts depend on them, and functions may look at them.
var siteFields = []string{"x-forwarded-host", "x-forwarded-proto", policy.ForwardedSite, "x-couchdb-requested-path", "x-couchdb-vhost-path"}

// joined returns the value of a field, with several lines joined by commas; nil if there is
// none.
func (c *call) joined(name string) []byte {
	var one []byte
	c.scratch = c.scratch[:0]
	for i := range c.x.Request.Fields {
		f := &c.x.Request.Fields[i]
		switch {
		case !f.Is(name):
		case one == nil && len(c.scratch) == 0:
			one = f.Value
		default:
			if one != nil {
				c.scratch, one = append(c.scratch, one...), nil
			}
			c.scratch = append(append(c.scratch, ','), f.Value...)
		}
	}
	if one == nil && len(c.scratch) > 0 {
		return c.scratch
	}
	return one
}

// Fill implements httpcache.Filler.
func (c *call) Fill() *httpcache.Fill {
	r := c.selection()
	kind, docs := c.route.Kind, c.route.Flags&api.IncludesDocs != 0
	named, path := "", "" // the revision in the query, and the document's path
	if c.route.Flags&api.NamedRevision != 0 {
		named, path = string(c.route.AppendRevision(nil)), c.route.DocumentPath()
	}
	f := &httpcache.Fill{
		Tags:    c.svc.tagger.AppendReads(nil, &c.route),
		Refetch: c.route.Flags&api.HasRows != 0 && len(c.settings.cfg.Nodes) > 1,
		// The last resort is the node that took the client's own last write.
		StarterOnly: r.anyWriter && r.id == nil,
		Ask: func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, bool, *origin.Fault) {
			q.Header = without(q.Header, uncoded)
			in, keep, fault := r.ask(ctx, q)
			if keep && named != "" && in.Status < 400 {
				keep = r.fleet.nodes.winningRevision(ctx, r.member, path) == named
			}
			return in, keep, fault
		},
		Admit: func(status int, fields http1.Fields) httpcache.Admission {
			return admit(kind, named != "", status, fields)
		},
	}
	switch kind {
	case api.Result:
		f.CheckBody = func(b *store.Body) bool { return isWhole(b, docs) }
	case api.Rendering:
		f.CheckBody = endsWithoutError
	}
	return f
}

// uncoded are the fields that fills omit, so that all clients can use the copies: CouchDB
// sends attachments in gzip to clients that accept it, without Vary.
var uncoded = []string{"Accept-Encoding"}

// bodyFailed reports whether a body could not be read because of the client.
func bodyFailed(err error) bool { return err != nil && !errors.Is(err, edge.ErrBodyTooLarge) }
