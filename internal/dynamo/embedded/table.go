package embedded

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// table is a table of an open store.
type table struct {
	id uint64
	// mu is held for reading by operations on items, until their writes are applied, and for
	// writing to change info.
	mu sync.RWMutex
	// info describes the table. It is immutable; it is replaced while mu and Store.schema
	// are held.
	info *catalog.Table
	// deleted is set when the table has been deleted.
	deleted bool
	// stream is the table's open stream, or nil. It is replaced together with info.
	stream *stream
}

// errNoTable is the error of operations on items for a missing table.
func errNoTable() *wire.Error {
	return &wire.Error{Type: "ResourceNotFoundException", Message: "Requested resource not found"}
}

// errNoTableNamed is the error of operations on tables.
func errNoTableNamed(name string) *wire.Error {
	return &wire.Error{Type: "ResourceNotFoundException", Message: fmt.Sprintf("Requested resource not found: Table: %s not found", name)}
}

// table returns the table called name, held for reading. The caller releases it with
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

// tablesNamed returns the tables called names, which may repeat, each held once. They are
// acquired in the order of their ids, so that two requests and two changes of schema can't
// deadlock.
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

// find returns the table called name, which must be in the set.
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

func (s *Store) loadTables() error {
	tables := map[string]*table{}
	err := loadEach(s, []byte{spaceCatalog}, "table", func(info *catalog.Table) error {
		tables[info.Name] = &table{id: info.ID, info: info}
		return nil
	})
	s.tables.Store(&tables)
	return err
}

// loadEach calls load with each description of type T under a prefix, until it returns an
// error; kind is for messages.
func loadEach[T any](s *Store, prefix []byte, kind string, load func(info *T) error) error {
	it, err := s.db.Iter(prefix, prefixEnd(nil, prefix))
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		info := new(T)
		if err := json.Unmarshal(it.Value(), info); err != nil {
			return fmt.Errorf("the description of %s %x is damaged: %w", kind, it.Key(), err)
		}
		if err := load(info); err != nil {
			return err
		}
	}
	return it.Error()
}

// writeTable adds the description of a table to a batch.
func writeTable(b kv.Batch, info *catalog.Table) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	b.Set(appendTable(nil, spaceCatalog, info.ID), text)
	return nil
}

// publish makes a table visible. The caller holds Store.schema.
func (s *Store) publish(t *table) {
	next := maps.Clone(*s.tables.Load())
	next[t.info.Name] = t
	s.tables.Store(&next)
}

// retract makes a table invisible. The caller holds Store.schema.
func (s *Store) retract(name string) {
	next := maps.Clone(*s.tables.Load())
	delete(next, name)
	s.tables.Store(&next)
}
