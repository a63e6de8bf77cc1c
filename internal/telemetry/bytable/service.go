package bytable

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// service has the tables or routes of one service.
type service struct {
	registry *telemetry.Registry
	name     string
	label    Label
	tables   atomic.Pointer[map[string]*table] // replaced as a whole
	rest     times                             // of requests without a table

	mu    sync.Mutex // held while tables is replaced, and over the creation of series
	found int        // tables that no configuration has named
	other *table     // nil: not used yet
}

func newService(r *telemetry.Registry, name string, l Label) *service {
	s := &service{registry: r, name: name, label: l, rest: times{hits: telemetry.NewHistogram(), origin: telemetry.NewHistogram()}}
	s.tables.Store(&map[string]*table{})
	return s
}

// configure adds tables that the configuration names.
func (s *service) configure(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if (*s.tables.Load())[name] == nil {
			s.add(name)
		}
	}
}

// add adds a table. mu must be held.
func (s *service) add(name string) *table {
	next := maps.Clone(*s.tables.Load())
	t := newTable(s, name)
	next[name] = t
	s.tables.Store(&next)
	return t
}

// table returns the table of a name, of a request that was answered with a status. A name has a
// series of its own from the first request that succeeds: names that clients make up do not use up
// the places.
func (s *service) table(name []byte, status int) *table {
	if t := (*s.tables.Load())[string(name)]; t != nil {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := (*s.tables.Load())[string(name)]; t != nil {
		return t
	}
	if s.found < maxTables && status >= 200 && status < 300 {
		s.found++
		return s.add(string(name))
	}
	if s.other == nil {
		s.other = newTable(s, other)
	}
	return s.other
}

// all returns the tables in the order of their names, and then the one for all others.
func (s *service) all() []*table {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.tables.Load()
	all := make([]*table, 0, len(now)+1)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		all = append(all, now[name])
	}
	if s.other != nil {
		all = append(all, s.other)
	}
	return all
}
