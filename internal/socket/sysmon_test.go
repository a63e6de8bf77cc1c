package socket

import (
	"testing"
	"time"
)

func TestSysmonWake(t *testing.T) {
	s := &Sysmon{}
	f := func(now time.Duration, woken bool) {
		t.Helper()
		s.Wake(now)
		if got := s.woken.Load() == int64(now); got != woken {
			t.Errorf("at %v: woken %v, want %v", now, got, woken)
		}
	}
	f(sysmonPeriod-1, false)
	f(sysmonPeriod, true)
	f(sysmonPeriod+1, false)
	f(2*sysmonPeriod-1, false)
	f(5*sysmonPeriod, true)
	f(4*sysmonPeriod, false) // another connection's clock was read before
	f(6*sysmonPeriod-1, false)
	f(6*sysmonPeriod, true)
}
