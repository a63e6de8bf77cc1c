package couch

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/couch/feed"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin"
)

// feedPause is the longest pause within a feed. Clients choose the interval of heartbeats; a
// node ends a feed without heartbeats after a minute.
const feedPause = time.Hour

// stream answers a live feed from a shared feed, or passes it on until the server stops.
func (c *call) stream() {
	if !c.stripped && c.shareable() && c.serveShared() {
		return
	}
	ask := c.askInOrder(c.passOrder(), origin.Hold{})
	stopping := c.x.Stopping()
	c.handedOver = true
	c.svc.engine.Pass(c.x, &httpcache.PassThrough{
		Why:  policy.ProtocolPassed,
		Live: !c.endsByItself(),
		Ask: func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				defer cancel()
				select {
				case <-stopping:
				case <-ctx.Done():
				}
			}()
			q.HeadTimeout, q.StallTimeout = feedPause, feedPause
			return ask(ctx, q)
		},
	})
}

// shareable reports whether the request is for a feed that may be shared: the changes of a
// database that is not a system database. If writes are distributed over the nodes, a
// replicator must keep its own node.
func (c *call) shareable() bool {
	r := &c.route
	if r.Kind != api.Feed || len(c.name) == 0 || r.InSystemDatabase() || bytes.IndexByte(c.x.Request.Path, '+') >= 0 {
		return false
	}
	segments := 0
	for range bytes.FieldsFuncSeq(c.x.Request.Path, func(r rune) bool { return r == '/' }) {
		segments++
	}
	return segments == 2 && (c.settings.cfg.Writes == WritesFirst || !c.fromReplicator())
}

// serveShared answers from a shared feed. If it returns false, nothing was sent.
func (c *call) serveShared() bool {
	lacking := c.svc.security.lacking(c.settings.fleet, c.name)
	nodes := slices.DeleteFunc(c.settings.fleet.available(c.passOrder()), lacking.Has)
	if len(nodes) == 0 {
		return false
	}
	c.handedOver = true
	c.handedOver = c.settings.fleet.feeds.Serve(c.x, feed.Client{DB: string(c.name), Nodes: nodes, MayRead: c.mayRead()})
	return c.handedOver
}

// maxUnknown is the number of consecutive permission checks without a decision after which a
// client may not read any more.
const maxUnknown = 3

// mayRead returns a function that reports whether the client may still read the database.
func (c *call) mayRead() func(ctx context.Context) bool {
	svc, id, name, ask := c.svc, auth.Identify(c.x.Request.Fields), bytes.Clone(c.name), c.authCheck()
	unknown := maxUnknown // the first check needs a decision
	return func(ctx context.Context) bool {
		gate := svc.settings.Load().auth
		v, _ := gate.Lookup(id, name, svc.cache.Now())
		if v == auth.Unknown {
			v, _ = gate.Decide(ctx, id, name, ask)
		}
		if v == auth.Unknown {
			unknown++
		} else {
			unknown = 0
		}
		return v == auth.Allowed || v == auth.Unknown && unknown < maxUnknown
	}
}
