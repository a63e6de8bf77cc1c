package couch

import (
	"context"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin"
)

// feedPause is the longest pause within a feed. Clients choose how often they want a
// heartbeat; a node ends a feed without one after a minute.
const feedPause = time.Hour

// stream passes a live feed on as it comes, until the server stops.
func (c *call) stream() {
	ask := c.inOrder(c.passOrder(), c.trusted())
	stopping := c.x.Stopping()
	c.given = true
	c.svc.engine.Pass(c.x, &httpcache.Passage{
		Why: policy.ProtocolPassed,
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
