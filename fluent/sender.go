package fluent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/forward"
)

// ErrKeyRequired is the Err of an Event if a server requires a shared key and the Logger has
// none: see WithSharedKey.
var ErrKeyRequired = forward.ErrKeyRequired

// sender delivers batches to one server. Its goroutine waits for its turn, takes a batch,
// connects, and lets a link send until that ends; then it starts again.
//
// A sender ends the ownership of a batch in exactly one of two ways: done if it was
// delivered, back in every other case, including the end of ctx.
type sender struct {
	d        *delivery
	o        *options
	source   source
	server   server
	rank     int
	forward  forward.Options
	breaker  breaker
	counters senderCounters
}

func newSender(d *delivery, s server, rank int) *sender {
	return &sender{
		d:       d,
		o:       d.o,
		server:  s,
		rank:    rank,
		forward: s.connection(d.o),
		breaker: breaker{threshold: d.o.breakerThreshold, backoff: backoff{d.o.retryBase, d.o.retryMax}},
	}
}

// run delivers until ctx ends.
func (s *sender) run(ctx context.Context) {
	for s.recover(ctx) == nil {
		turn, end, err := s.d.roster.turn(ctx, s.rank)
		if err != nil {
			return
		}
		s.attempt(ctx, turn)
		end()
	}
}

// attempt uses one connection, beginning with its first batch. turn ends when another server
// is to take the batches.
func (s *sender) attempt(ctx, turn context.Context) {
	b, err := s.source.next(turn)
	if err != nil {
		return
	}
	conn, err := forward.Dial(ctx, &s.forward)
	if err != nil {
		s.lost(ctx, []*batch{b}, err)
		return
	}
	s.counters.connections.Add(1)
	l := newLink(s, conn)
	left, err := l.run(ctx, turn, b)
	switch {
	case err != nil && !l.idleEnd(err):
		s.lost(ctx, left, err)
	case len(left) > 0:
		s.source.back(left, nil)
	}
}

// lost returns the batches of a failed attempt. The failure is counted before, so that
// goroutines woken by it see the server as down.
func (s *sender) lost(ctx context.Context, left []*batch, err error) {
	if ctx.Err() != nil { // not a failure
		s.source.back(left, context.Cause(ctx))
		return
	}
	err = s.failed(err)
	s.source.back(left, err)
}

// failed counts and reports a failure, and returns it with the server's name.
func (s *sender) failed(err error) error {
	err = fmt.Errorf("fluent: server %s: %w", s.server.name, err)
	s.counters.failures.Add(1)
	s.counters.lastError.Store(&err)
	tripped := s.breaker.failure()
	s.event(Fail, err)
	if tripped {
		s.d.roster.set(s.rank, true)
		s.event(Tripped, err)
	}
	return err
}

// succeeded records that the server has just proved to be up.
func (s *sender) succeeded() {
	if s.breaker.success() {
		s.d.roster.set(s.rank, false)
		s.event(Reset, nil)
	}
}

func (s *sender) event(kind EventKind, err error) {
	s.d.report(Event{Kind: kind, Time: time.Now(), Server: s.server.name, Err: err})
}

// delivered completes a batch that has arrived.
func (s *sender) delivered(b *batch) {
	s.counters.batches.Add(1)
	s.counters.records.Add(uint64(b.records))
	s.counters.bytes.Add(uint64(len(b.entries)))
	s.source.done(b)
	s.succeeded()
}

// recover waits until the next attempt may be made. Its error is ctx's.
func (s *sender) recover(ctx context.Context) error {
	if s.o.heartbeat != NoHeartbeat {
		if err := s.heartbeats(ctx); err != nil {
			return err
		}
	}
	if err := sleep(ctx, s.breaker.wait()); err != nil {
		return err
	}
	if s.breaker.now() == Open {
		s.breaker.probe()
		s.event(Ready, nil)
	}
	return nil
}

// ended reports whether err only means that a connection has ended. The operations "remote
// error" and "local error" are those of TLS, which contain a reason.
func ended(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &op) && op.Op != "remote error" && op.Op != "local error"
}
