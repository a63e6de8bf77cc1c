package history

import (
	"math"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestLargeNumbers checks that numbers do not begin again at zero.
func TestLargeNumbers(t *testing.T) {
	f := since(&Totals{}, &Totals{Requests: Requests{Hits: math.MaxUint64, Errors: 2}})
	f.add(&figures{requests: [classes]uint32{1, 1}, errors: 1})
	if f.requests != [classes]uint32{math.MaxUint32, 1} || f.errors != 3 {
		t.Errorf("got %v, %d", f.requests, f.errors)
	}
}

// TestClasses checks the class of each decision.
func TestClasses(t *testing.T) {
	got := map[Class]string{}
	for _, d := range telemetry.Decisions {
		got[ClassOf(d.Decision)] += d.Name + " "
	}
	want := map[Class]string{
		Hits:   "hit hit-negative hit-stale ",
		Misses: "miss miss-expired miss-invalidated miss-isolated miss-vary revalidated coalesced partial ",
		Writes: "write ",
		Other:  "none bypass-consistent bypass-request bypass-uncacheable bypass-lagging pass local cache-fault ",
	}
	for c, names := range want {
		if got[c] != names {
			t.Errorf("class %d: got %s, want %s", c, got[c], names)
		}
	}
	r := Count(map[telemetry.Decision]uint64{telemetry.Hit: 3, telemetry.HitStale: 1, telemetry.Miss: 1, telemetry.Write: 5, telemetry.Local: 6})
	if r != (Requests{Hits: 4, Misses: 1, Writes: 5, Other: 6}) {
		t.Errorf("got %+v", r)
	}
	if ratio, ok := HitRatio(r.Hits, r.Misses); ratio != 0.8 || !ok {
		t.Errorf("ratio %v, %t", ratio, ok)
	}
	if _, ok := HitRatio(0, 0); ok {
		t.Error("a ratio without reads")
	}
}
