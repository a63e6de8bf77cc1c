package telemetry

import (
	"testing"
	"time"
)

// TestWaited checks the times of a record that has waited twice.
func TestWaited(t *testing.T) {
	now := time.Now()
	r := Record{Time: now.Add(-5 * time.Second)}
	r.Waited(now.Add(-3 * time.Second))
	r.Waited(now.Add(-time.Second))
	if r.Asked != 2*time.Second || r.Origin < 4*time.Second {
		t.Errorf("asked after %v, waited %v", r.Asked, r.Origin)
	}
}
