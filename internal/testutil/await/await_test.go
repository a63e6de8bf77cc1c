package await

import (
	"context"
	"testing"
	"time"
)

// fakeTest is a testing.TB with a deadline that records a failure.
type fakeTest struct {
	testing.TB
	ctx    context.Context
	left   time.Duration
	failed bool
}

func (p *fakeTest) Context() context.Context    { return p.ctx }
func (p *fakeTest) Deadline() (time.Time, bool) { return time.Now().Add(p.left), p.left > 0 }
func (p *fakeTest) Error(...any)                { p.failed = true }

func TestUntil(t *testing.T) {
	f := func(name string, looks int, left time.Duration, ended, want, failed bool) {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if ended {
				end()
			}
			p := &fakeTest{TB: t, ctx: ctx, left: left}
			looked := 0
			got := Until(p, func() bool { looked++; return looked == looks })
			if got != want || p.failed != failed {
				t.Errorf("%t, failed %t; want %t, %t", got, p.failed, want, failed)
			}
		})
	}
	f("there already", 1, time.Hour, false, true, false)
	f("at the third look", 3, time.Hour, false, true, false)
	f("without a deadline", 3, 0, false, true, false)
	f("never", 0, time.Millisecond, false, false, true)
	f("the test has ended", 0, time.Hour, true, false, false)
}
