package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// saved are the saved states of a DB by name.
type saved struct {
	mu     sync.Mutex
	states map[string]savedState
}

type savedState struct {
	state
	at time.Time
}

// Save implements kv.DB. Its time does not depend on the contents.
func (d *DB) Save(name string) error {
	d.saved.mu.Lock()
	defer d.saved.mu.Unlock()
	d.saved.states[name] = savedState{d.state(), time.Now()}
	return nil
}

// Saved implements kv.DB.
func (d *DB) Saved() ([]kv.Saved, error) {
	d.saved.mu.Lock()
	defer d.saved.mu.Unlock()
	list := []kv.Saved{}
	for _, name := range slices.Sorted(maps.Keys(d.saved.states)) {
		list = append(list, kv.Saved{Name: name, At: d.saved.states[name].at})
	}
	return list, nil
}

// Restore implements kv.DB. Its time does not depend on the contents.
func (d *DB) Restore(name string) error {
	if name == kv.Empty {
		d.replace(state{empty()})
		return nil
	}
	d.saved.mu.Lock()
	defer d.saved.mu.Unlock()
	s, ok := d.saved.states[name]
	if !ok {
		return kv.ErrNotSaved
	}
	d.replace(s.state)
	return nil
}

// Forget implements kv.DB.
func (d *DB) Forget(name string) error {
	d.saved.mu.Lock()
	defer d.saved.mu.Unlock()
	if _, ok := d.saved.states[name]; !ok {
		return kv.ErrNotSaved
	}
	delete(d.saved.states, name)
	return nil
}
