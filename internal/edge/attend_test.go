package edge

import (
	"testing"
	"time"
)

func TestAttend(t *testing.T) {
	a := &Attention{}
	f := func(now time.Duration, attended bool) {
		t.Helper()
		a.Pay(now)
		if got := a.paid.Load() == int64(now); got != attended {
			t.Errorf("at %v: %v", now, got)
		}
	}
	f(attendEvery-1, false)
	f(attendEvery, true)
	f(attendEvery+1, false)
	f(2*attendEvery-1, false)
	f(5*attendEvery, true)
	f(4*attendEvery, false) // another connection's clock was read before
	f(6*attendEvery-1, false)
	f(6*attendEvery, true)
}
