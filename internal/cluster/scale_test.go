package cluster

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
)

// TestScale runs clusters of several sizes in this process, over a network in memory, and
// prints what a write costs: docs/cluster.md has the figures. It fails if concurrent writes do
// not share frames, or if the cost of a write grows faster than the number of members.
func TestScale(t *testing.T) {
	const writers, each = 64, 20
	alone := 0.0
	for _, members := range []int{1, 3, 10, 32} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			l := newLab(t)
			names := make([]string, members)
			for i := range names {
				names[i] = fmt.Sprintf("n%02d", i)
			}
			nodes := l.cluster(names...)
			l.settled(nodes)
			before := l.net.counts()
			start := time.Now()
			var failed atomic.Int64
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					tag := cache.TagOf(fmt.Append(nil, w))
					for range each {
						write, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{tag}, nil)
						if err != nil {
							failed.Add(1)
							continue
						}
						if _, err := write.Commit(t.Context(), cache.Change{}); err != nil {
							failed.Add(1)
						}
					}
				})
			}
			wg.Wait()
			took := time.Since(start)
			if n := failed.Load(); n > 0 {
				t.Fatalf("%d of %d writes failed", n, writers*each)
			}
			sent := l.net.counts().minus(before)
			const writes = writers * each
			perWrite := float64(sent.delivered) / writes
			t.Logf("%2d members: %6.0f writes/s; per write %.2f frames sent, %.2f received by all, %.0f bytes received by all",
				members, writes/took.Seconds(), float64(sent.published)/writes, perWrite, float64(sent.bytes)/writes)
			if members == 1 {
				return
			}
			// Without shared frames it is an Inv, an Ack and a Val for each other member.
			if limit := float64(members - 1); perWrite > limit {
				t.Errorf("%.2f frames per write are received; at most %.0f are expected", perWrite, limit)
			}
			if each := perWrite / float64(members-1); alone == 0 {
				alone = each
			} else if each > 2*alone+1 {
				t.Errorf("%.2f frames per write and member; with 3 members it was %.2f", each, alone)
			}
		})
	}
}

// settled waits until all nodes have the same members, and all of them serve.
func (l *lab) settled(nodes []*member) {
	l.t.Helper()
	for _, m := range nodes {
		l.until(func() bool {
			s := m.Status()
			return s.Serving && len(s.View.Members) == len(nodes) && len(s.Peers) == len(nodes)-1
		})
	}
}
