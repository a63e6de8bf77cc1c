package embedded

import (
	"cmp"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// edit collects all writes of one request in one batch.
//
// Life of an edit: 1) newEdit. 2) lock the items. 3) Read them, decide, and call put, remove
// or barrier for each. 4) commit makes the batch visible, releases the items and tables and
// waits for the disk. 5) close, in any case; before commit it discards the batch.
type edit struct {
	s       *Store
	b       kv.Batch
	tables  tableSet
	held    []stripe
	locked  bool
	changes []*change
	only    change // memory for the first change, usually the only one
	counts  []count
	// streamWrites are the streams that the edit has written to.
	streamWrites []streamWrite
	keyBuf       []byte
	textBuf      []byte
}

// change is the effect of a request on one item.
type change struct {
	t        *table
	key      []byte // on disk
	old, new image  // trees are set if the table has dependents
	expired  bool   // deleted because its time to live has passed
	indexes  []indexCost
	record   []byte // for the table's stream; nil for none
}

// indexCost is the cost of a change in one index.
type indexCost struct {
	index  string
	local  bool
	vector bool // a vector index, whose units are bytes
	units  float64
}

// count is the change of the sums of a table or an index.
type count struct {
	table        uint64
	index        uint32
	items, bytes int64
}

// newEdit begins an edit of tables that are held for reading, and which the edit will
// release. Edits are pooled: an edit and its changes are valid until close.
func (s *Store) newEdit(tables ...*table) *edit {
	e := s.edits.Get().(*edit)
	e.s, e.b = s, s.db.NewBatch()
	e.tables = append(e.tables[:0], tables...)
	return e
}

// lock acquires the items under keys. It must be called only once.
func (e *edit) lock(keys ...[]byte) {
	for _, key := range keys {
		e.held = append(e.held, stripeOf(key))
	}
	e.held = e.s.locks.lock(e.held)
	e.locked = true
}

// hasDependents reports whether an index, a time to live or a stream depends on the items of
// t. A change then needs the items as trees.
func (t *table) hasDependents() bool {
	return len(t.info.Indexes) > 0 || len(t.info.Vectors) > 0 || t.info.TTL != nil || t.info.Stream != nil
}

// put replaces old by item, which has passed all checks, and returns the change.
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

// barrier is called for a write that changes nothing. Its answer reveals an earlier write,
// which must be on disk first; waiting for the edit then waits for all earlier batches.
func (e *edit) barrier() { e.b.Barrier() }

// set writes an image under key.
func (e *edit) set(key []byte, m *image) {
	e.keyBuf = appendImage(e.keyBuf[:0], m.size, m.text)
	e.b.Set(key, e.keyBuf)
}

// writeDependents writes the index entries, the expiry entry and the stream record of a
// change.
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

// addCounts adds the difference between two images to the counts.
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

// commit makes the batch visible, releases everything and waits for the disk. After an error
// it is unknown whether the batch is on disk.
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
			e.b.Add(e.keyBuf, kv.Sums{n.items, n.bytes})
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
	e.s.keepHistory()
	return e.s.db.Apply(e.b)
}

// streamed returns the changed tables that have a stream, by id.
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

// release releases items and tables.
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

// resetBuffer empties a buffer, and drops one that is too large to be kept.
func resetBuffer(b []byte) []byte {
	if cap(b) > maxKeptBuffer {
		return nil
	}
	return b[:0]
}
