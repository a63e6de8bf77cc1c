package scope

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errLate = errors.New("late")

// TestLimited compares the state of a Limited with that of the standard library's context, asked in
// different orders, because the first question may start its timer.
func TestLimited(t *testing.T) {
	type key struct{}
	questions := map[string]func(ctx context.Context) any{
		"Err":   func(ctx context.Context) any { return ctx.Err() },
		"Cause": func(ctx context.Context) any { return context.Cause(ctx) },
		"Done": func(ctx context.Context) any {
			select {
			case <-ctx.Done():
				return true
			default:
				return false
			}
		},
		"child": func(ctx context.Context) any {
			child, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			synctest.Wait()
			return context.Cause(child)
		},
		"Deadline": func(ctx context.Context) any { until, _ := ctx.Deadline(); return until },
		"Value":    func(ctx context.Context) any { return ctx.Value(key{}) },
	}
	events := map[string]func(endParent context.CancelCauseFunc, cancel func()){
		"nothing":                   func(context.CancelCauseFunc, func()) {},
		"parent":                    func(endParent context.CancelCauseFunc, _ func()) { endParent(errors.New("gone")) },
		"deadline":                  func(context.CancelCauseFunc, func()) { time.Sleep(time.Second + 1) },
		"cancel":                    func(_ context.CancelCauseFunc, cancel func()) { cancel() },
		"cancel after the deadline": func(_ context.CancelCauseFunc, cancel func()) { time.Sleep(time.Second + 1); cancel() },
	}
	for first, ask := range questions {
		for second, askAgain := range questions {
			for event, happen := range events {
				for _, early := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						answers := func(make func(parent context.Context, until time.Time) (context.Context, func())) (out [3]any) {
							parent, endParent := context.WithCancelCause(context.WithValue(t.Context(), key{}, 1))
							defer endParent(nil)
							if early {
								var stop context.CancelFunc
								parent, stop = context.WithTimeout(parent, time.Second/2)
								defer stop()
							}
							ctx, cancel := make(parent, time.Now().Add(time.Second))
							defer cancel()
							out[0] = ask(ctx)
							happen(endParent, cancel)
							synctest.Wait()
							out[1], out[2] = askAgain(ctx), ask(ctx)
							return out
						}
						start := time.Now()
						want := answers(func(parent context.Context, until time.Time) (context.Context, func()) {
							ctx, cancel := context.WithDeadlineCause(parent, until, errLate)
							return ctx, cancel
						})
						took := time.Since(start)
						got := answers(func(parent context.Context, until time.Time) (context.Context, func()) {
							l := WithDeadline(parent, until, errLate)
							return l, l.Cancel
						})
						for i := range got {
							if until, ok := got[i].(time.Time); ok {
								got[i] = until.Add(-took)
							}
							if got[i] != want[i] && !sameError(got[i], want[i]) {
								t.Errorf("%s, %s, %s, earlier deadline of the parent %v: answer %d is %v instead of %v", first, event, second, early, i, got[i], want[i])
							}
						}
					})
				}
			}
		}
	}
}

func sameError(a, b any) bool {
	e, ok := a.(error)
	f, is := b.(error)
	return ok && is && e.Error() == f.Error()
}

// TestLimitedAllocates checks that a deadline that nothing waits for costs one object.
func TestLimitedAllocates(t *testing.T) {
	s, until := New(t.Context()), time.Now().Add(time.Hour)
	defer s.Cancel(nil)
	f := func() {}
	var w Watch
	if n := testing.AllocsPerRun(100, func() {
		l := WithDeadline(s, until, errLate)
		w.Start(WithoutDeadline(l), f)
		if l.Err() != nil || !w.Stop() {
			t.Error("the context has ended")
		}
		l.Cancel()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// TestWatch checks that a watch's function is called at the end of each kind of context, and only
// before Stop.
func TestWatch(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(parent context.Context) context.Context
	}{
		{"standard", func(parent context.Context) context.Context { return parent }},
		{"scope", func(parent context.Context) context.Context { return New(parent) }},
		{"used scope", func(parent context.Context) context.Context {
			s := New(parent)
			s.Hook(func() {})
			return s
		}},
		{"limited", func(parent context.Context) context.Context {
			return WithDeadline(parent, time.Now().Add(time.Hour), errLate)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, end := context.WithCancel(t.Context())
				defer end()
				ctx, calls := c.make(parent), 0
				var w Watch
				w.Start(ctx, func() { calls++ })
				for range 2 {
					if !w.Stop() {
						t.Error("Stop reports a call")
					}
				}
				w.Start(ctx, func() { calls++ })
				end()
				synctest.Wait()
				if calls != 1 || w.Stop() {
					t.Errorf("%d calls at the end, or Stop reports none", calls)
				}
			})
		})
	}
	var w Watch
	w.Start(context.Background(), func() {})
	if !w.Stop() {
		t.Error("Stop reports a call for a context without an end")
	}
}
