package store

import (
	"context"
	"sync"
)

// tasks are the goroutines that a store runs in the background.
type tasks struct {
	ctx    context.Context // ends when the store is closed
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed, and keeps Add apart from Wait
	closed bool
	wg     sync.WaitGroup
}

func (t *tasks) init() { t.ctx, t.cancel = context.WithCancel(context.Background()) }

// begin counts one more goroutine, which must call wg.Done. It returns false after close.
func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.wg.Add(1)
	}
	return !t.closed
}

func (t *tasks) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.wg.Wait()
}
