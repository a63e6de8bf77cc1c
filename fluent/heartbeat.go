package fluent

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/forward"
)

// heartbeats waits until a server that is down answers a heartbeat. Its error is ctx's.
func (s *sender) heartbeats(ctx context.Context) error {
	for s.breaker.now() == Open {
		if err := sleep(ctx, s.o.heartbeatInterval); err != nil {
			return err
		}
		err := s.beat(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			_ = s.failed(fmt.Errorf("heartbeat: %w", err))
		default:
			s.succeeded()
		}
	}
	return nil
}

// beat tries the server without a batch.
func (s *sender) beat(ctx context.Context) error {
	if s.o.heartbeat == UDPHeartbeat {
		return s.beatUDP(ctx)
	}
	conn, err := forward.Dial(ctx, &s.forward)
	if err != nil {
		return err
	}
	return conn.Close()
}

// beatUDP sends a datagram and waits for any answer.
func (s *sender) beatUDP(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", s.server.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(s.o.beatTimeout())); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write([]byte{0}); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 128))
	return err
}

// beatTimeout returns the timeout of an answer by UDP: the round trip may be longer than the
// interval.
func (o *options) beatTimeout() time.Duration { return max(o.heartbeatInterval, o.dialTimeout) }
