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

// server is one server: its lanes and whether it is down.
//
// down is set by whoever finds it silent, or counts the failure that is one too many, and
// taken back by the probe that follows. While it is set nobody dials but the probe;
// connections that are still there go on, and their replies change nothing.
type server struct {
	client  *Client
	at      *Server
	lanes   []*lane
	metrics *metrics

	down     atomic.Bool
	failures atomic.Int32 // in a row, since the last reply to a call
	protocol atomic.Uint32
	largest  atomic.Int64           // bytes of the largest item, 0 not known
	trouble  atomic.Pointer[string] // the last fault; nil none
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

// lane chooses a lane.
func (s *server) lane() *lane {
	if len(s.lanes) == 1 {
		return s.lanes[0]
	}
	return s.lanes[rand.IntN(len(s.lanes))]
}

// do makes the call, a second time if the connection went away without a reply.
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

// change makes a call that is no Get, and says what became of it.
func (s *server) change(x *Call) StoreResult {
	if wire.CheckKey(x.cmd.Key) != nil {
		x.stored = StoreBadKey
	} else {
		s.do(x)
	}
	s.metrics.stores[x.stored].Inc()
	return x.stored
}

// itemHead is what memcached adds to key and value of an item: its head of 48 bytes, CAS
// number, flags, the key's end and CRLF.
const itemHead = 48 + 8 + 4 + 1 + 2

func (s *server) tooLarge(key, value []byte) bool {
	n, most := int64(len(value)), s.largest.Load()
	return n > s.client.cfg.MaxValue || most > 0 && n+int64(len(key))+itemHead > most
}

// replied takes note of replies.
func (s *server) replied() {
	if s.failures.Load() != 0 {
		s.failures.Store(0)
	}
}

// failed counts one failure, however many calls waited, and tells whether the server is
// down for it: then the caller has to start a probe, when its lane is ready for what that
// brings. Who finds it silent takes it for down at once, since whoever came next would wait
// as long. While it is down the probe alone counts.
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

// setTrouble keeps what a failure was.
func (s *server) setTrouble(err error) {
	text := err.Error()
	s.trouble.Store(&text)
}

// isTimeout says whether a server has let the time pass.
func isTimeout(err error) bool {
	var e net.Error
	return errors.Is(err, errTimeout) || errors.As(err, &e) && e.Timeout()
}

// probe connects to a server that is down until it can, and then serves that connection.
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

// pause is how long a server that is down is left alone: not at all after the first
// failure, a sixteenth of RetryEvery after the second, twice as long after each more, up to
// RetryEvery. A server that lets itself be connected to, but then answers nothing, gets
// no further than one that is dead.
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

// jitter gives d, give or take a tenth, so that several nodes do not probe at once.
func jitter(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5+1) }
