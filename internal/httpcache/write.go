package httpcache

import (
	"errors"
	"net/http"
	"strings"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// write forwards a request that may change something, and invalidates the affected URLs
// before the client is answered.
//
// In a cluster the other members invalidate too, before the client is answered. They do not
// know of the write before, so a node without a lease must not send it: it could not report
// its effect.
func (c *call) write() {
	cluster := c.svc.space.Cache()
	if !cluster.Sends(cluster.Now()) {
		c.refuseWrite(cache.ErrIsolated)
		return
	}
	q := c.outbound(c.forOrigin())
	q.Guard = cluster.Guard()
	c.withBody(q)
	t := c.beginWrite()
	defer t.end()
	q.AwaitAnswer = t.detach
	at, asked := c.svc.store.Fence(c.key), clock()
	in, f := c.ask(t.ctx, q)
	if f != nil {
		switch {
		case f.Aborted: // the origin may have begun it
			_ = c.svc.store.Invalidate(t.ctx, c.key) // the client gets an error anyway
		case f.Reached:
			// It may still be executed: nothing of the URL is stored until that is over.
			c.svc.store.Unknown(c.key)
		case f.Kind == origin.Withheld:
			c.refuseWrite(f)
			return
		}
		c.answerFault(f)
		return
	}
	defer in.Close()
	alone := false
	if policy.Invalidates(&c.req, in.Status) {
		var err error
		alone, err = c.svc.store.InvalidateSince(t.ctx, &at, c.invalidatedKeys(in.Header)...)
		err = errors.Join(err, c.svc.store.InvalidateGroups(t.ctx, c.key, in.Header))
		if err != nil {
			c.refuse(http.StatusGatewayTimeout, "the origin has executed the request, but other nodes may serve old responses for a while")
			c.count(policy.IsolatedWrite, nil)
			c.x.Record.Error = err.Error()
			return
		}
	}
	c.relayWrite(in, at, asked, alone)
}

// refuseWrite answers a request that was not sent, since the node is not in contact with its
// cluster.
func (c *call) refuseWrite(err error) {
	c.x.Reply.FieldUint("Retry-After", 1)
	c.refuse(http.StatusServiceUnavailable, "this node is not in contact with its cluster; the request was not executed")
	c.count(policy.IsolatedWrite, nil)
	c.x.Record.Error = err.Error()
}

// relayWrite gives the client the answer to an unsafe method. It stores the answer to a POST
// that is the URI's own representation (RFC 9110, section 9.3.3).
func (c *call) relayWrite(in *origin.Inbound, at store.Fence, asked policy.Moment, alone bool) {
	o := c.opt
	status := policy.CacheStatus{Reason: policy.NotReading, Forwarded: true, Storing: policy.MethodNotStored}
	var r policy.Response
	var fields http1.Fields
	keep := false
	if alone && c.req.Method == policy.POST {
		now := clock()
		fields = received(in, now)
		r = policy.ParseResponse(in.Status, fields, asked, now, o)
		keep, status.Storing = policy.PostStorable(&c.req, &r, c.requestURI(), fields, o)
	}
	c.svc.metrics.stored(status.Storing)
	c.head(in, clock())
	c.finishHead(status)
	if !keep {
		c.copyBody(in)
		return
	}
	c.copyBodyTo(in, &collector{flights: c.svc.flights, max: c.svc.store.Limits().MaxObject, done: func(body []byte) {
		h := store.NewHead(r, fields, c.forOrigin(), o).AddGroups(c.key)
		c.svc.store.Put(c.key, store.NewObject(h, c.svc.store.Track(store.Gather([][]byte{body})), at), nil)
	}})
}

// invalidatedKeys returns the keys that an unsafe method's answer invalidates.
func (c *call) invalidatedKeys(header http1.Fields) [][]byte {
	u := c.requestURI()
	keys := [][]byte{c.key}
	for _, target := range policy.InvalidationTargets(u, header) {
		path, query, found := strings.Cut(target, "?")
		var q []byte
		if found {
			q = []byte(query)
		}
		keys = append(keys, store.AppendKey(nil, u.Scheme, []byte(u.Host), []byte(path), q))
	}
	return keys
}

// requestURI returns the URI of the request, for package policy.
func (c *call) requestURI() policy.URI {
	s := string(scheme(c.x))
	t := store.TargetOf(c.key)
	site := string(c.key[:len(c.key)-len(t)])
	return policy.URI{Scheme: s, Host: strings.TrimPrefix(site, s+"://"), Target: string(t)}
}
