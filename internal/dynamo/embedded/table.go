package embedded

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// table is a table that can be used.
type table struct {
	id uint64
	// mu is held for reading by operations on items, until what they write is
	// applied, and for writing by who changes info.
	mu sync.RWMutex
	// info describes the table; never changed, only replaced, with mu and
	// Store.schema held.
	info *catalog.Table
	// deleted is set when the table has been deleted.
	deleted bool
	// stream is the table's open stream, nil if there is none. It is replaced with
	// info.
	stream *stream
}

// errNoTable is what operations on items say of a table that is not there.
func errNoTable() *wire.Error {
	return &wire.Error{Type: "ResourceNotFoundException", Message: "Requested resource not found"}
}

// errNoTableNamed is what operations on tables say.
func errNoTableNamed(name string) *wire.Error {
	return &wire.Error{Type: "ResourceNotFoundException", Message: fmt.Sprintf("Requested resource not found: Table: %s not found", name)}
}

// table returns the table called name, held for reading. The caller lets go with
// mu.RUnlock.
func (s *Store) table(name string) (*table, error) {
	t := (*s.tables.Load())[name]
	if t == nil {
		return nil, errNoTable()
	}
	t.mu.RLock()
	if t.deleted {
		t.mu.RUnlock()
		return nil, errNoTable()
	}
	return t, nil
}

// tableSet is several tables, held for reading.
type tableSet []*table

// tablesNamed returns the tables called names, which may repeat, each held once.
// They are acquired in the order of their ids, so that two requests and two
// changes of schema can't wait for each other in a circle.
func (s *Store) tablesNamed(names []string) (tableSet, error) {
	all := *s.tables.Load()
	set := make(tableSet, 0, len(names))
	for _, name := range names {
		t := all[name]
		if t == nil {
			return nil, errNoTable()
		}
		set = append(set, t)
	}
	slices.SortFunc(set, func(a, b *table) int { return cmp.Compare(a.id, b.id) })
	set = slices.Compact(set)
	for i, t := range set {
		t.mu.RLock()
		if t.deleted {
			set[:i+1].release()
			return nil, errNoTable()
		}
	}
	return set, nil
}

// find returns the table called name, which is in the set.
func (set tableSet) find(name string) *table {
	for _, t := range set {
		if t.info.Name == name {
			return t
		}
	}
	return nil
}

func (set tableSet) release() {
	for _, t := range set {
		t.mu.RUnlock()
	}
}

// loadTables reads the catalog.
func (s *Store) loadTables() error {
	tables := map[string]*table{}
	prefix := []byte{spaceCatalog}
	it, err := s.db.Iter(prefix, prefixEnd(nil, prefix))
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		info := &catalog.Table{}
		if err := json.Unmarshal(it.Value(), info); err != nil {
			return fmt.Errorf("the description of table %x is damaged: %w", it.Key(), err)
		}
		tables[info.Name] = &table{id: info.ID, info: info}
	}
	s.tables.Store(&tables)
	return it.Error()
}

// writeTable adds the description of a table to a batch.
func writeTable(b *disk.Batch, info *catalog.Table) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	b.Set(appendTable(nil, spaceCatalog, info.ID), text)
	return nil
}

// publish makes a table visible. Store.schema is held.
func (s *Store) publish(t *table) {
	next := maps.Clone(*s.tables.Load())
	next[t.info.Name] = t
	s.tables.Store(&next)
}

// retract makes a table invisible. Store.schema is held.
func (s *Store) retract(name string) {
	next := maps.Clone(*s.tables.Load())
	delete(next, name)
	s.tables.Store(&next)
}
