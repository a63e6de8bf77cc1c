// Package scope provides contexts that are used for one piece of work after the other. The
// standard library's contexts serve one each, and registering a function with one allocates.
package scope

import (
	"context"
	"sync"
)

// Scope is a context with room for one function that is called at its end. It is made for
// work that follows other work, for example the requests of a connection, and is ended by
// Cancel or with its parent.
type Scope struct {
	context.Context
	cancel context.CancelCauseFunc

	// mu orders Hook and Unhook with the end. It is held while the function runs, so that it
	// does not run after Unhook.
	mu    sync.Mutex
	hook  func()
	ended bool
}

// New returns a scope that ends with parent. It must be cancelled when it is no longer used.
func New(parent context.Context) *Scope {
	s := &Scope{}
	s.Context, s.cancel = context.WithCancelCause(parent)
	context.AfterFunc(s.Context, s.end)
	return s
}

// Cancel ends the scope with a cause, see context.Cause.
func (s *Scope) Cancel(cause error) { s.cancel(cause) }

func (s *Scope) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if f := s.hook; f != nil {
		s.hook = nil
		f()
	}
}

// Hook arranges for f to be called when the scope ends, at once if it has ended. f must not
// use Hook or Unhook. It returns false, and does nothing, if there is another function.
func (s *Scope) Hook(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		f()
	case s.hook != nil:
		return false
	default:
		s.hook = f
	}
	return true
}

// Unhook removes the function, and reports whether it was not called. If it is being called,
// Unhook waits for its end.
func (s *Scope) Unhook() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.hook != nil
	s.hook = nil
	return waiting
}
