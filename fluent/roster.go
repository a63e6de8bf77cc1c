package fluent

import (
	"context"
	"slices"
	"sync"
)

// roster holds which servers are up, and thus which ones take batches: with failover the
// first server that is up, and the ones before it, which are down, to try them.
type roster struct {
	balance bool // all servers take batches

	mu      sync.Mutex
	down    []bool
	turns   []context.CancelFunc // of the current turns
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

// turn waits until it is the turn of the server at rank. The returned context ends with the
// turn or with ctx; the caller must cancel it.
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
	return r.balance || !slices.Contains(r.down[:rank], false)
}

// set sets the server at rank down or up, and ends the turns that are over.
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

// allDown reports whether no server is up.
func (r *roster) allDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.Contains(r.down, false)
}
