package faults

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/glob"
)

// Request is a request as far as rules are concerned.
type Request struct {
	Operation string
	// Access is the operation's access to its tables.
	Access wire.Access
	// Items are the items that the request names, in order. An operation on a whole table has
	// one without a key.
	Items []Item
	// ARN returns the ARN of a table; nil if there are none.
	ARN func(table string) string
}

// Item is an item that a request names.
type Item struct {
	Table string
	// Key is the JSON text of the key, or of an item with it; nil if the request has none.
	Key []byte
}

// Tables returns the tables of all items, each once, in order.
func (r *Request) Tables() (names []string) {
	for _, i := range r.Items {
		if !slices.Contains(names, i.Table) {
			names = append(names, i.Table)
		}
	}
	return names
}

// kind returns the kind of access for a throttling reason.
func (r *Request) kind() string {
	if r.Access == wire.Read {
		return "Read"
	}
	return "Write"
}

// resource returns the ARN of the request's first table, empty if it has none.
func (r *Request) resource() string {
	if len(r.Items) == 0 || r.ARN == nil {
		return ""
	}
	return r.ARN(r.Items[0].Table)
}

// Decision is the fault of one request. The zero value is none.
type Decision struct {
	Delay, Hold time.Duration
	Error       *wire.Error
	Reset       bool
	Executed    bool
	// Unprocessed is the share of a batch's items to leave unprocessed; Leave selects them.
	Unprocessed float64
	draw        *rand.Rand
}

// Status is a rule with its counts.
type Status struct {
	Rule
	// Matched counts the requests that the rule selects, Injected those that it applied to.
	Matched  uint64 `json:"matched"`
	Injected uint64 `json:"injected"`
}

// Set decides about requests by a plan. Its methods may be called concurrently.
type Set struct {
	plan Plan

	mu    *sync.Mutex
	rules []*ruleState
}

// ruleState is a rule in use.
type ruleState struct {
	Rule
	key               []member
	random            *rand.Rand
	matched, injected uint64
}

// member is an attribute of a key in canonical form.
type member struct{ name, value []byte }

// New returns a Set for a plan that Check accepts.
func New(p Plan) *Set {
	s := &Set{plan: p, mu: new(sync.Mutex)}
	for i := range p.Rules {
		s.rules = append(s.rules, newRule(p.Rules[i], p.Seed, i))
	}
	return s
}

// newRule returns the rule with an index in a plan.
func newRule(rule Rule, seed int64, index int) *ruleState {
	rule.Name = cmp.Or(rule.Name, strconv.Itoa(index+1))
	r := &ruleState{Rule: rule, random: rand.New(rand.NewPCG(uint64(seed), uint64(index)))}
	for it := wire.Object(r.Key); it.Next(); {
		r.key = append(r.key, member{it.Name(), it.Value()})
	}
	return r
}

// With returns a Set with another rule at the end. The other rules are shared: their counts and
// their random decisions continue.
func (s *Set) With(r Rule) (*Set, error) {
	p := s.plan
	p.Rules = append(slices.Clone(p.Rules), r)
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &Set{plan: p, mu: s.mu, rules: append(slices.Clone(s.rules), newRule(p.Rules[len(s.rules)], p.Seed, len(s.rules)))}, nil
}

// Report is a plan with the counts of its rules.
type Report struct {
	Seed            int64          `json:"seed"`
	BypassCache     bool           `json:"bypass_cache"`
	EnforceCapacity bool           `json:"enforce_capacity,omitempty"`
	Conflicts       bool           `json:"transaction_conflicts,omitempty"`
	CollectionLimit int            `json:"item_collection_limit,omitempty"`
	EventualReads   *EventualReads `json:"eventual_reads,omitempty"`
	IndexLag        string         `json:"index_lag,omitempty"`
	Creating        string         `json:"creating,omitempty"`
	Updating        string         `json:"updating,omitempty"`
	Deleting        string         `json:"deleting,omitempty"`
	Rules           []Status       `json:"rules"`
	// Throttled counts the requests, and the items of batches, that were refused because of
	// EnforceCapacity.
	Throttled uint64 `json:"throttled,omitempty"`
}

// Report returns the plan with the counts of its rules.
func (s *Set) Report() Report {
	p := &s.plan
	return Report{Seed: p.Seed, BypassCache: !p.KeepCache, EnforceCapacity: p.EnforceCapacity, Conflicts: p.TransactionConflicts,
		CollectionLimit: p.ItemCollectionLimit,
		EventualReads:   p.EventualReads, IndexLag: text(p.IndexLag), Creating: text(p.Creating), Updating: text(p.Updating), Deleting: text(p.Deleting), Rules: s.Rules()}
}

