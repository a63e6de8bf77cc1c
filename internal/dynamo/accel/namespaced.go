package accel

import (
	"context"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// With Config.Namespaced a table's name means another table for each access key and region. The
// cache is not used then: the store is in this process, and answers as fast.

// passNamespaced forwards a request to the store of its namespace.
func (c *call) passNamespaced() {
	id, region, refusal := sigv4.Scope(&c.x.Request)
	if refusal != nil {
		c.failAuthentication(refusal)
		return
	}
	// After a panic the request must not be forwarded in another way.
	c.permitted, c.writeSent = true, true
	if quoted, ok := wire.Lookup(c.x.Body, "TableName"); ok {
		c.setTable(quoted)
	}
	d := namespacedDecision(c.op)
	start := time.Now()
	resp, err := c.set.origin.Do(context.Background(), &origin.Request{
		Method: string(c.x.Request.Method), Path: string(c.x.Request.Path),
		Header: c.forwardedHeader(), Body: c.x.Body, Buf: c.x.Reply.Buf, Namespace: id + "/" + region,
	})
	c.x.Record.Waited(start)
	if err != nil {
		c.failOrigin(err, d)
		return
	}
	c.x.Reply.Build(resp.Body)
	c.relay(resp, d)
}

func namespacedDecision(op *wire.Operation) telemetry.Decision {
	switch op.Access {
	case wire.Read:
		return telemetry.BypassUncacheable
	case wire.Write:
		return telemetry.Write
	}
	return telemetry.Pass
}

const notCached = "nothing is cached: with namespaces a table's name means another table for each access key and region, and the store in this process is as fast"

func (e *explanation) namespaced() {
	e.step("namespaces", "key", notCached)
	e.decide(namespacedDecision(e.c.op), "forwarded to the store of the request's access key and region")
}

// purgedNothing is the result of a purge when nothing is cached.
func (s *Service) purgedNothing() admin.PurgeResult {
	return admin.PurgeResult{Dropped: fmt.Sprintf("nothing: service %s has namespaces and caches nothing", s.name)}
}
