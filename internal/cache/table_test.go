//go:build !kasokubroken

package cache

import (
	"runtime"
	"slices"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// A large table is outside of the heap, where it would affect the pace of the garbage collector.
func TestLargeTableIsOutsideOfHeap(t *testing.T) {
	outside := !race.Enabled && slices.Contains([]string{"linux", "darwin"}, runtime.GOOS)
	f := func(generations int, outside bool) {
		t.Helper()
		before := heap()
		c, _ := open(t, Config{Generations: generations})
		grown := heap() - before
		table := int64(len(c.slots)) * 16
		if got := grown < table/2; got != outside {
			t.Errorf("%d generations of %d bytes: the heap has grown by %d", generations, table, grown)
		}
		for _, i := range []int{0, generations / 2, len(c.slots) - 1} {
			s := &c.slots[i]
			if gen, writers := s.gen.Load(), s.writers.Load(); gen != 0 || writers != 0 {
				t.Errorf("slot %d begins with generation %d and %d writers, want 0 and 0", i, gen, writers)
			}
			if _, next := s.bump(7); next != 7 || s.gen.Load() != 7 {
				t.Errorf("slot %d: got generation %d, want 7", i, s.gen.Load())
			}
		}
		runtime.KeepAlive(c)
	}
	f(1<<22, outside)
	f(1<<18, outside)
	f(1<<17, false)
}
