package scope

import "context"

// Watch calls a function when a context ends. The zero value watches nothing. It has no
// allocation for a Scope without another function.
type Watch struct {
	scope *Scope
	stop  func() bool
}

// Start arranges for f to be called when ctx ends, at once if it has ended. The watch must have
// been stopped before. f must not use the watch.
func (w *Watch) Start(ctx context.Context, f func()) {
	if s, ok := ctx.(*Scope); ok && s.Hook(f) {
		w.scope = s
	} else if ctx.Done() != nil {
		w.stop = context.AfterFunc(ctx, f)
	}
}

// Stop ends the watch. It reports whether f was not called, and will not be.
func (w *Watch) Stop() bool {
	s, stop := w.scope, w.stop
	*w = Watch{}
	switch {
	case s != nil:
		return s.Unhook()
	case stop != nil:
		return stop()
	}
	return true
}