// Lags reports whether eventually consistent reads of the table lag.
func (s *Set) Lags(table string) bool {
	e := s.plan.EventualReads
	return e != nil && (len(e.Tables) == 0 || e.Tables.match(table))
}

// Fails reports whether the request is answered by an error or not at all.
func (d *Decision) Fails() bool { return d.Error != nil || d.Reset }

// Plan returns the plan.
func (s *Set) Plan() Plan { return s.plan }

// Rules returns all rules with their counts.
func (s *Set) Rules() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Status, len(s.rules))
	for i, r := range s.rules {
		all[i] = Status{r.Rule, r.matched, r.injected}
	}
	return all
}

// Decide decides about a request. All rules are tried in order until one has an error, a reset
// or a share of unprocessed items; the delays of all that apply add up.
func (s *Set) Decide(r *Request) (d Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rule := range s.rules {
		if !rule.matches(r) || !rule.applies() {
			continue
		}
		if rule.Delay != nil {
			d.Delay += rule.draw(rule.Delay)
		}
		if rule.Hold != nil {
			d.Hold += rule.draw(rule.Hold)
		}
		if !rule.ends() {
			continue
		}
		d.Reset, d.Executed = rule.Reset, rule.Executed
		if rule.Error != nil {
			d.Error = rule.Error.answer(r)
		}
		if rule.Unprocessed > 0 {
			d.Unprocessed = rule.Unprocessed
			d.draw = rand.New(rand.NewPCG(rule.random.Uint64(), rule.random.Uint64()))
		}
		break
	}
	return d
}

// matches reports whether the rule selects the request. A rule with unprocessed items selects
// batches only.
func (r *ruleState) matches(q *Request) bool {
	if r.Unprocessed > 0 && q.Operation != "BatchGetItem" && q.Operation != "BatchWriteItem" {
		return false
	}
	if len(r.Operations) > 0 && !r.Operations.match(q.Operation) {
		return false
	}
	if len(r.Tables) == 0 && r.key == nil {
		return true
	}
	return slices.ContainsFunc(q.Items, func(i Item) bool {
		return (len(r.Tables) == 0 || r.Tables.match(i.Table)) && r.hasKey(i.Key)
	})
}

// applies counts a matching request and reports whether the rule applies to it.
func (r *ruleState) applies() bool {
	r.matched++
	n := r.matched
	if n <= uint64(r.After) || r.Count > 0 && r.injected >= uint64(r.Count) {
		return false
	}
	if r.Every > 1 && (n-uint64(r.After))%uint64(r.Every) != 0 {
		return false
	}
	if r.Probability != nil && r.random.Float64() >= *r.Probability {
		return false
	}
	r.injected++
	return true
}

// draw returns a time between the limits of d.
func (r *ruleState) draw(d *Delay) time.Duration {
	return d.Min + time.Duration(r.random.Int64N(int64(d.Max-d.Min)+1))
}

// hasKey reports whether an item has all attributes of the rule's key.
func (r *ruleState) hasKey(item []byte) bool {
	for _, m := range r.key {
		v, ok := wire.Lookup(item, string(m.name))
		if !ok {
			return false
		}
		same, ok := wire.AppendCanonical(nil, v)
		if !ok || !bytes.Equal(same, m.value) {
			return false
		}
	}
	return true
}

// Match reports whether there are no patterns, or one matches the name.
func (p Patterns) Match(name string) bool { return len(p) == 0 || p.match(name) }

// match reports whether a pattern matches the name.
func (p Patterns) match(name string) bool {
	return slices.ContainsFunc(p, func(pattern string) bool { return glob.Match(pattern, name) })
}

// matchesAny reports whether a pattern matches one of the names.
func (p Patterns) matchesAny(names []string) bool { return slices.ContainsFunc(names, p.match) }

// Leave selects the items of a batch of n that are left unprocessed.
func (d *Decision) Leave(n int) (left []bool) {
	left = make([]bool, n)
	if d.draw == nil {
		return left
	}
	k := n
	if d.Unprocessed < 1 {
		k = min(int(math.Ceil(d.Unprocessed*float64(n))), n-1)
	}
	for _, i := range d.draw.Perm(n)[:max(k, 0)] {
		left[i] = true
	}
	return left
}

// Text returns the rule as JSON.
func (r Rule) Text() string {
	text, err := json.Marshal(r)
	if err != nil {
		return err.Error() // not JSON in Key: the rule is not from Parse
	}
	return string(text)
}
