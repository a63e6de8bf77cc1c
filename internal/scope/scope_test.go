package scope

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestScope checks when the function of a scope is called.
func TestScope(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *Scope, cancelParent context.CancelCauseFunc, hook func() bool)
		want int // calls
	}{
		{"not ended", func(t *testing.T, s *Scope, _ context.CancelCauseFunc, hook func() bool) {
			if !hook() || hook() || !s.Unhook() || s.Unhook() || !hook() {
				t.Error("there is not exactly one place")
			}
		}, 0},
		{"ended", func(t *testing.T, s *Scope, _ context.CancelCauseFunc, hook func() bool) {
			hook()
			s.Cancel(cause)
			synctest.Wait()
			if s.Unhook() {
				t.Error("Unhook reports that the function was not called")
			}
		}, 1},
		{"ended by the parent", func(_ *testing.T, _ *Scope, cancelParent context.CancelCauseFunc, hook func() bool) {
			hook()
			cancelParent(cause)
		}, 1},
		{"ended before", func(t *testing.T, s *Scope, _ context.CancelCauseFunc, hook func() bool) {
			s.Cancel(cause)
			synctest.Wait()
			if !hook() || s.Unhook() {
				t.Error("the function waits")
			}
		}, 1},
		{"ended after the work", func(_ *testing.T, s *Scope, _ context.CancelCauseFunc, hook func() bool) {
			hook()
			s.Unhook()
			s.Cancel(cause)
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancelParent := context.WithCancelCause(t.Context())
				defer cancelParent(nil)
				s, calls := New(parent), 0
				c.do(t, s, cancelParent, func() bool { return s.Hook(func() { calls++ }) })
				synctest.Wait()
				if calls != c.want {
					t.Errorf("%d calls instead of %d", calls, c.want)
				}
				child, cancel := context.WithCancel(s)
				defer cancel()
				if c.want > 0 && context.Cause(child) != cause {
					t.Errorf("cause %v", context.Cause(child))
				}
				s.Cancel(nil)
			})
		})
	}
}

// TestHookAllocates checks that a scope costs nothing for each piece of work.
func TestHookAllocates(t *testing.T) {
	s, f := New(t.Context()), func() {}
	defer s.Cancel(nil)
	if n := testing.AllocsPerRun(100, func() { s.Hook(f); s.Unhook() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
