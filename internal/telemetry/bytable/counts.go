// Package bytable counts requests by table or route: a sink that adds each record to the series of
// its table and passes it on. The number of series is bounded, whatever names clients send.
package bytable

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// maxTables is the maximum number of tables or routes of a service with series of their own, beside
// the ones that the configuration names. Requests for further ones are counted as "other".
const maxTables = 200

// Names are the tables or routes of a service that always have series of their own.
type Names struct {
	Label  Label
	Always []string
}

// Label is the label of a service's series, and a part of their names.
type Label string

// The labels. A service has only one of them.
const (
	Table Label = "table"
	Route Label = "route"
)

// name returns the name in a record.
func (l Label) name(r *telemetry.Record) []byte {
	if l == Route {
		return r.Route
	}
	return r.Table
}

const other = "other"

// Counts are the series of all tables. Configure must be called before records are counted.
type Counts struct {
	registry *telemetry.Registry
	services atomic.Pointer[map[string]*service] // by name; replaced as a whole
}

// New returns counts whose series are in r.
func New(r *telemetry.Registry) *Counts {
	c := &Counts{registry: r}
	c.services.Store(&map[string]*service{})
	return c
}

// Configure sets the services that are counted. Services that it already had continue; the caller
// removes the series of the others from the registry.
func (c *Counts) Configure(services map[string]Names) {
	now, next := *c.services.Load(), map[string]*service{}
	for name, n := range services {
		s := now[name]
		if s == nil || s.label != n.Label {
			s = newService(c.registry, name, n.Label)
		}
		s.configure(n.Always)
		next[name] = s
	}
	c.services.Store(&next)
}

// Figures returns what was counted for each table of a service that had requests.
func (c *Counts) Figures(service string) []Figures {
	s := (*c.services.Load())[service]
	if s == nil {
		return nil
	}
	var all []Figures
	for _, t := range s.all() {
		if f := t.figures(); len(f.Decisions) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// Times returns the times of a service's requests that were served from memory, and the times that
// its requests waited for the origin, with or without a table.
func (c *Counts) Times(service string) (hits, origin telemetry.Snapshot) {
	s := (*c.services.Load())[service]
	if s == nil {
		return hits, origin
	}
	hits, origin = s.rest.hits.Snapshot(), s.rest.origin.Snapshot()
	for _, t := range s.all() {
		h, o := t.hits.Snapshot(), t.origin.Snapshot()
		hits.Add(&h)
		origin.Add(&o)
	}
	return hits, origin
}

// Tap returns a sink that counts records and passes them on to next.
func (c *Counts) Tap(next telemetry.Sink) telemetry.Sink { return &tap{next, c} }

type tap struct {
	telemetry.Sink
	counts *Counts
}

// Log counts r and passes it on.
func (t *tap) Log(r *telemetry.Record) {
	if s := (*t.counts.services.Load())[r.Service]; s != nil {
		if name := s.label.name(r); len(name) > 0 {
			s.table(name, r.Status).count(r)
		} else {
			s.rest.count(r)
		}
	}
	t.Sink.Log(r)
}
