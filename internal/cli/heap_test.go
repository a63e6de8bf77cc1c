package cli

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestHeapLimit(t *testing.T) {
	const mib = 1 << 20
	f := func(cache, paged, live, want int64) {
		t.Helper()
		if got := heapLimit(cache*mib, paged*mib, live*mib); got != want*mib {
			t.Errorf("%d MiB of cache, %d paged, %d live: %d MiB; want %d", cache, paged, live, got/mib, want)
		}
	}
	f(64, 0, 0, 128)
	f(256, 0, 300, 512)
	f(256, 100, 100, 412)
	f(256, 256, 100, 256)
	f(256, 300, 100, 256) // pages that are about to be returned
	f(64, 0, 112, 128)
	f(64, 0, 312, 128+2*200) // 112 are explained
}

// TestGuardHeap checks that a limit is set, unless the environment has one, and restored.
func TestGuardHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(math.MaxInt64 - 1)
	guardHeap(1 << 30)()
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64-1 {
		t.Errorf("afterwards the limit is %d", got)
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	stop := guardHeap(1 << 20)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64-1 {
		t.Errorf("beside GOMEMLIMIT the limit is %d", got)
	}
	stop()
}
