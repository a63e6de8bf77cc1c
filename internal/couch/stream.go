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

// feedPause is the longest pause within a feed. Clients choose how often they want a
// heartbeat; a node ends a feed without one after a minute.
const feedPause = time.Hour

// stream answers a live feed from one that is shared, or passes it on as it comes,
// until the server stops.
func (c *call) stream() {
	if !c.stripped && c.shareable() && c.serveShared() {
		return
	}
	ask := c.askInOrder(c.passOrder(), origin.Hold{})
	stopping := c.x.Stopping()
	c.handedOver = true
	c.svc.engine.Pass(c.x, &httpcache.Passage{
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

// sharedFeeds tells whether a feed may be one that is shared: the changes of a database
// that is not the server's own. Where writes go to any node, a replicator stays with its
// node.
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

// serveShared answers from a feed that others may have as well. Nothing was sent if it
// returns false.
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

// maxUnknown is how often in a row it may not be known whether a client may read its
// database until it counts as shut out.
const maxUnknown = 3

// mayRead asks the gate whether the client may read the database, now and later on.
func (c *call) mayRead() func(ctx context.Context) bool {
	svc, who, name, ask := c.svc, auth.Identify(c.x.Request.Fields), bytes.Clone(c.name), c.authCheck()
	unknown := maxUnknown // at the start it must be known
	return func(ctx context.Context) bool {
		gate := svc.settings.Load().auth
		v, _ := gate.Lookup(who, name, svc.cache.Now())
		if v == auth.Unknown {
			v, _ = gate.Decide(ctx, who, name, ask)
		}
		if v == auth.Unknown {
			unknown++
		} else {
			unknown = 0
		}
		return v == auth.Allowed || v == auth.Unknown && unknown < maxUnknown
	}
}
