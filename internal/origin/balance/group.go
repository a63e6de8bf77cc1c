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
	table   atomic.Pointer[table] // replaced by Reconfigure, never changed
	heads   quantile              // of the times to a head, for hedging
	metrics *metrics

	// changing serialises Reconfigure and Close. It is taken before mu and before a
	// member's mu.
	changing sync.Mutex
	closed   bool // guarded by changing

	mu sync.Mutex // guards the turns of seats, and who is ejected; leaf
}

// table is one configuration with its members.
type table struct {
	cfg     Config
	members []*member // in the order of cfg.Members
	shares  []share   // beside members
	budget  *origin.Budget
}

// share is what a member is in one configuration.
type share struct {
	weight float64
	credit float64 // what round_robin owes it; guarded by Group.mu
}

// Choice is what a request says about the members for it. The zero value leaves
// everything to the group.
type Choice struct {
	// Key decides with ConsistentHash; without one that takes members in turn.
	Key []byte
	// Allow says whether a member, by its index, may get the request at all, also in a
	// panic. Nil allows all.
	Allow func(member int) bool
	// Prefer lists members by their index that are taken before any other, in this
	// order, if they are available.
	Prefer []int
	// Names are the members that the indexes here mean, for whoever may have taken them
	// from another configuration than the one in force. Nil: they are from that one.
	Names []string
	// Attempts bounds the members asked; 0 means Config.Retry.Attempts.
	Attempts int
	// Hold has the body of an answer to a request that may be repeated read ahead: if it
	// breaks off meanwhile, that counts as no answer.
	Hold origin.Hold
	// Member, if not nil, is told the index of the member that answered or failed last,
	// and -1 if none was asked, or one that is not among Names.
	Member *int
}

// resolve is the choice with the indexes of t.
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

// report tells who asked which member of t it was in the end.
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

// ErrNone is the cause of a fault when no member may be asked.
var ErrNone = errors.New("no member is available")

// New checks cfg and makes a group. It connects to nothing but for the checks, which
// begin at once.
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

// share makes the table of a configuration. Members of old that are the same in it
// keep their place. On an error nothing has changed.
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

// budgetOf returns the budget that goes on, or a new one.
func (t *table) budgetOf(r *Retry) *origin.Budget {
	if t != nil && t.cfg.Retry.BudgetRatio == r.BudgetRatio && t.cfg.Retry.BudgetMin == r.BudgetMin {
		return t.budget
	}
	return origin.NewBudget(origin.Retry{BudgetRatio: r.BudgetRatio, BudgetMin: r.BudgetMin}, time.Now())
}

// find returns the member that goes on in a new configuration, or nil.
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

// start puts t in force and begins its checks. Nothing of it can fail. A check looks at
// the table, so that it begins when its member is in there; a request looks at the
// configuration of the member that it found there.
func (g *Group) start(t, old *table) {
	kept := map[*member]bool{}
	checks := make([]Check, len(t.members)) // those under way
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

// Reconfigure puts another configuration in force. Members that have the same name,
// URL and transport settings stay as they are, with their connections, their health
// and whether they are drained; requests under way go on with the members that they
// have. If there is an error, nothing has changed. The name can't be changed.
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

// Close ends the checks and drops the idle connections. Exchanges under way go on.
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

// Drain lets a member have no new requests, also in a panic, until Undrain. Those
// under way go on. It reports whether there is such a member.
func (g *Group) Drain(name string) bool { return g.drain(name, true) }

// Undrain takes a Drain back.
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

// Do sends q to a member and returns when the head of a final answer has come. If
// that fails it goes to another one, as far as Retry allows. The Fault is that of the
// last attempt; Reached is true if any of them may have been executed. The rules for
// q and the Inbound are those of origin.Transport. choice may be nil.
//
// With hedging, q.Interim may be called by other goroutines, but by one at a time and
// never after Do has returned.
func (g *Group) Do(ctx context.Context, q *origin.Outbound, choice *Choice) (*origin.Inbound, *origin.Fault) {
	if choice == nil {
		choice = &Choice{}
	}
	t := g.table.Load()
	t.budget.Deposit()
	r := request{g: g, t: t, ctx: ctx, q: q, choice: choice.resolve(t)}
	r.tried = r.space[:0]
	r.do()
	choice.report(t, r.at)
	return r.in, r.f
}
