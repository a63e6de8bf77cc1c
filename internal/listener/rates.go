package listener

import (
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rates bounds the requests of each client's address (each /64 of IPv6). The zero value sets
// no bound.
type Rates struct{ table *rateTable }

// With returns rates with a bound of so many requests per second, in bursts of one second's
// worth: r itself if it has that bound already. 0 is no bound.
func (r Rates) With(perSecond float64) Rates { return Rates{r.table.with(perSecond)} }

// Allow reports whether the client at ip may make another request. Conn.Allow is cheaper for
// a connection of one client.
func (r Rates) Allow(ip netip.Addr, now time.Time) bool {
	return r.table == nil || r.table.of(ip, now).AllowN(now, 1)
}

const (
	rateShards   = 64
	ratePerShard = 1024 // addresses; 64 Ki in all
)

// rateTable holds a limiter for each client address. It is bounded: when a shard is full,
// limiters whose burst is available again are dropped, because a new one would be equal, and
// others if that is not enough.
type rateTable struct {
	limit rate.Limit
	burst int
	seed  maphash.Seed
	shard [rateShards]rateShard
}

// rateShard's lock is taken once for each connection and table, and not for each request:
// connections keep their limiter.
type rateShard struct {
	mu   sync.Mutex
	byIP map[netip.Addr]*rate.Limiter
}

// with returns a table for the given rate: t itself if it has that rate.
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
	ip = Network(ip)
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

// sweep frees a quarter of a full shard, so that a flood of new addresses causes a sweep only
// now and then.
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
