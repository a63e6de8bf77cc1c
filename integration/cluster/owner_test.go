//go:build unix

package cluster

import (
	"fmt"
	"testing"
	"time"
)

// TestOwnerWithoutOrigin holds the origin's answers to one node: a miss through another node,
// which asks the first one if that is the owner of the key, must not wait for it for long.
func TestOwnerWithoutOrigin(t *testing.T) {
	s := start(t, store(t), 3)
	s.createTable()
	const keys = 60
	for i := range keys {
		s.mustPut(s.nodes[0], fmt.Sprint(i), "1")
	}
	s.net.Hold(origin, "b")
	var slowest time.Duration
	for i := range keys {
		began := time.Now()
		if value, _, err := s.nodes[2].get(fmt.Sprint(i)); err != nil || value != "1" {
			t.Errorf("got %q, %v", value, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	s.net.Release(origin, "b")
	t.Logf("the slowest of %d reads took %s", keys, slowest)
	if slowest > 2*time.Second {
		t.Errorf("a read waited for the owner of the key, for %s", slowest)
	}
}
