package cli

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/kasoku/kasoku/internal/inflight"
	memorypages "github.com/kasoku/kasoku/internal/pages"
)

// guardHeap has the garbage collector run more often when Go's heap and its garbage
// approach what a process is expected to take whose cache may hold that many bytes. A limit
// that the environment sets with GOMEMLIMIT is kept. The function that it returns ends that.
func guardHeap(cache int64) (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(math.MaxInt64)
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		tick := time.NewTicker(guardEvery)
		defer tick.Stop()
		for set := int64(0); ; {
			limit := heapLimit(cache, memorypages.Held(), liveHeap())
			if change := limit - set; change > limit/32 || change < -limit/32 {
				debug.SetMemoryLimit(limit)
				set = limit
			}
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-left
		debug.SetMemoryLimit(before)
	}
}

const (
	guardEvery = time.Second
	// liveBeside is how much is live beside what is stored and in flight.
	liveBeside = 24 << 20
)

// heapLimit is the limit for a process in which pages outside of the heap take paged bytes:
// twice the cache with these. The program itself and what else it maps come on top.
// More may be live than what can be stored and in flight, an embedded store's memory for
// example. The limit is higher by twice that, so that the collector treats it as without a
// limit.
func heapLimit(cache, paged, live int64) int64 {
	_, inFlight := inflight.Bounds(cache)
	explained := cache/4 + inFlight + liveBeside // a quarter is left to entries
	return max(2*cache-paged, cache) + 2*max(0, live-explained)
}

// liveHeap returns what was reachable at the end of the last collection, and stacks.
func liveHeap() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}
