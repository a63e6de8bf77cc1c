package balance

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// member is one origin and its state. It is kept for as long as configurations include it.
type member struct {
	g               *Group
	name, url       string
	transportConfig origin.TransportConfig // the configuration of transport
	hash            uint64
	transport       *origin.Transport
	gate            *origin.Gate
	metrics         memberMetrics

	cfg      atomic.Pointer[Config] // the current one
	drained  atomic.Bool
	inflight atomic.Int64 // exchanges whose body has not ended
	latency  ewma
	// since is the time when the member last became available, in Unix nanoseconds; 0 if it
	// was available from the start. until is the end of its ejection, 0 without one. down is
	// set while too few checks succeed.
	since, until atomic.Int64
	down         atomic.Bool

	record    record
	announced announcement
	checker   checker
	waiters   headWaiters
}

// newMember returns the ith member of a configuration, which must then be registered.
func newMember(g *Group, cfg *Config, i int) (*member, error) {
	m := &member{g: g, name: cfg.Members[i].Name, url: cfg.Members[i].URL, hash: hash(cfg.Members[i].Name), transportConfig: transportConfig(cfg, i)}
	tc := m.transportConfig
	tc.Metrics = cfg.Metrics
	var err error
	m.transport, err = origin.NewTransport(tc)
	return m, err
}

// register creates the series and the breaker of a new member.
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

// transportConfig returns the transport configuration of the ith member, for comparison.
func transportConfig(cfg *Config, i int) origin.TransportConfig {
	tc := cfg.Transport
	tc.Name, tc.Member, tc.URL, tc.Metrics = cfg.Name, cfg.Members[i].Name, cfg.Members[i].URL, nil
	if cfg.Members[i].TLS != nil {
		tc.TLS = cfg.Members[i].TLS
	}
	return tc
}

// matches reports whether the member can be kept as the ith of a configuration.
func (m *member) matches(cfg *Config, i int) bool {
	was, is := m.transportConfig, transportConfig(cfg, i)
	if !SameTLS(was.TLS, is.TLS) {
		return false
	}
	was.TLS, is.TLS = nil, nil
	return was == is && m.cfg.Load().Breaker == cfg.Breaker
}

// configure activates a configuration for the member, except its checks, and returns the
// configuration of the running checks.
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

// available reports whether the member may receive requests.
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
		m.notify("up", "drained", "requested")
		return
	}
	m.since.Store(time.Now().UnixNano())
	m.notify("drained", "up", "requested")
}

func (m *member) notify(from, to, why string) {
	if f := m.cfg.Load().OnStateChange; f != nil {
		f(m.name, from, to, why)
	}
}

// exchange sends q to the member and records the result. after, if not nil, is called at the
// end of the exchange.
func (m *member) exchange(ctx context.Context, q *origin.Outbound, permit origin.Permit, after func()) (*origin.Inbound, *origin.Fault) {
	start := time.Now()
	m.inflight.Add(1)
	in, f := m.transport.Exchange(ctx, q)
	now := time.Now()
	if f != nil {
		m.gate.Leave(permit, q, f, now)
		m.recordFault(f, now.Sub(start), now)
		if after != nil {
			after()
		}
		return nil, f
	}
	m.gate.Leave(permit, q, nil, now) // an answer proves that it is reachable
	m.recordHead(in.Status, now.Sub(start), now)
	if after == nil {
		in.Observe(m)
	} else {
		in.Observe(&observer{m, after})
	}
	return in, nil
}

// observer calls a function at the end of an exchange with a member.
type observer struct {
	*member
	after func()
}

func (o *observer) Ended(in *origin.Inbound, err error) {
	o.member.Ended(in, err)
	o.after()
}

// recordFault records an exchange that ended without an answer.
func (m *member) recordFault(f *origin.Fault, took time.Duration, now time.Time) {
	m.inflight.Add(-1)
	m.metrics.fault(f.Kind)
	if failure(f) {
		m.latency.observeFailure(took, now)
		m.recordFailure(now, f.Kind.String(), unreachable(f))
	}
}

// recordHead records the head of an answer.
func (m *member) recordHead(status int, took time.Duration, now time.Time) {
	m.metrics.head.Observe(took)
	m.metrics.answer(status)
	cfg := m.cfg.Load()
	if slices.Contains(cfg.Ejection.Statuses, status) {
		m.latency.observeFailure(took, now)
		return
	}
	m.latency.observe(took, now)
	if cfg.Hedge.Enabled {
		m.g.heads.observe(took, now)
	}
}

// Ended implements origin.Observer: it records the end of an answer's body.
func (m *member) Ended(in *origin.Inbound, err error) {
	m.inflight.Add(-1)
	now := time.Now()
	f, _ := err.(*origin.Fault)
	switch {
	case slices.Contains(m.cfg.Load().Ejection.Statuses, in.Status):
		m.recordFailure(now, "status "+strconv.Itoa(in.Status), false)
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

// unreachable reports whether a fault means that the member could not be reached.
func unreachable(f *origin.Fault) bool { return f.Kind == origin.Dial || f.Kind == origin.Reset }
