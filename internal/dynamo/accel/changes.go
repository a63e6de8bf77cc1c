package accel

import (
	"encoding/binary"

	"github.com/kasoku/kasoku/internal/cache"
)

// Changes counts what happens to the cached answers of tables. Its methods are called in many
// goroutines, some with locks of the cache held: they must not use the cache or wait.
type Changes interface {
	// Invalidated counts n writes or other changes that have invalidated answers of a table.
	Invalidated(table, cause string, n int)
	// Evicted counts an answer of a table that was evicted to make room.
	Evicted(table string)
}

// invalidated counts n changes of a table.
func (s *Service) invalidated(table string, cause cache.Cause, n int) {
	if s.changes != nil && n > 0 {
		s.changes.Invalidated(table, cause.String(), n)
	}
}

// passedChange counts a change that was passed through, if its request names a table.
func (c *call) passedChange(cause cache.Cause) {
	if name := tableOf(c.x.Record.Table); len(name) > 0 {
		c.svc.invalidated(string(name), cause, 1)
	}
}

// evicted counts an entry that was evicted, if its table is known.
func (s *Service) evicted(e *cache.Entry) {
	key := e.Key()
	if len(key) < prefixLen {
		return
	}
	if name, ok := (*s.tables.names.Load())[binary.BigEndian.Uint32(key[1:])]; ok {
		s.changes.Evicted(name)
	}
}

// invalidated counts the writes of the group by their tables.
func (g *group) invalidated(cause cache.Cause) {
	for _, t := range g.tables {
		n := 0
		for i := range g.items {
			if g.items[i].t == t {
				n++
			}
		}
		g.svc.invalidated(t.name, cause, n)
	}
	for _, name := range g.whole {
		g.svc.invalidated(name, cause, 1)
	}
}
