package balance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// Group is a group of origins. It is safe for concurrent use.
type Group struct {
	table   atomic.Pointer[table] // replaced by Reconfigure, never modified
	heads   quantile              // times to a head, for hedging
	metrics *metrics

	// changing serialises Reconfigure and Close. It is taken before mu and before a member's
	// mu.
	changing sync.Mutex
	closed   bool // guarded by changing

	mu sync.Mutex // guards share.credit and the admission of ejections; leaf
}

// table is one configuration with its members.
type table struct {
	cfg     Config
	members []*member // in the order of cfg.Members
	shares  []share   // same indexes as members
	budget  *origin.Budget
}

// share is a member's share of the requests in one configuration.
type share struct {
	weight float64
	credit float64 // credit of smooth weighted round robin; guarded by Group.mu
}

// Choice restricts and orders the members for a request. The zero value leaves the choice to
// the group.
type Choice struct {
	// Key selects the member with ConsistentHash. Without a key that uses round robin.
	Key []byte
	// Allow reports whether a member, by its index, may receive the request, even in a
	// panic. Nil allows all.
	Allow func(member int) bool
	// Prefer lists the indexes of members that are chosen before any other, in this order,
	// if they are available.
	Prefer []int
	// Names are the names of the members to which the indexes refer, for callers that may
	// have them from an older configuration. Nil means the current one.
	Names []string
	// Attempts bounds the number of members tried; 0 means Config.Retry.Attempts.
	Attempts int
	// Hold configures reading ahead the body of an answer to a repeatable request. If the
	// body breaks off meanwhile, the request is retried.
	Hold origin.Hold
	// Member, if not nil, is set to the index of the member that answered or failed last,
	// and to -1 if none was tried or if it is not among Names.
	Member *int
}

// resolve returns the choice with the member indexes of t.
func (c *Choice) resolve(t *table) *Choice {
	if c.Names == nil || slices.EqualFunc(t.members, c.Names, (*member).called) {
		return c
	}
	d := &Choice{Key: c.Key, Attempts: c.Attempts, Hold: c.Hold}
	for _, i := range c.Prefer {
		if at := slices.IndexFunc(t.members, func(m *member) bool { return m.called(c.Names[i]) }); at >= 0 {
			d.Prefer = append(d.Prefer, at)
		}
	}
	if c.Allow != nil {
		d.Allow = func(i int) bool {
			at := slices.Index(c.Names, t.members[i].name)
			return at >= 0 && c.Allow(at)
		}
	}
	return d
}

// report sets Member to the member of t at the index.
func (c *Choice) report(t *table, at int) {
	switch {
	case c.Member == nil:
	case at < 0 || c.Names == nil:
		*c.Member = at
	default:
		*c.Member = slices.Index(c.Names, t.members[at].name)
	}
}

func (m *member) called(name string) bool { return m.name == name }

// ErrNone is the cause of a fault if no member is available.
var ErrNone = errors.New("no member is available")

// New validates cfg and returns a group. Active checks begin at once; no other connections
// are made yet.
func New(cfg Config) (*Group, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	g := &Group{
		metrics: newMetrics(cfg.Metrics, cfg.Name),
	}
	t, err := g.newTable(cfg, nil)
	if err != nil {
		return nil, err
	}
	g.start(t, nil)
	return g, nil
}

// newTable returns the table of a configuration. Members of old that are unchanged in it are
// reused. On an error nothing has changed.
func (g *Group) newTable(cfg Config, old *table) (*table, error) {
	t := &table{cfg: cfg, budget: old.budgetOf(&cfg.Retry)}
	for i := range cfg.Members {
		m := old.find(&cfg, i)
		if m == nil {
			var err error
			if m, err = newMember(g, &cfg, i); err != nil {
				return nil, fmt.Errorf("group %s: %w", cfg.Name, err)
			}
			if old != nil {
				m.since.Store(time.Now().UnixNano())
			}
		}
		t.members = append(t.members, m)
		t.shares = append(t.shares, share{weight: cfg.Members[i].Weight})
	}
	return t, nil
}

