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
	"github.com/kasoku/kasoku/internal/origin"
)

// followedDatabase are the choices of a cache whose copies are good until it is told
// otherwise. What a list or show says of its own lifetime counts beside.
var cachePolicy = func() *policy.Options {
	o := policy.Defaults()
	o.Heuristic, o.DefaultTTL = 0, 100*365*24*3600
	o.StaleWhileRevalidate, o.StaleIfError, o.StaleIfDisconnected = 0, 0, 0
	o.IgnoreRequestDirectives = true
	return &o
}()

// maxQuery is the longest body of a POST that reads whose answer is kept.
const maxQuery = 256 << 10

// read answers from a copy, or from a node and keeps a copy.
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
	c.plan.Good, c.plan.Since = c.db.Servable(now), 0
	if !c.plan.Good {
		c.plan.Since = now - int64(c.settings.cfg.MaxUnfollowed)
	}
	if !c.makeKey() {
		c.pass(policy.ProtocolPassed)
		return
	}
	c.plan.Key, c.plan.Body, c.plan.Options, c.plan.Own = c.key, c.body, cachePolicy, c.svc.sessions.take(c.identity)
	c.handedOver = true
	c.svc.engine.Read(c.x, &c.plan)
}

// cacheable tells whether copies of what is asked for can be kept at all.
func (c *call) cacheable() bool {
	r := &c.route
	return c.settings.table() != nil && len(c.name) > 0 && r.Kind != api.DatabaseList && r.Flags&api.AllowsStale == 0 &&
		(r.Class == api.ReadByBody || c.x.BodyLength() == 0)
}

// allowed tells whether who asks may be given copies, and takes the database into use
// if it is not. A node is asked if that is not known.
func (c *call) allowed(now int64) bool {
	v, refresh := c.settings.auth.Lookup(c.identity, c.name, now)
	switch {
	case v == auth.Unknown:
		v, _ = c.settings.auth.Decide(c.x.Context(), c.identity, c.name, c.authCheck()) // an error leaves it unknown
	case refresh:
		c.settings.auth.Refresh(c.identity, c.name, c.authCheck())
	}
	if v == auth.Allowed && c.db == nil {
		if c.db = c.settings.table().Use(c.name); c.db != nil {
			c.svc.security.compareLater(c.settings.fleet, string(c.name))
		}
	}
	return v == auth.Allowed
}

// authCheck asks a node whether the client may read the database.
func (c *call) authCheck() auth.Check {
	s, f, o, who, db := c.svc, c.settings.fleet, c.authOrder(), auth.Identify(c.x.Request.Fields), bytes.Clone(c.name)
	path := append([]byte{'/'}, c.route.DB...)
	host := bytes.Clone(c.x.Request.Host)
	header := credentials(c.x.Request.Fields).Clone()
	if client := c.x.Record.Client.Addr().Unmap(); c.settings.cfg.HTTP.Forwarding.X && client.IsValid() {
		// A node that counts wrong passwords does so by address.
		header = append(header, http1.Field{Name: []byte("X-Forwarded-For"), Value: client.AppendTo(nil)})
	}
	return func(ctx context.Context, _ bool) (status int, err error) {
		q := &origin.Outbound{Method: []byte("HEAD"), Target: path, Host: host, Header: header}
		in, fault := s.engine.Ask(ctx, q, s.security.choice(f, db, o))
		if fault != nil {
			return 0, fault
		}
		defer in.Close()
		s.sessions.put(who, in.Header)
		return in.Status, nil
	}
}

// credentials are the fields that tell a node who asks.
func credentials(fields http1.Fields) (list http1.Fields) {
	for _, f := range fields {
		if f.Is("Authorization") || f.Is("Cookie") || isOneOf(f.Name, proxyFields) {
			list = append(list, f)
		}
	}
	return list
}

// readQueryBody reads the body of a POST that reads; false: it is too long to be part of a key.
func (c *call) readQueryBody() bool {
	body, err := c.x.ReadBody(maxQuery)
	if err != nil {
		return false // what is wrong with it shows when it is sent
	}
	c.body = body
	return true
}

// makeKey makes the key under which the answer is kept: who the database is, who may
// have the answer, what is asked, and in which form. false: nothing may be kept.
func (c *call) makeKey() (ok bool) {
	key := binary.LittleEndian.AppendUint64(c.key[:0], c.db.Incarnation())
	key = auth.AppendScope(key, &c.route, c.identity)
	key = append(c.route.AppendKey(key), 0)
	key = append(c.route.AppendAccept(key, c.joined("Accept")), 0)
	key = append(append(key, c.joined("Origin")...), 0) // CORS: echoed, without Vary
	key = append(append(key, c.joined("Prefer")...), 0)
	key = append(append(key, c.x.Request.Host...), 0) // virtual hosts lead elsewhere
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

// authoritative is where a trusted proxy says which site was asked, and for which path: virtual
// hosts go by it, and functions may look at it.
var siteFields = []string{"x-forwarded-host", "x-forwarded-proto", policy.ForwardedSite, "x-couchdb-requested-path", "x-couchdb-vhost-path"}

// joined is the value of a field, or of all its lines; nil if there is none.
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
	named, path := "", "" // a revision, and the document's path
	if c.route.Flags&api.NamedRevision != 0 {
		named, path = string(c.route.AppendRevision(nil)), c.route.DocumentPath()
	}
	f := &httpcache.Fill{
		Tags: c.svc.tagger.AppendReads(nil, &c.route),
		Anew: c.route.Flags&api.HasRows != 0 && len(c.settings.cfg.Nodes) > 1,
		// The last resort is the node that took the client's own last write.
		Alone: r.anyWriter && r.id == nil,
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
		f.Sound = func(b *httpcache.Body) bool { return isWhole(b, docs) }
	case api.Rendering:
		f.Sound = endsWithoutError
	}
	return f
}

// uncoded is left out of what fills ask with, so that copies are of use to all:
// attachments come in gzip to those who take that, without a word in Vary.
var uncoded = []string{"Accept-Encoding"}

// bodyFailed tells whether a body could not be read because of the client.
func bodyFailed(err error) bool { return err != nil && !errors.Is(err, edge.ErrBodyTooLarge) }
