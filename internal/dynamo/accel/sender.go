package accel

import (
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// sender is the client's request that a request to the origin is sent for. The zero sender is
// that of Kasoku's own requests, such as refreshes.
type sender struct {
	trace     http1.Fields     // its trace fields
	principal string           // the name that the client gives for itself
	shape     *telemetry.Shape // of its query, if its use of the origin is accounted for
}

// sender returns the call as a sender that may outlive it.
func (c *call) sender() sender {
	s := sender{trace: c.traceFields()}
	if c.svc.ledger != nil {
		s.principal, s.shape = string(c.x.Record.Principal), c.x.Record.Shape
	}
	return s
}
