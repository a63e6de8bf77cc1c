package admin

import (
	"fmt"
	"testing"
)

// TestRightAtLeast compares the share with values calculated elsewhere.
func TestRightAtLeast(t *testing.T) {
	for checked, want := range map[uint64]string{1: "0.0500000", 59: "0.9504924", 300: "0.9900639", 12_345: "0.9997574", 3_000_000: "0.9999990"} {
		if got := RightAtLeast(checked); fmt.Sprintf("%.7f", got) != want {
			t.Errorf("%d answers: got %s, want %s", checked, fmt.Sprintf("%.7f", got), want)
		}
	}
}
