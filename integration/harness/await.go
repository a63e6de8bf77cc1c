package harness

import (
	"testing"
	"time"
)

// Await polls done until it returns true, and returns how long that took. It fails the test if that
// is not within a time.
func Await(t testing.TB, condition string, within time.Duration, done func() bool) (took time.Duration) {
	t.Helper()
	began := time.Now()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		if <-poll.C; time.Since(began) > within {
			t.Fatalf("not within %s: %s", within, condition)
		}
	}
	return time.Since(began)
}
