//go:build unix

package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// TestReset resets the connections between two nodes again and again, while clients write
// through all nodes. The connections are open again before a member is suspended.
func TestReset(t *testing.T) {
	s := start(t, store(t), 3)
	s.createTable()
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	var mu sync.Mutex
	var slowest time.Duration
	writes := 0
	for i, n := range s.nodes {
		writing.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				began := time.Now()
				err := n.put(fmt.Sprint(i), fmt.Sprint(round))
				mu.Lock()
				if err != nil {
					t.Errorf("%s after its begin: %v", time.Since(began), err)
				}
				slowest = max(slowest, time.Since(began))
				writes++
				mu.Unlock()
				pause.For(ctx, 2*time.Millisecond)
			}
		})
	}
	before := s.sum("kasoku_cluster_suspensions_total")
	const resets = 12
	for i := range resets {
		a, b := s.nodes[i%3], s.nodes[(i+1)%3]
		s.net.Reset(a.name, b.name)
		pause.For(ctx, 300*time.Millisecond)
	}
	cancel()
	writing.Wait()
	suspended := s.sum("kasoku_cluster_suspensions_total") - before
	t.Logf("%d resets: %d members were suspended; %d writes, the slowest took %s", resets, suspended, writes, slowest)
	if suspended > resets/3 { // a loaded machine may suspend one
		t.Errorf("%d of %d resets made a member suspend another one", suspended, resets)
	}
}

// sum returns the sum of a counter over all nodes.
func (s *scene) sum(name string) (total int) {
	s.t.Helper()
	line := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`)
	for _, n := range s.nodes {
		text, err := n.Metrics()
		if err != nil {
			s.t.Fatal(err)
		}
		match := line.FindStringSubmatch(text)
		if match == nil {
			s.t.Fatalf("%s has no metric %s", n.name, name)
		}
		value, _ := strconv.Atoi(match[1])
		total += value
	}
	return total
}
