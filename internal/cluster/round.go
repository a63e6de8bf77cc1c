package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// round is an own write in the protocol. It is used by one goroutine, except for result.
type round struct {
	node   *Node
	self   protocol.Instance // the membership in which the write began
	seq    uint64
	result chan error // what the protocol has decided; for Begin, then for Extend
}

// Begin implements cache.Coordinator.
func (n *Node) Begin(ctx context.Context, tags, unsure []cache.Tag) (cache.Round, error) {
	r, err := n.begin(ctx, tags, nil, unsure)
	if errors.Is(err, protocol.ErrIsolated) && n.cfg.PassIsolated {
		return passed{}, nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// begin begins a write and waits until all members have fenced tags, and carried out payload.
func (n *Node) begin(ctx context.Context, tags []cache.Tag, payload []byte, unsure []cache.Tag) (*round, error) {
	r := &round{node: n, result: make(chan error, 1)}
	start := time.Now()
	n.do(func(now protocol.Time) {
		n.opening, r.self = r, n.machine.Self()
		r.seq = n.machine.Begin(now, numbersOf(tags), payload, numbersOf(unsure)...)
		if n.opening != nil {
			n.rounds[r.seq], n.opening = r, nil
		}
	})
	select {
	case err := <-r.result:
		if err != nil {
			return nil, fmt.Errorf("%w: %w", cache.ErrIsolated, err)
		}
		n.times.round.Observe(time.Since(start))
		return r, nil
	case <-ctx.Done():
		r.Commit() // it was not sent
		return nil, context.Cause(ctx)
	}
}

// Allowed implements protocol.Host.
func (n *Node) Allowed(seq uint64) { n.decide(seq, nil, true) }

// Extended implements protocol.Host.
func (n *Node) Extended(seq uint64) { n.decide(seq, nil, true) }

// Failed implements protocol.Host.
func (n *Node) Failed(seq uint64, err error) { n.decide(seq, err, false) }

// decide gives a round its result. It is called with mu held, and may be called by Begin
// before that has returned the number.
func (n *Node) decide(seq uint64, err error, continues bool) {
	r := n.rounds[seq]
	if r == nil {
		if r = n.opening; r == nil {
			return // its client waits no longer
		}
		n.opening = nil
		n.rounds[seq] = r
	}
	if !continues {
		delete(n.rounds, seq)
	}
	select {
	case r.result <- err:
	default:
	}
}

// Sendable implements cache.Round. A write of an earlier membership can't be sent: the other
// members do not fence it any more.
func (r *round) Sendable() bool {
	n := r.node
	return protocol.Instance(n.self.Load()) == r.self && n.cache.Serves(n.cache.Now()) && r.trace()
}

// Extend implements cache.Round.
func (r *round) Extend(ctx context.Context, tags []cache.Tag) error {
	n := r.node
	n.do(func(now protocol.Time) {
		n.rounds[r.seq] = r
		n.machine.Extend(now, r.seq, numbersOf(tags))
	})
	select {
	case err := <-r.result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Commit implements cache.Round.
func (r *round) Commit() {
	n := r.node
	n.do(func(protocol.Time) {
		delete(n.rounds, r.seq)
		n.machine.Commit(r.seq)
	})
}

// Unknown implements cache.Round.
func (r *round) Unknown(tags []cache.Tag) {
	n := r.node
	n.do(func(now protocol.Time) {
		delete(n.rounds, r.seq)
		n.machine.Unknown(now, r.seq, numbersOf(tags))
	})
}

// passed is the round of a write that an isolated node lets through.
type passed struct{}

func (passed) Sendable() bool                            { return true }
func (passed) Extend(context.Context, []cache.Tag) error { return nil }
func (passed) Commit()                                   {}
func (passed) Unknown([]cache.Tag)                       {}

// Broadcast implements cache.Coordinator.
func (n *Node) Broadcast(ctx context.Context, message []byte) error {
	r, err := n.begin(ctx, nil, message, nil)
	if errors.Is(err, protocol.ErrIsolated) && n.cfg.PassIsolated {
		return nil
	}
	if err == nil {
		r.Commit()
	}
	return err
}
