package protocol

import (
	"fmt"
	"testing"
)

// TestRepeatable checks that a seed determines a run, so that a failing one can be repeated.
func TestRepeatable(t *testing.T) {
	for seed := range uint64(min(seedCount()/20, 10_000)) {
		var first []string
		simulate(seed, func(format string, args ...any) { first = append(first, fmt.Sprintf(format, args...)) })
		again := 0
		simulate(seed, func(format string, args ...any) {
			line := fmt.Sprintf(format, args...)
			switch {
			case again < 0:
			case again < len(first) && line == first[again]:
				again++
			default:
				t.Errorf("seed %d: line %d is %q in the second run", seed, again, line)
				again = -1
			}
		})
		if again >= 0 && again < len(first) {
			t.Errorf("seed %d: the second run ends at line %d of %d", seed, again, len(first))
		}
	}
}
