package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// setFaults sets the faults of the embedded store of the built-in configuration to the plan in a file,
// if one is given.
func (n *Node) setFaults(env *Environment, file string) error {
	if file == "" {
		return nil
	}
	text, err := readPlan(env, file)
	if err != nil {
		return fmt.Errorf("--faults %w", err)
	}
	for _, st := range n.embeddedStores() { // one
		if err := st.SetFaults(n.hard, text); err != nil {
			return fmt.Errorf("--faults %s: %w", file, err)
		}
	}
	return nil
}

// noFaults refuses faults for stores of namespaces, which are closed while they are idle.
type noFaults struct{}

var errNoFaults = fmt.Errorf("%w: a service with namespaces: key has no faults", admin.ErrInput)

// SetFaults implements admin.Store.
func (noFaults) SetFaults(context.Context, json.RawMessage) error { return errNoFaults }

// AddFault implements admin.Store.
func (noFaults) AddFault(context.Context, json.RawMessage) error { return errNoFaults }

// SplitShards implements admin.Store.
func (noFaults) SplitShards(context.Context, []string) (int, error) { return 0, errNoFaults }

// Faults implements admin.Store.
func (noFaults) Faults(context.Context) (json.RawMessage, error) { return nil, errNoFaults }

// SetFaults implements admin.Store.
func (a *storeAdmin) SetFaults(ctx context.Context, text json.RawMessage) error {
	p, err := faults.Parse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	return a.changeFaults(ctx, !p.Empty() && !p.KeepCache, func() error { return a.store.SetFaults(p) })
}

// AddFault implements admin.Store.
func (a *storeAdmin) AddFault(ctx context.Context, text json.RawMessage) error {
	r, err := faults.ParseRule(text)
	if err != nil {
		return fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	set := a.store.Faults() // without rules there are none, and the cache is bypassed
	err = a.changeFaults(ctx, set.BypassCache || len(set.Rules) == 0, func() error { return a.store.AddFault(r) })
	if err != nil {
		return fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	return nil
}

// SplitShards implements admin.Store.
func (a *storeAdmin) SplitShards(_ context.Context, tables []string) (int, error) {
	n, err := a.store.SplitShards(tables)
	switch {
	case err == nil && n == 0:
		return 0, fmt.Errorf("%w: no such table has a stream that is enabled", admin.ErrInput)
	case errors.Is(err, embedded.ErrShards):
		return 0, fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	return n, err
}

// Faults implements admin.Store.
func (a *storeAdmin) Faults(context.Context) (json.RawMessage, error) {
	return json.Marshal(a.store.Faults())
}

// changeFaults calls change and exposes the counts of the rules. If the caches in front of the
// store are bypassed before or after it, they are emptied.
func (a *storeAdmin) changeFaults(ctx context.Context, bypass bool, change func() error) error {
	before := a.store.Faults().Rules
	if bypass != a.store.BypassCache() {
		for _, s := range a.sharing {
			change = within(ctx, s, change)
		}
	}
	if err := change(); err != nil {
		return err
	}
	for _, r := range before {
		a.registry.Unregister("service", a.name, "rule", r.Name)
	}
	for i, r := range a.store.Faults().Rules {
		exposeFaults(a.registry, a.name, r.Name, func() float64 { return a.injected(i, r.Name) })
	}
	return nil
}

// exposeFaults registers the number of faults by a rule, or by a mode of the plan.
func exposeFaults(r *telemetry.Registry, service, rule string, count func() float64) {
	r.CounterFunc("kasoku_store_faults_total",
		"Requests to the embedded store with a fault, by the rule that injected it, or as enforce_capacity. Rules begin at 0 when a plan is set.",
		count, "service", service, "rule", rule)
}

// within returns a function that calls change while nothing is stored in the cache of a service,
// and then empties it.
func within(ctx context.Context, s *accel.Service, change func() error) func() error {
	return func() error { return s.Replace(ctx, change) }
}

// injected returns the number of faults by the rule with an index and a name.
func (a *storeAdmin) injected(i int, name string) float64 {
	if all := a.store.Faults().Rules; i < len(all) && all[i].Name == name {
		return float64(all[i].Injected)
	}
	return 0
}
