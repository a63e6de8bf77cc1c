//go:build go1.25

package fluent

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	wantIncreasing := func(c *clock) {
		t.Helper()
		for range 1000 {
			first := max(c.at(time.Now()), c.read())
			if second := c.read(); second < first || c.counts && second == first {
				t.Fatalf("%d after %d", second, first)
			}
		}
	}
	wantIncreasing(&clock{start: time.Now()})
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		expect(t, "counts if the time does not advance", c.counts, true)
		wantIncreasing(c)
		expect(t, "position of a record posted earlier", c.at(time.Now()) < c.read(), true)
	})
}
