package httpcache

import (
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// write forwards a request that may change something, and invalidates the affected URLs
// before the client is answered.
func (c *call) write() {
	q := c.outbound(c.forOrigin())
	c.withBody(q)
	t := c.svc.beginWrite(c.x)
	defer t.end()
	q.AwaitAnswer = t.detach
	at, asked := c.svc.store.Fence(c.key), clock()
	in, f := c.ask(t.ctx, q)
	if f != nil {
		switch {
		case f.Aborted: // the origin may have begun it
			c.svc.store.Invalidate(c.key)
		case f.Reached:
			// It may still be executed: nothing of the URL is stored until that is over.
			if w, err := c.svc.store.Begin(t.ctx, c.key); err == nil {
				w.Unknown()
			}
		}
		c.answerFault(f)
		return
	}
	defer in.Close()
	alone := false
	if policy.Invalidates(&c.req, in.Status) {
		alone = c.svc.store.InvalidateSince(&at, c.invalidatedKeys(in.Header)...)
		c.svc.store.InvalidateGroups(c.key, in.Header)
	}
	c.relayWrite(in, at, asked, alone)
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
