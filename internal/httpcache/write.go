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
	q.AwaitAnswer = t.mayDetach
	asked := clock()
	c.fence = c.svc.store.Fence(c.key)
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
	kept := true // a stored response may refer to in's memory
	defer func() {
		if kept {
			in.Close()
		} else {
			in.Recycle()
		}
	}()
	alone := false
	if policy.Invalidates(&c.req, in.Status) {
		var err error
		alone, err = c.svc.store.InvalidateSince(t.ctx, &c.fence, c.invalidatedKeys(in.Header)...)
		err = errors.Join(err, c.svc.store.InvalidateGroups(t.ctx, c.key, in.Header))
		if err != nil {
			c.refuse(http.StatusGatewayTimeout, "the origin has executed the request, but other nodes may serve old responses for a while")
			c.count(policy.IsolatedWrite, nil)
			c.x.Record.Error = err.Error()
			return
		}
	}
	kept = c.relayWrite(in, asked, alone)
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
// that is the URI's own representation (RFC 9110, section 9.3.3), and reports whether it did.
func (c *call) relayWrite(in *origin.Inbound, asked policy.Moment, alone bool) (kept bool) {
	status := policy.CacheStatus{Reason: policy.NotReading, Forwarded: true, Storing: policy.MethodNotStored}
	if alone && c.req.Method == policy.POST {
		if in.Header.Get("Content-Location") != nil {
			return c.relayPost(in, asked, status)
		}
		status.Storing = policy.Elsewhere
	}
	c.svc.metrics.stored(status.Storing)
	c.head(in, clock())
	c.finishHead(status)
	c.copyBody(in)
	return false
}

// relayPost is relayWrite for the answer to a POST that names its place.
func (c *call) relayPost(in *origin.Inbound, asked policy.Moment, status policy.CacheStatus) (kept bool) {
	o, at, now := c.opt, c.fence, clock()
	fields := received(in, now)
	r := policy.ParseResponse(in.Status, fields, asked, now, o)
	kept, status.Storing = policy.PostStorable(&c.req, &r, c.requestURI(), fields, o)
	c.svc.metrics.stored(status.Storing)
	c.head(in, clock())
	c.finishHead(status)
	if !kept {
		c.copyBody(in)
		return false
	}
	c.copyBodyTo(in, &collector{flights: c.svc.flights, max: c.svc.store.Limits().MaxObject, done: func(body []byte) {
		h := store.NewHead(r, fields, c.forOrigin(), o).AddGroups(c.key)
		c.svc.store.Put(c.key, store.NewObject(h, c.svc.store.Track(store.Gather([][]byte{body})), at), nil)
	}})
	return true
}

// invalidatedKeys returns the keys that an unsafe method's answer invalidates.
func (c *call) invalidatedKeys(header http1.Fields) [][]byte {
	c.keys[0] = c.key
	if header.Get("Location") == nil && header.Get("Content-Location") == nil {
		return c.keys[:]
	}
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
