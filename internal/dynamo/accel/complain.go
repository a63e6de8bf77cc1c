package accel

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// complainEvery is how often a failing origin is told of in the log.
const complainEvery = 10 * time.Second

// complaints keeps an origin that is away from filling the log: the first request
// that fails is told at once, then one in complainEvery, with the number of those
// that were left out. Whoever moves next is the one to tell.
type complaints struct {
	next atomic.Int64 // on the cache's clock
	left atomic.Uint64
}

// complain logs why the origin could not be asked. A client that went away is no
// fault of it.
func (c *call) complain(err error) {
	f, isFault := errors.AsType[*origin.Fault](err)
	if isFault && f.Kind == origin.Canceled || errors.Is(err, context.Canceled) {
		return
	}
	s := c.svc
	now, next := s.cache.Now(), s.complaints.next.Load()
	if now < next || !s.complaints.next.CompareAndSwap(next, now+int64(complainEvery)) {
		s.complaints.left.Add(1)
		return
	}
	s.log.Warn("the origin failed a request", slog.String("operation", c.op.Name),
		slog.String("request_id", string(c.x.Record.RequestID)), slog.Any("error", err),
		slog.Uint64("others_since_last", s.complaints.left.Swap(0)))
}

// breakerMoved logs that the origin is left alone from now on, or asked again.
func (s *Service) breakerMoved(from, to string) {
	level := slog.LevelInfo
	if to == "open" {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "the origin's circuit breaker moved", slog.String("from", from), slog.String("to", to))
}
