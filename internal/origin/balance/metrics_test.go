package balance

import (
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Answers are counted by the class of their status, also if HTTP does not define it.
func TestAnswerClasses(t *testing.T) {
	mm := newMemberMetrics(telemetry.NewRegistry(), "s", "m")
	for status, class := range map[int]int{101: 1, 200: 2, 304: 3, 404: 4, 599: 5, 600: 0, 999: 0, 0: 0, 99: 0} {
		before := mm.answered[class].Value()
		mm.answer(status)
		if got := mm.answered[class].Value(); got != before+1 {
			t.Errorf("%d is not counted in class %d", status, class)
		}
	}
}
