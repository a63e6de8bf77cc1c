package faults

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Limits of plans.
const (
	// MaxPlan is the maximum length of the JSON of a plan.
	MaxPlan  = 1 << 20
	maxRules = 100
	maxDelay = time.Minute
	maxLag   = 10 * time.Minute
)

// Parse reads a plan. It returns all mistakes as one error.
func Parse(text []byte) (Plan, error) {
	var p Plan
	err := p.UnmarshalJSON(text)
	return p, err
}

// patterns reads a pattern or a list of them.
func (v *input) patterns() (p Patterns) {
	values := []*input{v}
	if wire.Kind(v.text) != '"' {
		values = v.list()
	}
	for _, e := range values {
		s := e.word()
		if s == "" {
			e.wrong("a pattern must not be empty")
		}
		p = append(p, s)
	}
	return p
}

func (v *input) plan() (p Plan) {
	v.members(map[string]func(*input){
		"eventual_reads":        func(m *input) { e := m.eventualReads(); p.EventualReads = &e },
		"transaction_conflicts": func(m *input) { p.TransactionConflicts = m.flag() },
		"item_collection_limit": func(m *input) { p.ItemCollectionLimit = m.count(1) },
		"creating":              func(m *input) { p.Creating = m.duration(maxLag) },
		"updating":              func(m *input) { p.Updating = m.duration(maxLag) },
		"deleting":              func(m *input) { p.Deleting = m.duration(maxLag) },
		"index_lag":             func(m *input) { p.IndexLag = m.duration(maxLag) },
		"seed":                  func(m *input) { m.into(&p.Seed, "whole number") },
		"rules":                 func(m *input) { p.Rules = m.rules() },
		"enforce_capacity":      func(m *input) { p.EnforceCapacity = m.flag() },
		"bypass_cache":          func(m *input) { p.KeepCache = !m.flag() },
	})
	if p.KeepCache && (p.EventualReads != nil || p.IndexLag > 0) {
		v.wrong("bypass_cache: reads that lag must not be cached: leave it out, or true")
	}
	return p
}

func (v *input) eventualReads() (e EventualReads) {
	v.members(map[string]func(*input){
		"lag":    func(m *input) { e.Lag = m.duration(maxLag) },
		"tables": func(m *input) { e.Tables = m.patterns() },
	})
	if e.Lag == 0 {
		v.wrong("lag is missing")
	}
	return e
}

func (v *input) rules() (rules []Rule) {
	all := v.list()
	if len(all) > maxRules {
		v.wrong("%d rules are above the maximum %d", len(all), maxRules)
		return nil
	}
	names := map[string]bool{}
	for i, e := range all {
		r := e.rule()
		name := cmp.Or(r.Name, strconv.Itoa(i+1))
		if names[name] {
			e.wrong("there are two rules called %q", name)
		}
		names[name] = true
		rules = append(rules, r)
	}
	return rules
}

// ParseRule reads one rule.
func ParseRule(text []byte) (r Rule, err error) {
	err = unmarshal(text, func(v *input) { r = v.rule() })
	return r, err
}

func (v *input) rule() (r Rule) {
	noted := len(*v.mistakes)
	v.members(map[string]func(*input){
		"name":        func(m *input) { r.Name = m.word() },
		"operations":  func(m *input) { r.Operations = m.operations() },
		"tables":      func(m *input) { r.Tables = m.patterns() },
		"key":         func(m *input) { r.Key = m.key() },
		"probability": func(m *input) { p := m.share(); r.Probability = &p },
		"after":       func(m *input) { r.After = m.count(0) },
		"every":       func(m *input) { r.Every = m.count(1) },
		"count":       func(m *input) { r.Count = m.count(1) },
		"delay":       func(m *input) { d := m.delay(); r.Delay = &d },
		"hold":        func(m *input) { d := m.delay(); r.Hold = &d },
		"error":       func(m *input) { e := m.error(); r.Error = &e },
		"reset":       func(m *input) { r.Reset = m.flag() },
		"executed":    func(m *input) { r.Executed = m.flag() },
		"unprocessed": func(m *input) { r.Unprocessed = m.share() },
	})
	if len(*v.mistakes) > noted {
		return r
	}
	switch {
	case !r.ends() && r.Delay == nil && r.Hold == nil:
		v.wrong("nothing happens: give an error, a reset, a delay, a hold or a share unprocessed")
	case r.Error != nil && r.Reset:
		v.wrong("error and reset exclude each other")
	case r.Unprocessed > 0 && (r.Error != nil || r.Reset):
		v.wrong("unprocessed excludes error and reset")
	case r.Executed && r.Error == nil && !r.Reset:
		v.wrong("executed is for rules with an error or a reset")
	}
	return r
}

// operations reads patterns, each of which must match an operation.
func (v *input) operations() Patterns {
	noted := len(*v.mistakes)
	all := v.patterns()
	if len(*v.mistakes) > noted {
		return all
	}
	for _, p := range all {
		if one := (Patterns{p}); !one.matchesAny(operationNames) {
			v.wrong("%q matches no operation%s", p, meant(p, operationNames))
		}
	}
	return all
}

// key reads attribute values and returns them in canonical form.
func (v *input) key() json.RawMessage {
	count := 0
	for it := wire.Object(v.text); it.Next(); count++ {
		one := wire.Object(it.Value())
		if !one.Next() || !slices.Contains([]string{"S", "N", "B"}, string(one.Name())) || wire.Kind(one.Value()) != '"' || one.Next() {
			v.wrong(`%s is no value of a key such as {"S":"a"}`, excerpt(it.Value()))
			return nil
		}
	}
	canonical, ok := wire.AppendCanonical(nil, v.text)
	if !ok || count == 0 {
		v.wrong(`%s is no key such as {"id":{"S":"a"}}`, excerpt(v.text))
		return nil
	}
	return canonical
}

func (v *input) delay() (d Delay) {
	if wire.Kind(v.text) == '"' {
		d.Min = v.duration(maxDelay)
		d.Max = d.Min
		return d
	}
	v.members(map[string]func(*input){
		"min": func(m *input) { d.Min = m.duration(maxDelay) },
		"max": func(m *input) { d.Max = m.duration(maxDelay) },
	})
	if d.Max < d.Min {
		v.wrong("max is less than min")
	}
	return d
}
