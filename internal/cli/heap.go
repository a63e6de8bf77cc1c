package cli

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/kasoku/kasoku/internal/inflight"
	memorypages "github.com/kasoku/kasoku/internal/pages"
)

// guardHeap makes the garbage collector run more often when the heap approaches the expected
// size of a process whose cache may hold cache bytes. held returns how many it holds now, with
// those in flight, and short reports whether many are in flight. guardHeap doesn't change a limit
// that GOMEMLIMIT sets. The returned function stops it.
func guardHeap(cache int64, held func() int64, short func() bool) (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(math.MaxInt64)
	ended, left := make(chan struct{}), make(chan struct{})
	collected := make(chan struct{}, 1)
	afterCollections(collected, ended)
	go func() {
		defer close(left)
		tick := time.NewTicker(guardEvery)
		defer tick.Stop()
		var other estimate
		for set := int64(0); ; {
			paged := memorypages.Held()
			limit := heapLimit(cache, paged, other.size)
			if change := limit - set; change > limit/32 || change < -limit/32 {
				debug.SetMemoryLimit(limit)
				set = limit
			}
			select {
			case <-tick.C:
			case <-collected:
				other.update(otherData(cache, held()-memorypages.Held(), liveHeap()), short())
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

// afterCollections sends to collected, which has room for one, after each garbage collection,
// until ended is closed.
func afterCollections(collected chan<- struct{}, ended <-chan struct{}) {
	unreachable := &struct{ _ *int }{}
	runtime.AddCleanup(unreachable, func(collected chan<- struct{}) {
		select {
		case <-ended:
			return
		case collected <- struct{}{}:
		default:
		}
		afterCollections(collected, ended)
	}, collected)
}

const (
	guardEvery = time.Second
	// liveBeside is the assumed size of live data other than stored and in-flight bytes.
	liveBeside = 24 << 20
)

// heapLimit returns the limit for a process in which pages outside the heap use paged bytes:
// twice the cache including these pages. The program and its other mappings are not
// included. The limit is raised by twice the size of other live data, for example of an embedded
// store, so that the collector behaves as without a limit.
func heapLimit(cache, paged, other int64) int64 {
	return max(2*cache-paged, cache) + 2*other
}

// otherData returns how many of the live bytes are not stored and not in flight. held is how many
// are that now. Some that the collection has found live may have been released meanwhile, so as many
// are assumed as may be in flight beside a quarter of the cache, which entries have at least.
func otherData(cache, held, live int64) int64 {
	_, inFlight := inflight.Bounds(cache)
	return max(0, live-liveBeside-max(held, cache/4+inFlight))
}

// estimate is the size of other data, in bytes. It is not changed while many bytes are in flight:
// the goroutines and buffers of as many clients would be taken for other data, and the limit would
// be raised when memory is short.
type estimate struct {
	size int64
	calm int // collections since memory was short
}

// update sets the size that was found after a collection, unless memory is short now or was short
// when that collection began.
func (e *estimate) update(size int64, short bool) {
	if short {
		e.calm = 0
		return
	}
	if e.calm++; e.calm > 1 {
		e.size = size
	}
}

// liveHeap returns the number of bytes that were reachable at the end of the last
// collection, including stacks.
func liveHeap() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}
