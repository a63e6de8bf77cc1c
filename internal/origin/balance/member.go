package balance

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// member is one origin with all that is known of it. It lives as long as
// configurations name it.
type member struct {
	g               *Group
	name, url       string
	transportConfig origin.TransportConfig // what transport was made from
	hash            uint64
	transport       *origin.Transport
	gate            *origin.Gate
	metrics         memberMetrics

	cfg      atomic.Pointer[Config] // that in force
	drained  atomic.Bool
	inflight atomic.Int64 // until the body has ended
	latency  ewma
	// since is when the member last became available, in Unix nanoseconds; 0 if it was
	// so from the start. until is when its ejection ends, 0 without one. down is set
	// while too few checks are good.
	since, until atomic.Int64
	down         atomic.Bool

	record    record
	announced announcement
	checker   checker
	waiters   headWaiters
}

// newMember makes the ith member of a configuration, which enlist puts in force.
func newMember(g *Group, cfg *Config, i int) (*member, error) {
	m := &member{g: g, name: cfg.Members[i].Name, url: cfg.Members[i].URL, hash: hash(cfg.Members[i].Name), transportConfig: transportConfig(cfg, i)}
	tc := m.transportConfig
	tc.Metrics = cfg.Metrics
	var err error
	m.transport, err = origin.NewTransport(tc)
	return m, err
}

// register gives a new member its series and its breaker.
func (m *member) register(cfg *Config) {
	m.metrics = newMemberMetrics(cfg.Metrics, cfg.Name, m.name)
	m.gate = origin.NewGate(cfg.Breaker, m.metrics.opened, func(from, to string) {
		if to == "open" {
			m.notify("up", "broken", "its circuit breaker has opened")
		} else if to == "closed" {
			m.notify("broken", "up", "its circuit breaker has closed")
		}
	})
	m.gate.Guard(m.transport)
	m.watch(cfg.Metrics, cfg.Name)
}

// transportConfig is the transport configuration of a member, to compare.
func transportConfig(cfg *Config, i int) origin.TransportConfig {
	tc := cfg.Transport
	tc.Name, tc.Member, tc.URL, tc.Metrics = cfg.Name, cfg.Members[i].Name, cfg.Members[i].URL, nil
	if cfg.Members[i].TLS != nil {
		tc.TLS = cfg.Members[i].TLS
	}
	return tc
}

// matches says whether the member goes on as the ith of a configuration.
func (m *member) matches(cfg *Config, i int) bool {
	was, is := m.transportConfig, transportConfig(cfg, i)
	if !sameTLS(was.TLS, is.TLS) {
		return false
	}
	was.TLS, is.TLS = nil, nil
	return was == is && m.cfg.Load().Breaker == cfg.Breaker
}

// configure puts a configuration in force for the member, but for its checks, and
// returns those under way.
func (m *member) configure(cfg *Config) (checks Check) {
	if before := m.cfg.Swap(cfg); before != nil {
		checks = before.Check
	}
	return checks
}

func (m *member) close() {
	m.checker.stop()
	m.record.close()
	m.transport.Close()
}

// available says whether the member may get requests.
func (m *member) available(now time.Time) bool {
	return !m.drained.Load() && !m.down.Load() && !m.ejected(now)
}

func (m *member) ejected(now time.Time) bool {
	until := m.until.Load()
	return until != 0 && now.UnixNano() < until
}

func (m *member) drain(on bool) {
	if m.drained.Swap(on) == on {
		return
	}
	if on {
		m.notify("up", "drained", "asked to")
		return
	}
	m.since.Store(time.Now().UnixNano())
	m.notify("drained", "up", "asked to")
}

func (m *member) notify(from, to, why string) {
	if f := m.cfg.Load().OnStateChange; f != nil {
		f(m.name, from, to, why)
	}
}

// exchange sends q to the member and keeps the books about it. after, if not nil, is
// called when the exchange is over.
func (m *member) exchange(ctx context.Context, q *origin.Outbound, pass origin.Permit, after func()) (*origin.Inbound, *origin.Fault) {
	start := time.Now()
	m.inflight.Add(1)
	in, f := m.transport.Exchange(ctx, q)
	now := time.Now()
	if f != nil {
		m.gate.Leave(pass, q, f, now)
		m.recordFault(f, now.Sub(start), now)
		if after != nil {
			after()
		}
		return nil, f
	}
	m.gate.Leave(pass, q, nil, now) // it answers
	bad := m.recordHead(in.Status, now.Sub(start), now)
	in.OnEnd(func(err error) {
		m.recordEnd(in.Status, bad, err)
		if after != nil {
			after()
		}
	})
	return in, nil
}

// recordFault keeps the books about an exchange without an answer.
func (m *member) recordFault(f *origin.Fault, took time.Duration, now time.Time) {
	m.inflight.Add(-1)
	m.metrics.fault(f.Kind)
	if failure(f) {
		m.latency.observeFailure(took, now)
		m.recordFailure(now, f.Kind.String(), unreachable(f))
	}
}

// recordHead keeps the books about a head. bad says that it is one of failure.
func (m *member) recordHead(status int, took time.Duration, now time.Time) (bad bool) {
	m.metrics.head.Observe(took)
	m.metrics.answered[status/100].Inc()
	cfg := m.cfg.Load()
	if bad = slices.Contains(cfg.Ejection.Statuses, status); bad {
		m.latency.observeFailure(took, now)
		return true
	}
	m.latency.observe(took, now)
	if cfg.Hedge.Enabled {
		m.g.heads.observe(took, now)
	}
	return false
}

// recordEnd keeps the books about an exchange whose body has ended.
func (m *member) recordEnd(status int, bad bool, err error) {
	m.inflight.Add(-1)
	now := time.Now()
	f, _ := err.(*origin.Fault)
	switch {
	case bad:
		m.recordFailure(now, "status "+strconv.Itoa(status), false)
	case f != nil && failure(f):
		m.metrics.cut.Inc()
		m.recordFailure(now, f.Kind.String()+" within a body", unreachable(f))
	default:
		m.recordSuccess(now)
	}
}

// failure reports whether a fault counts towards an ejection.
func failure(f *origin.Fault) bool {
	switch f.Kind {
	case origin.Dial, origin.Reset, origin.Timeout, origin.Garbage:
		return true
	}
	return false
}

// unreachable tells whether a fault is that nobody was there.
func unreachable(f *origin.Fault) bool { return f.Kind == origin.Dial || f.Kind == origin.Reset }
