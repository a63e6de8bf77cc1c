package client

import "sync"

// waiter blocks one goroutine until it is signalled, once, to lead or that it is done. It is
// not a channel, because a channel belongs to the synctest bubble it is made in, and calls
// are pooled.
type waiter struct {
	mu   sync.Mutex // leaf
	cond sync.Cond  // signalled with the lock held, so that no signal outlives its use
	lead bool
	done bool
}

// wait returns true if the goroutine has to lead, and false when its call is done.
func (w *waiter) wait() (lead bool) {
	w.mu.Lock()
	for !w.lead && !w.done {
		w.cond.Wait()
	}
	lead = w.lead
	if w.lead = false; !lead {
		w.done = false
	}
	w.mu.Unlock()
	return lead
}

// signal sets one of the two.
func (w *waiter) signal(what *bool) {
	w.mu.Lock()
	*what = true
	w.cond.Signal()
	w.mu.Unlock()
}

// isDone reports whether wait would return false at once.
func (w *waiter) isDone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}
