package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

const mib = 1 << 20

func TestHeapLimit(t *testing.T) {
	f := func(cache, paged, other, want int64) {
		t.Helper()
		if got := heapLimit(cache*mib, paged*mib, other*mib); got != want*mib {
			t.Errorf("%d MiB of cache, %d paged, %d other: %d MiB; want %d", cache, paged, other, got/mib, want)
		}
	}
	f(64, 0, 0, 128)
	f(256, 100, 0, 412)
	f(256, 256, 0, 256)
	f(256, 300, 0, 256) // pages that are about to be returned
	f(64, 0, 200, 128+2*200)
}

// TestOtherData checks what is not explained by the cache and by requests in flight.
func TestOtherData(t *testing.T) {
	f := func(cache, held, live, want int64) {
		t.Helper()
		if got := otherData(cache*mib, held*mib, live*mib); got != want*mib {
			t.Errorf("%d MiB of cache, %d held, %d live: %d MiB; want %d", cache, held, live, got/mib, want)
		}
	}
	f(64, 0, 0, 0)
	f(64, 0, 16+72+24, 0)
	f(64, 64, 16+72+24, 0)
	f(64, 0, 312, 200)   // a store of its own
	f(256, 280, 350, 0)  // in flight, and entries that are not collected yet
	f(256, 500, 523, 0)  // evicted entries in flight beside others
	f(256, 500, 600, 76) //
	f(256, -10, 360, 8)
}

// TestEstimate checks that the size of other data is only changed when memory is not short, and was
// not at the collection before.
func TestEstimate(t *testing.T) {
	var e estimate
	f := func(size int64, short bool, want int64) {
		t.Helper()
		if e.update(size, short); e.size != want {
			t.Errorf("after %d (short: %v) the size is %d; want %d", size, short, e.size, want)
		}
	}
	f(10, false, 0)
	f(10, false, 10)
	f(20, false, 20)
	f(30, true, 20)
	f(30, false, 20) // what was in flight may have been live in that collection
	f(5, false, 5)
	f(0, true, 5)
}

// TestAfterCollections checks that each collection is noticed, until the end.
func TestAfterCollections(t *testing.T) {
	collected, ended := make(chan struct{}, 1), make(chan struct{})
	defer close(ended)
	afterCollections(collected, ended)
	for range 3 {
		await.Until(t, func() bool {
			runtime.GC()
			select {
			case <-collected:
				return true
			default:
				return false
			}
		})
	}
}

// TestGuardHeap checks that a limit is set, unless the environment has one, and restored.
func TestGuardHeap(t *testing.T) {
	none, never := func() int64 { return 0 }, func() bool { return false }
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(math.MaxInt64 - 1)
	guardHeap(1<<30, none, never)()
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64-1 {
		t.Errorf("afterwards the limit is %d", got)
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	stop := guardHeap(1<<20, none, never)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64-1 {
		t.Errorf("beside GOMEMLIMIT the limit is %d", got)
	}
	stop()
}
