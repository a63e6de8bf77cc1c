package fluent

import (
	"context"
	"sync"
)

// roster knows which servers are up, and so whose turn it is to take batches:
// under failover that of the first which is up, and of those before it, which
// are down and try.
type roster struct {
	balance bool // it is always everyone's turn

	mu      sync.Mutex
	down    []bool
	turns   []context.CancelFunc // of those whose turn it is
	changed chan struct{}        // closed and replaced when down changes
}

func newRoster(servers int, balance bool) *roster {
	return &roster{
		balance: balance,
		down:    make([]bool, servers),
		turns:   make([]context.CancelFunc, servers),
		changed: make(chan struct{}),
	}
}

// turn waits until it is the turn of the server at rank. The context that it
// returns ends when the turn does, or with ctx; the caller ends it, too.
func (r *roster) turn(ctx context.Context, rank int) (context.Context, context.CancelFunc, error) {
	for ctx.Err() == nil {
		r.mu.Lock()
		changed := r.changed
		if r.isTurn(rank) {
			turn, end := context.WithCancel(ctx)
			r.turns[rank] = end
			r.mu.Unlock()
			return turn, end, nil
		}
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil, nil, ctx.Err()
}

// isTurn is called with mu held.
func (r *roster) isTurn(rank int) bool {
	if r.balance {
		return true
	}
	for _, down := range r.down[:rank] {
		if !down {
			return false
		}
	}
	return true
}

// set says that the server at rank is down or up, and ends the turns of those
// who have it no more.
func (r *roster) set(rank int, down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down[rank] == down {
		return
	}
	r.down[rank] = down
	close(r.changed)
	r.changed = make(chan struct{})
	for i, end := range r.turns {
		if end != nil && !r.isTurn(i) {
			end()
			r.turns[i] = nil
		}
	}
}

// allDown tells whether no server is up.
func (r *roster) allDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, down := range r.down {
		if !down {
			return false
		}
	}
	return true
}
