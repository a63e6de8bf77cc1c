package accel

import (
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestPanicWhileDescribing checks that a panic while describing a table is counted, and that
// its requests are forwarded.
func TestPanicWhileDescribing(t *testing.T) {
	s, p := withParrot(t)
	p.onDescribe = func() { panic("injected") }
	x := edge.Detached(t.Context(), request("GetItem"), []byte(getA), time.Now())
	s.Serve(x)
	if x.Record.Decision != telemetry.BypassUncacheable || s.metrics.faults.Value() != 1 {
		t.Errorf("got %s %s and %d faults, want a forwarded request and 1 fault", x.Record.Decision, x.Reply.Body, s.metrics.faults.Value())
	}
}
