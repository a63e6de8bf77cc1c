package edge

import (
	"context"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Detached returns an exchange without a connection, to explain how a service would answer
// a request and to test handlers. Its context is ctx.
func Detached(ctx context.Context, r http1.Request, body []byte, now time.Time) *Exchange {
	return &Exchange{Request: r, Body: body, Record: telemetry.Record{Time: now}, start: now, watch: &watch{ctx: ctx}}
}

// Head returns the header lines that the handler has set so far.
func (r *Reply) Head() []byte { return r.lines }
