package bytable

import "github.com/kasoku/kasoku/internal/telemetry"

// Changes counts what happens to the cached answers of a service's tables, beside requests for them.
// It creates series for causes and evictions that have occurred, and tables that have had requests.
type Changes struct {
	counts  *Counts
	service string
}

// Changes returns the counters of a service. They count nothing while it is not configured.
func (c *Counts) Changes(service string) Changes { return Changes{c, service} }

// Invalidated counts n changes that have invalidated answers of a table.
func (c Changes) Invalidated(table, cause string, n int) {
	if t := c.table(table); t != nil {
		t.invalidated(cause).Add(uint64(n))
	}
}

// Evicted counts an answer of a table that was evicted to make room.
func (c Changes) Evicted(table string) {
	if t := c.table(table); t != nil {
		t.evictions().Inc()
	}
}

// table returns a table. The table of a name without a series is the one for all others.
func (c Changes) table(name string) *table {
	s := (*c.counts.services.Load())[c.service]
	if s == nil {
		return nil
	}
	return s.table([]byte(name), 0)
}

// invalidated returns the counter of a cause.
func (t *table) invalidated(cause string) *telemetry.Counter {
	if c, ok := t.causes.Load(cause); ok {
		return c.(*telemetry.Counter)
	}
	c := t.registry.Counter("kasoku_table_invalidations_total",
		"Changes that have invalidated cached answers of the table, by cause: items written through Kasoku (write), requests that may have written (unknown-outcome), records of the table's stream (feed), items that have expired in an embedded store (expiry), changes of the table itself (table), and purges (purge).",
		append(t.labels[:len(t.labels):len(t.labels)], "cause", cause)...)
	t.causes.Store(cause, c)
	return c
}

// evictions returns the counter of evicted answers.
func (t *table) evictions() *telemetry.Counter {
	if c := t.evicted.Load(); c != nil {
		return c
	}
	c := t.registry.Counter("kasoku_table_evictions_total",
		"Cached answers of the table that were evicted to make room. Many of these, and few hits: more cache.memory would help.", t.labels...)
	t.evicted.Store(c)
	return c
}
