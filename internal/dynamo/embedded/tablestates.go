package embedded

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// tableStates are the states of tables that a plan of faults makes last for a while. The data are
// changed at once: a crash leaves the table as it is after its state has ended.
type tableStates struct {
	mu    sync.Mutex
	names map[string]tableState
}

// tableState is a state that has not ended.
type tableState struct {
	status catalog.Status
	until  time.Time
	// description is the answer to DescribeTable for a table that is being deleted.
	description []byte
}

// changing are the errors of changes by the state of the table.
var changing = map[catalog.Status]string{
	catalog.Creating: "Table is being created: ",
	catalog.Updating: "Table is being updated: ",
	catalog.Deleting: "Table is being deleted: ",
}

// of returns the state of the table called name; the zero value if it is in none.
func (s *tableStates) of(name string, now time.Time) tableState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.names[name]
	if ok && !state.until.After(now) {
		delete(s.names, name)
		return tableState{}
	}
	return state
}

// clear ends all states.
func (s *tableStates) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.names)
}

// deleting returns the names of the tables that are being deleted.
func (s *tableStates) deleting(now time.Time) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, state := range s.names {
		if state.status == catalog.Deleting && state.until.After(now) {
			names = append(names, name)
		}
	}
	return names
}

// begin begins a state, and forgets those that have ended.
func (s *tableStates) begin(name string, state tableState, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.names, func(_ string, old tableState) bool { return !old.until.After(now) })
	s.names[name] = state
}

// runInState calls the handler of an operation, unless the state of a table forbids it.
func (c *call) runInState(op *wire.Operation, tables []string, h handler) error {
	states := c.modes.states
	for _, name := range tables {
		state := states.of(name, c.now)
		switch {
		case state.status == "", op.Kind == wire.CreateTable && state.status != catalog.Deleting:
			// The handler refuses to create a table that exists.
		case op.Kind == wire.DescribeTable && state.status == catalog.Deleting:
			c.out = append(c.out, state.description...)
			return nil
		case op.Access == wire.Admin:
			return inUse(changing[state.status] + name)
		case state.status != catalog.Updating && op.Kind != wire.DescribeTable && op.Kind != wire.OtherRead:
			return errNoTable()
		}
	}
	if err := h(c); err != nil || len(tables) == 0 {
		return err
	}
	c.beginState(op, tables[0])
	return nil
}

// beginState begins the state that follows a change of a table.
func (c *call) beginState(op *wire.Operation, name string) {
	p := c.modes.set.Plan()
	state, lasts := tableState{}, time.Duration(0)
	switch op.Kind {
	case wire.CreateTable:
		state.status, lasts = catalog.Creating, p.Creating
	case wire.UpdateTable:
		state.status, lasts = catalog.Updating, p.Updating
	case wire.DeleteTable:
		state.status, lasts = catalog.Deleting, p.Deleting
		state.description = bytes.Replace(c.out, []byte(`{"TableDescription":`), []byte(`{"Table":`), 1)
	}
	if lasts > 0 {
		state.until = c.now.Add(lasts)
		c.modes.states.begin(name, state, c.now)
	}
}

// inState returns the description of a table with its state.
func (c *call) inState(info *catalog.Table) *catalog.Table {
	if c.modes == nil {
		return info
	}
	if state := c.modes.states.of(info.Name, c.now); state.status != "" {
		changed := *info
		changed.Status = state.status
		return &changed
	}
	return info
}

// withDeleting returns the names in order with those of tables that are being deleted.
func (c *call) withDeleting(names []string) []string {
	if c.modes != nil {
		names = append(names, c.modes.states.deleting(c.now)...)
		slices.Sort(names)
	}
	return names
}
