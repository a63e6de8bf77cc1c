package client

import "sync"

// waiter lets one goroutine wait to be told, once, that it is to lead or that it is done.
// It is no channel, since those belong to the synctest bubble that they are made in, and
// calls are kept for whoever comes.
type waiter struct {
	mu   sync.Mutex // leaf
	cond sync.Cond  // signalled with the lock, so that no signal outlives its use
	lead bool
	done bool
}

// readUntil returns true if the goroutine is to lead, and false when it is done.
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

// isDone says whether wait would return false at once.
func (w *waiter) isDone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}
