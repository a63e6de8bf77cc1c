package embedded

import (
	"cmp"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// edit is everything that one request writes, in one batch.
//
// Life of an edit: 1) newEdit. 2) lock the items. 3) Read them, decide, and call
// put, remove or touch for each. 4) commit makes the batch visible, lets the
// items and tables go and waits for the disk. 5) close, in any case; before
// commit it gives everything up.
type edit struct {
	s       *Store
	b       *disk.Batch
	tables  tableSet
	held    []stripe
	locked  bool
	changes []*change
	only    change // memory for the first of changes, which mostly is the only one
	counts  []count
	// streamWrite are the streams that the edit has written to.
	streamWrites []streamWrite
	keyBuf       []byte
	textBuf      []byte
}

// change is what a request does to one item.
type change struct {
	t        *table
	key      []byte // on disk
	old, new image  // trees are there if anything hangs on the change
	expired  bool   // deleted because its time to live has passed
	arms     []indexCost
	record   []byte // for the table's stream; nil for none
}

// indexCost is what a change costs in one index.
type indexCost struct {
	index  string
	local  bool
	vector bool // a vector index, of which units are bytes
	units  float64
}

// count is what an edit adds to the sums of a table or an index.
type count struct {
	table        uint64
	index        uint32
	items, bytes int64
}

// newEdit begins an edit of tables that are held for reading. The edit lets them
// go. Edits are pooled: what one has made, changes included, is good until close.
func (s *Store) newEdit(tables ...*table) *edit {
	e := s.edits.Get().(*edit)
	e.s, e.b = s, s.db.NewBatch()
	e.tables = append(e.tables[:0], tables...)
	return e
}

// lock acquires the items under keys. It must be called once.
func (e *edit) lock(keys ...[]byte) {
	for _, key := range keys {
		e.held = append(e.held, stripeOf(key))
	}
	e.held = e.s.locks.lock(e.held)
	e.locked = true
}

// hasDependents tells whether anything depends on the items of t, so that a change needs
// them as trees: an index, a time to live, a stream.
func (t *table) hasDependents() bool {
	return len(t.info.Indexes) > 0 || len(t.info.Vectors) > 0 || t.info.TTL != nil || t.info.Stream != nil
}

// put stores an item, which has passed all checks, in place of old, and returns
// the change.
func (e *edit) put(t *table, key []byte, old image, item *value.Value) *change {
	c := change{t: t, key: key, old: old}
	c.new = image{there: true, size: item.ItemSize(), tree: item}
	start := len(e.textBuf)
	e.textBuf = item.AppendItem(e.textBuf)
	c.new.text = e.textBuf[start:len(e.textBuf):len(e.textBuf)]
	e.set(key, &c.new)
	return e.writeDependents(c)
}

// remove deletes the item old.
func (e *edit) remove(t *table, key []byte, old image, expired bool) *change {
	e.b.Delete(key)
	return e.writeDependents(change{t: t, key: key, old: old, expired: expired})
}

// barrier stands for a write that finds nothing to do: what made it so must be on
// disk before the answer says so, and whoever waits for a batch waits for all
// before it.
func (e *edit) barrier() { e.b.Barrier() }

// set writes an image under key.
func (e *edit) set(key []byte, m *image) {
	e.keyBuf = appendImage(e.keyBuf[:0], m.size, m.text)
	e.b.Set(key, e.keyBuf)
}

// writeDependents writes what hangs on a change.
func (e *edit) writeDependents(c change) *change {
	last := &e.only
	if len(e.changes) > 0 {
		last = new(change)
	}
	*last = c
	e.changes = append(e.changes, last)
	e.addCounts(c.t.id, tableIndex, &c.old, &c.new)
	if c.t.hasDependents() {
		e.writeEntries(last)
		e.writeExpiry(last)
		e.prepareRecord(last)
	}
	return last
}

// addCounts counts the difference between two images.
func (e *edit) addCounts(table uint64, index uint32, old, new *image) {
	n := count{table: table, index: index, bytes: int64(new.size - old.size)}
	if old.exists() {
		n.items--
	}
	if new.exists() {
		n.items++
	}
	for i := range e.counts {
		if m := &e.counts[i]; m.table == table && m.index == index {
			m.items += n.items
			m.bytes += n.bytes
			return
		}
	}
	e.counts = append(e.counts, n)
}

// commit makes the batch visible, lets everything go and waits for the disk. An
// error means that nobody knows whether the batch is on disk.
func (e *edit) commit() error {
	if err := e.apply(); err != nil {
		return err
	}
	e.release()
	if err := e.s.db.Wait(e.b); err != nil {
		return err
	}
	e.publishRecords()
	return nil
}

func (e *edit) apply() error {
	for i := range e.counts {
		if n := &e.counts[i]; n.items != 0 || n.bytes != 0 {
			e.keyBuf = counterKey(e.keyBuf[:0], n.table, n.index)
			e.b.Add(e.keyBuf, n.items, n.bytes)
		}
	}
	streams := e.streamed()
	for _, t := range streams {
		t.stream.mu.Lock()
	}
	defer func() {
		for _, t := range streams {
			t.stream.mu.Unlock()
		}
	}()
	if len(streams) > 0 {
		e.writeRecords()
	}
	return e.s.db.Apply(e.b)
}

// streamed returns the tables with a stream that the edit changes, by id.
func (e *edit) streamed() []*table {
	var all []*table
	for i := range e.changes {
		if t := e.changes[i].t; t.info.Stream != nil {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *table) int { return cmp.Compare(a.id, b.id) })
	return slices.Compact(all)
}

// release lets items and tables go.
func (e *edit) release() {
	if e.locked {
		e.s.locks.unlock(e.held)
		e.locked = false
	}
	e.tables.release()
	e.tables = e.tables[:0]
}

// close ends the edit.
func (e *edit) close() {
	e.release()
	e.b.Close()
	s := e.s
	clear(e.changes)
	clear(e.streamWrites)
	clear(e.tables[:cap(e.tables)])
	*e = edit{
		tables: e.tables[:0], held: e.held[:0], changes: e.changes[:0], streamWrites: e.streamWrites[:0], counts: e.counts[:0],
		keyBuf: resetBuffer(e.keyBuf), textBuf: resetBuffer(e.textBuf),
	}
	s.edits.Put(e)
}

// resetBuffer empties a buffer, and gives up one that is too large to be kept.
func resetBuffer(b []byte) []byte {
	if cap(b) > maxKeptBuffer {
		return nil
	}
	return b[:0]
}
