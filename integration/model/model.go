// Package model is a DynamoDB for tests: in-process, fast enough for a million operations,
// and with precisely controllable eventual consistency. It supports only the operations used
// by the history checks; other tests use DynamoDB Local.
//
// Every item keeps its recent versions with their times. A strongly consistent read returns
// the newest; an eventually consistent one reads the table as of an earlier time, like a
// lagging replica.
package model

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Item is an item: attribute values as JSON text, by attribute name.
type Item map[string]json.RawMessage

// Lag is the lag of eventually consistent reads: a time drawn between Min and Max for each
// read.
type Lag struct{ Min, Max time.Duration }

func (l Lag) draw() time.Duration {
	if l.Max <= l.Min {
		return l.Min
	}
	return l.Min + rand.N(l.Max-l.Min)
}

// DB holds tables. It is safe for concurrent use; one lock guards all data, so transactions
// are atomic.
type DB struct {
	began time.Time

	mu     sync.Mutex // guards everything below
	tables map[string]*table
	last   time.Duration // time of the newest version
	lag    Lag           // of tables
	ilag   Lag           // of global secondary indexes
	frozen time.Duration // if not 0, eventually consistent reads use this time
	tokens map[string]uint64

	requests [ops]atomic.Int64
	// unprocessed is n if one in n batch members is left unprocessed.
	unprocessed atomic.Int64
}

// New returns a DB without tables whose replicas don't lag.
func New() *DB {
	return &DB{began: time.Now(), tables: map[string]*table{}, tokens: map[string]uint64{}}
}

// SetLag sets the lag of eventually consistent reads of tables and of global secondary
// indexes.
func (db *DB) SetLag(tables, indexes Lag) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.lag, db.ilag = tables, indexes
}

// Freeze makes all eventually consistent reads read the present state until Thaw, whatever
// is written.
func (db *DB) Freeze() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.frozen = db.tick()
}

// Thaw ends Freeze.
func (db *DB) Thaw() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.frozen = 0
}

// LeaveUnprocessed leaves one in n members of batches unprocessed; 0 disables it.
func (db *DB) LeaveUnprocessed(n int) { db.unprocessed.Store(int64(n)) }

func (db *DB) skipMember() bool {
	n := db.unprocessed.Load()
	return n > 0 && rand.Int64N(n) == 0
}

// tick returns the time, greater than that of every version. mu must be held.
func (db *DB) tick() time.Duration {
	db.last = max(db.last+1, time.Since(db.began))
	return db.last
}

// view returns the time as of which a read reads the data. mu must be held.
func (db *DB) view(consistent bool, lag Lag) time.Duration {
	now := db.tick()
	if consistent {
		return now
	}
	if db.frozen != 0 {
		return db.frozen
	}
	return now - lag.draw()
}

// horizon returns the time before which no read will read again. The longest lag counts
// twice because it may be raised. mu must be held.
func (db *DB) horizon() time.Duration {
	h := db.last - 2*max(db.lag.Max, db.lag.Min, db.ilag.Max, db.ilag.Min) - time.Second
	if db.frozen != 0 {
		h = min(h, db.frozen)
	}
	return h
}

// keySchema names the key attributes; sort is empty without a sort key.
type keySchema struct{ partition, sort string }

type table struct {
	name     string
	keys     keySchema
	indexes  map[string]keySchema
	raw      json.RawMessage // CreateTable's request, for DescribeTable
	parts    map[string]*partition
	byIndex  map[string]map[string]map[*cell]struct{} // index, partition value, every cell that was ever there
	allCells []*cell                                  // in the order of creation: Scan's order
}

// partition holds the cells of one partition key, sorted by sort key.
type partition struct{ cells []*cell }

// cell is the place of one primary key, with or without an item.
type cell struct {
	key      Item
	sort     value
	order    int // position in table.allCells
	versions []version
}

type version struct {
	at   time.Duration
	item Item // nil: none
}

// at returns the item as of time t.
func (c *cell) at(t time.Duration) Item {
	for i := len(c.versions) - 1; i >= 0; i-- {
		if c.versions[i].at <= t {
			return c.versions[i].item
		}
	}
	return nil
}

func (c *cell) now() Item {
	if len(c.versions) == 0 {
		return nil
	}
	return c.versions[len(c.versions)-1].item
}

// set adds a version and drops versions that can't be read any more: of the ones older than
// horizon only the newest is still visible.
func (c *cell) set(now, horizon time.Duration, item Item) {
	old := 0
	for old+1 < len(c.versions) && c.versions[old+1].at <= horizon {
		old++
	}
	c.versions = append(slices.Delete(c.versions, 0, old), version{now, item})
}

// find returns the cell of key, creating it if necessary. key must consist of exactly the
// key attributes, as checked by checkKey.
func (t *table) find(key Item) *cell {
	pk := string(canonical(key[t.keys.partition]))
	p := t.parts[pk]
	if p == nil {
		p = &partition{}
		t.parts[pk] = p
	}
	var sort value
	if t.keys.sort != "" {
		sort = parseValue(key[t.keys.sort])
	}
	i, found := slices.BinarySearchFunc(p.cells, sort, func(c *cell, v value) int { return c.sort.compare(v) })
	if found {
		return p.cells[i]
	}
	c := &cell{key: key, sort: sort, order: len(t.allCells)}
	p.cells = slices.Insert(p.cells, i, c)
	t.allCells = append(t.allCells, c)
	return c
}

// write makes item (nil: none) the newest version of c. mu must be held.
func (db *DB) write(t *table, c *cell, item Item) {
	c.set(db.tick(), db.horizon(), item)
	for name, keys := range t.indexes {
		if v, ok := item[keys.partition]; ok {
			t.indexSet(name, string(canonical(v)))[c] = struct{}{}
		}
	}
}

func (t *table) indexSet(index, partition string) map[*cell]struct{} {
	byValue := t.byIndex[index]
	if byValue == nil {
		byValue = map[string]map[*cell]struct{}{}
		t.byIndex[index] = byValue
	}
	cells := byValue[partition]
	if cells == nil {
		cells = map[*cell]struct{}{}
		byValue[partition] = cells
	}
	return cells
}

// indexCells returns the cells that were ever in a partition of index, sorted by its sort
// key, if any, as of time at.
func (t *table) indexCells(index, partition string, at time.Duration) []*cell {
	var cells []*cell
	for c := range t.byIndex[index][partition] {
		cells = append(cells, c)
	}
	sort := t.indexes[index].sort
	slices.SortFunc(cells, func(a, b *cell) int {
		if sort != "" {
			if d := parseValue(a.at(at)[sort]).compare(parseValue(b.at(at)[sort])); d != 0 {
				return d
			}
		}
		return cmp.Compare(a.order, b.order)
	})
	return cells
}

// keyOf returns the primary key of item.
func (t *table) keyOf(item Item) Item {
	key := Item{t.keys.partition: item[t.keys.partition]}
	if t.keys.sort != "" {
		key[t.keys.sort] = item[t.keys.sort]
	}
	return key
}

// checkKey returns an error unless key has the table's key attributes, and no others if
// exact is set.
func (t *table) checkKey(key Item, exact bool) *apiError {
	want := 1
	if t.keys.sort != "" {
		want = 2
		if key[t.keys.sort] == nil {
			return invalid("One of the required keys was not given a value")
		}
	}
	if key[t.keys.partition] == nil {
		return invalid("One of the required keys was not given a value")
	}
	if exact && len(key) != want {
		return invalid("The provided key element does not match the schema")
	}
	return nil
}
