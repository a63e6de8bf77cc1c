// Package await waits in tests for conditions without notification: it polls until the test
// binary's time is nearly over.
package await

import (
	"context"
	"testing"
	"time"
)

// Until returns true when reached returns true. After nine tenths of the time left to the
// test binary it fails the test instead and returns false, so that the failure names the
// test. Any goroutine of the test may call it; it ends with the test.
func Until(t testing.TB, reached func() bool) bool {
	t.Helper()
	over, stop := deadline(t)
	defer stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return false
		case <-over.Done():
			t.Error("the condition is not true, and the time is nearly over")
			return false
		}
	}
	return true
}

// deadline returns a context that ends when a test has waited long enough.
func deadline(t testing.TB) (context.Context, context.CancelFunc) {
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := t.Deadline(); ok {
			return context.WithTimeout(context.Background(), time.Until(end)*9/10)
		}
	}
	return context.WithCancel(context.Background())
}