// budgetOf returns t's budget if its configuration is unchanged, or a new one.
func (t *table) budgetOf(r *Retry) *origin.Budget {
	if t != nil && t.cfg.Retry.BudgetRatio == r.BudgetRatio && t.cfg.Retry.BudgetMin == r.BudgetMin {
		return t.budget
	}
	return origin.NewBudget(origin.Retry{BudgetRatio: r.BudgetRatio, BudgetMin: r.BudgetMin}, time.Now())
}

// find returns the member of t that matches the ith of a new configuration, or nil.
func (t *table) find(cfg *Config, i int) *member {
	if t == nil {
		return nil
	}
	for _, m := range t.members {
		if m.matches(cfg, i) {
			return m
		}
	}
	return nil
}

// start activates t and begins its checks. It can't fail. A check uses the table, so it
// begins only when its member is in it; a request uses the configuration of its member.
func (g *Group) start(t, old *table) {
	kept := map[*member]bool{}
	checks := make([]Check, len(t.members)) // the running ones
	for i, m := range t.members {
		kept[m] = true
		if m.gate == nil {
			m.register(&t.cfg)
		}
		checks[i] = m.configure(&t.cfg)
	}
	g.table.Store(t)
	for i, m := range t.members {
		if checks[i] != t.cfg.Check {
			m.checker.stop()
			m.checker.start(m, t.cfg.Check)
		}
	}
	if old == nil {
		return
	}
	names := map[string]bool{}
	for i := range t.cfg.Members {
		names[t.cfg.Members[i].Name] = true
	}
	for _, m := range old.members {
		if !kept[m] {
			m.close()
			if !names[m.name] {
				t.cfg.Metrics.Unregister("service", t.cfg.Name, "member", m.name)
			}
		}
	}
}

// Reconfigure activates another configuration. Members with unchanged name, URL and
// transport settings are kept, with their connections, health and drained state; requests in
// flight continue with the members they have. On an error nothing has changed. The name of a
// group can't be changed.
func (g *Group) Reconfigure(cfg Config) error {
	if err := cfg.complete(); err != nil {
		return err
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	old := g.table.Load()
	switch {
	case g.closed:
		return errors.New("the group is closed")
	case cfg.Name != old.cfg.Name:
		return fmt.Errorf("group %s can't become %s", old.cfg.Name, cfg.Name)
	}
	t, err := g.newTable(cfg, old)
	if err != nil {
		return err
	}
	g.start(t, old)
	return nil
}

// Close ends the checks and closes the idle connections. Exchanges in flight continue.
func (g *Group) Close() {
	g.changing.Lock()
	defer g.changing.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	for _, m := range g.table.Load().members {
		m.close()
	}
}

// Drain excludes a member from new requests, even in a panic, until Undrain. Requests in
// flight continue. It reports whether the member exists.
func (g *Group) Drain(name string) bool { return g.drain(name, true) }

// Undrain reverts Drain.
func (g *Group) Undrain(name string) bool { return g.drain(name, false) }

func (g *Group) drain(name string, on bool) bool {
	for _, m := range g.table.Load().members {
		if m.name == name {
			m.drain(on)
			return true
		}
	}
	return false
}

// Do sends q to a member and returns once the head of a final answer has arrived. If that
// fails it tries other members, as far as Retry allows. The Fault is that of the last
// attempt; its Reached is true if any member may have executed the request. The rules for q
// and the Inbound are those of origin.Transport. choice may be nil.
//
// With hedging, q.Interim may be called by other goroutines, but never concurrently and
// never after Do has returned.
func (g *Group) Do(ctx context.Context, q *origin.Outbound, choice *Choice) (*origin.Inbound, *origin.Fault) {
	if choice == nil {
		choice = &Choice{}
	}
	t := g.table.Load()
	t.budget.Deposit()
	r := requests.Get().(*request)
	*r = request{g: g, t: t, ctx: ctx, q: q, choice: choice.resolve(t)}
	r.tried = r.space[:0]
	r.do()
	choice.report(t, r.at)
	in, f := r.in, r.f
	*r = request{}
	requests.Put(r)
	return in, f
}

// requests are requests whose memory is used again. Nothing refers to them after do.
var requests = sync.Pool{New: func() any { return new(request) }}
