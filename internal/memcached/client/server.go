package client

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// server is one server, with its lanes and its state.
//
// down is set upon a timeout or the last of the allowed failures, and cleared by the probe
// that follows. While it is set only the probe dials; open connections remain in use, and
// their replies do not change it.
type server struct {
	client  *Client
	at      *Server
	lanes   []*lane
	metrics *metrics

	down     atomic.Bool
	failures atomic.Int32 // consecutive, since the last reply to a call
	protocol atomic.Uint32
	largest  atomic.Int64           // size of the largest item in bytes; 0: unknown
	trouble  atomic.Pointer[string] // the last fault; nil: none
}

func newServer(c *Client, at *Server) *server {
	s := &server{client: c, at: at}
	s.protocol.Store(uint32(c.cfg.Protocol))
	for range c.cfg.Connections {
		s.lanes = append(s.lanes, &lane{server: s})
	}
	s.metrics = newMetrics(c.cfg.Metrics, c.cfg.Name, at.Address)
	return s
}

func (s *server) meta() bool { return Protocol(s.protocol.Load()) == Meta }

// lane selects a lane.
func (s *server) lane() *lane {
	if len(s.lanes) == 1 {
		return s.lanes[0]
	}
	return s.lanes[rand.IntN(len(s.lanes))]
}

// do executes the call, and retries it once if the connection was closed without a reply.
func (s *server) do(x *Call) {
	s.try(x)
	if x.retry {
		s.metrics.retries.Inc()
		x.restart()
		s.try(x)
	}
}

func (s *server) try(x *Call) {
	if s.down.Load() {
		x.result, x.stored = Down, StoreDown
		return
	}
	l := s.lane()
	l.enqueue(x)
	x.await(l)
}

// change executes a call other than Get and returns its outcome.
func (s *server) change(x *Call) StoreResult {
	if wire.CheckKey(x.cmd.Key) != nil {
		x.stored = StoreBadKey
	} else {
		s.do(x)
	}
	s.metrics.stores[x.stored].Inc()
	return x.stored
}

// itemHead is memcached's overhead for an item: a head of 48 bytes, the CAS number, the
// flags, the key's terminator and CRLF.
const itemHead = 48 + 8 + 4 + 1 + 2

func (s *server) tooLarge(key, value []byte) bool {
	n, limit := int64(len(value)), s.largest.Load()
	return n > s.client.cfg.MaxValue || limit > 0 && n+int64(len(key))+itemHead > limit
}

// replied records a reply.
func (s *server) replied() {
	if s.failures.Load() != 0 {
		s.failures.Store(0)
	}
}

// failed counts one failure for all calls that waited, and reports whether it marks the
// server down: then the caller starts a probe once its lane is ready for the result. A
// timeout marks it at once, because the next call would wait as long. While it is down only
// the probe counts.
func (s *server) failed(err error) (down bool) {
	s.setTrouble(err)
	if s.down.Load() {
		return false
	}
	n := int(s.failures.Add(1))
	if !isTimeout(err) && n < s.client.cfg.Breaker.Failures || !s.down.CompareAndSwap(false, true) {
		return false
	}
	s.metrics.downed.Inc()
	s.client.cfg.Log.Warn("memcached server down, its keys are misses", slog.String("server", s.at.Address), slog.String("why", err.Error()))
	return true
}

// setTrouble records the last failure.
func (s *server) setTrouble(err error) {
	text := err.Error()
	s.trouble.Store(&text)
}

// isTimeout reports whether a failure is a timeout.
func isTimeout(err error) bool {
	var e net.Error
	return errors.Is(err, errTimeout) || errors.As(err, &e) && e.Timeout()
}

// probe dials a server that is down until it succeeds, and then serves that connection.
func (s *server) probe() {
	for s.client.sleep(jitter(s.pause())) {
		c, err := s.connect()
		if err != nil {
			s.failures.Add(1)
			s.setTrouble(err)
			continue
		}
		s.down.Store(false)
		s.client.cfg.Log.Info("memcached server up again", slog.String("server", s.at.Address))
		s.lanes[0].adopt(c)
		return
	}
}

// pause returns the pause before the next probe: none after the first failure, a sixteenth
// of RetryEvery after the second, and twice as long after each further one, up to
// RetryEvery. A server that accepts connections but never replies is treated like a dead
// one.
func (s *server) pause() time.Duration {
	n, longest := int(s.failures.Load()), s.client.cfg.Breaker.RetryEvery
	switch {
	case n < 2:
		return 0
	case n < 6:
		return longest >> (6 - n)
	}
	return longest
}

// jitter returns d, give or take a tenth, so that several nodes do not probe at once.
func jitter(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5+1) }
