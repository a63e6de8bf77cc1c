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

// guardHeap makes the garbage collector run more often when the heap approaches the expected
// size of a process whose cache may hold cache bytes. It doesn't change a limit that
// GOMEMLIMIT sets. The returned function stops it.
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
	// liveBeside is the assumed size of live data other than stored and in-flight bytes.
	liveBeside = 24 << 20
)

// heapLimit returns the limit for a process in which pages outside the heap use paged bytes:
// twice the cache including these pages. The program and its other mappings are not
// included. If live exceeds the size of stored and in-flight data, for example because of an
// embedded store, the limit is raised by twice the difference, so that the collector behaves
// as without a limit.
func heapLimit(cache, paged, live int64) int64 {
	_, inFlight := inflight.Bounds(cache)
	explained := cache/4 + inFlight + liveBeside // entries get a quarter
	return max(2*cache-paged, cache) + 2*max(0, live-explained)
}

// liveHeap returns the number of bytes that were reachable at the end of the last
// collection, including stacks.
func liveHeap() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}
