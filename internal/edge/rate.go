package edge

import (
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/listener"
)

const (
	rateShards   = 64
	ratePerShard = 1024 // addresses; 64 Ki in all
)

// rateTable holds a limiter for each client address. It is bounded: when a
// shard is full, limiters that are full again are dropped, for they know
// nothing that a new one would not, and others if that is not enough.
type rateTable struct {
	limit rate.Limit
	burst int
	seed  maphash.Seed
	shard [rateShards]rateShard
}

// rateShard's lock is taken once for each connection and table, not for each
// request: connections keep their limiter.
type rateShard struct {
	mu   sync.Mutex
	byIP map[netip.Addr]*rate.Limiter
}

// with returns a table for the given rate: t itself if that is its rate.
func (t *rateTable) with(perSecond float64) *rateTable {
	if perSecond <= 0 {
		return nil
	}
	if t != nil && t.limit == rate.Limit(perSecond) {
		return t
	}
	return &rateTable{limit: rate.Limit(perSecond), burst: int(math.Ceil(perSecond)), seed: maphash.MakeSeed()}
}

// of returns the limiter of an address.
func (t *rateTable) of(ip netip.Addr, now time.Time) *rate.Limiter {
	ip = listener.Network(ip)
	s := &t.shard[maphash.Comparable(t.seed, ip)%rateShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byIP[ip]; l != nil {
		return l
	}
	if s.byIP == nil {
		s.byIP = make(map[netip.Addr]*rate.Limiter)
	}
	if len(s.byIP) >= ratePerShard {
		s.sweep(now, float64(t.burst))
	}
	l := rate.NewLimiter(t.limit, t.burst)
	s.byIP[ip] = l
	return l
}

// sweep makes room in a full shard: a quarter of it, so that a flood of new
// addresses pays for a sweep only every now and then.
func (s *rateShard) sweep(now time.Time, full float64) {
	for ip, l := range s.byIP {
		if l.TokensAt(now) >= full {
			delete(s.byIP, ip)
		}
	}
	for ip := range s.byIP {
		if len(s.byIP) <= ratePerShard*3/4 {
			return
		}
		delete(s.byIP, ip)
	}
}

// allowed says whether the client may ask once more. Clients of a Unix socket
// have no address and no limit.
func (c *conn) allowed(x *Exchange) bool {
	if !c.client.IsValid() {
		return true
	}
	if t := x.set.rate; c.table != t {
		c.table, c.rate = t, t.of(c.client.Addr(), x.start)
	}
	return c.rate.AllowN(x.start, 1)
}
