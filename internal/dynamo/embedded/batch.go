package embedded

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxBatchRead is the maximum number of bytes of items that a BatchGetItem returns. The rest
// is left to another request.
const maxBatchRead = 16 << 20

var errDuplicateKeys = wire.Invalid("Provided list of item keys contains duplicates")

// batchGetItem answers BatchGetItem.
func (c *call) batchGetItem() error {
	r, err := parseBatchGetItem(c.body)
	if err != nil {
		return err
	}
	names := make([]string, len(r.Tables))
	for i := range r.Tables {
		names[i] = r.Tables[i].Table
	}
	tables, err := c.s.tablesNamed(names)
	if err != nil {
		return err
	}
	defer tables.release()
	for i := range r.Tables {
		if err := r.Tables[i].check(tables.find(names[i]).info); err != nil {
			return err
		}
	}
	if c.leaveKeys(&r) {
		return errTableThroughput(c)
	}
	return c.replyBatchGet(&r, tables)
}

// check checks the keys against the schema.
func (g *batchGetTable) check(t *catalog.Table) error {
	for i := range g.Keys {
		if err := checkKey(t, &g.Keys[i]); err != nil {
			return err
		}
	}
	return checkScalars(t, g.Projection)
}

func (c *call) replyBatchGet(r *batchGetRequest, tables tableSet) error {
	costs := make([]*consumed, len(r.Tables))
	done := make([]int, len(r.Tables)) // number of processed keys per table
	budget := maxBatchRead
	o := c.object()
	o.member("Responses")
	responses := c.object()
	for i := range r.Tables {
		g := &r.Tables[i]
		costs[i] = &consumed{named: g.Named}
		responses.name(g.Named)
		var err error
		if done[i], err = c.appendBatch(g, tables.find(g.Table).info, costs[i], &budget); err != nil {
			return err
		}
	}
	responses.end()
	if !slices.ContainsFunc(done, func(n int) bool { return n > 0 }) {
		return c.exceeded(&source{t: tables.find(r.Tables[0].Table).info})
	}
	o.member("UnprocessedKeys")
	c.appendUnprocessedKeys(r, done)
	if r.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		c.out = appendAllConsumed(c.out, r.Capacity, costs)
	}
	o.end()
	return nil
}

// appendBatch appends the list of one table's items, and returns the number of keys that it
// processed before the budget of bytes was spent.
func (c *call) appendBatch(g *batchGetTable, t *catalog.Table, cost *consumed, budget *int) (done int, err error) {
	selected := selectionOf(g.Projection)
	data, release := c.reader(t, nil, g.Consistent)
	defer release()
	c.out = append(c.out, '[')
	first := len(c.out)
	for i := range g.Keys {
		if *budget <= 0 || c.admit(source{t: t}) != nil {
			break
		}
		c.key = appendItemKey(c.key[:0], t, &g.Keys[i])
		start := len(c.out)
		if start > first {
			c.out = append(c.out, ',')
		}
		size, found, err := c.appendItem(data, c.key, selected)
		if err != nil {
			return 0, err
		}
		if *budget -= size; *budget < 0 {
			c.out = c.out[:start]
			break
		}
		if !found {
			c.out = c.out[:start]
		}
		cost.table += readUnits(size, g.Consistent)
		c.spend(source{t: t}, readUnits(size, g.Consistent))
		done++
	}
	c.out = append(c.out, ']')
	return done, nil
}

// appendUnprocessedKeys appends the unprocessed part of the request, in the form of the
// request.
func (c *call) appendUnprocessedKeys(r *batchGetRequest, done []int) {
	o := c.object()
	for i := range r.Tables {
		g := &r.Tables[i]
		if done[i] == len(g.Keys) && len(g.Left) == 0 {
			continue
		}
		o.name(g.Named)
		c.out = append(c.out, `{"Keys":[`...)
		c.out = append(c.out, bytes.Join(slices.Concat(g.KeyTexts[done[i]:], g.Left), []byte{','})...)
		c.out = append(c.out, ']')
		c.out = append(c.out, g.Rest...)
		c.out = append(c.out, '}')
	}
	o.end()
}

// batchWriteItem answers BatchWriteItem. It writes all items in one atomic batch, which is
// faster; the service allows that, but does not guarantee it.
func (c *call) batchWriteItem() error {
	r, err := parseBatchWriteItem(c.body)
	if err != nil {
		return err
	}
	if err := c.s.writable(r.onlyDeletes()); err != nil {
		return err
	}
	names := make([]string, len(r.Tables))
	for i := range r.Tables {
		names[i] = r.Tables[i].Table
	}
	tables, err := c.s.tablesNamed(names)
	if err != nil {
		return err
	}
	e := c.s.newEdit(tables...)
	defer e.close()
	writes, err := r.writes(tables)
	if err != nil {
		return err
	}
	writes, left := c.leaveWrites(writes)
	if len(writes) == 0 {
		return errTableThroughput(c)
	}
	if writes, left, err = c.leaveConflicts(writes, left); err != nil {
		return err
	}
	e.lock(keysOf(writes)...)
	writes, left, err = c.runWrites(e, writes, left)
	if err != nil {
		return err
	}
	c.hold()
	if err := e.commit(); err != nil {
		return err
	}
	c.replyBatchWrite(&r, writes, left)
	return nil
}

// runWrites executes the writes of a batch for which there is capacity. It returns them, and the
// unprocessed ones with left in front. If there are no others, it returns the error.
func (c *call) runWrites(e *edit, writes, left []*itemWrite) (done, unprocessed []*itemWrite, err error) {
	var refused *wire.Error
	for _, w := range writes {
		if fault := c.admitWrite(w); fault != nil {
			left, refused = append(left, w), fault
			continue
		}
		if err := w.run(c, e); err != nil {
			return nil, nil, err
		}
		c.spendChange(w.done, false)
		done = append(done, w)
	}
	if len(done) == 0 && refused != nil {
		return nil, nil, refused
	}
	return done, left, nil
}

// onlyDeletes reports whether none of the batch's writes stores an item.
func (r *batchWriteRequest) onlyDeletes() bool {
	stores := func(w writeRequest) bool { return !w.deletes() }
	return !slices.ContainsFunc(r.Tables, func(t batchWriteTable) bool { return slices.ContainsFunc(t.Writes, stores) })
}

// itemWrite is one of several writes.
type itemWrite struct {
	*writeRequest
	t    *table
	info *catalog.Table
	key  []byte // on disk
	done *change
	text []byte // in the request; nil outside of a batch
}

// run reads the item and writes it as the edit's next change.
func (w *itemWrite) run(c *call, e *edit) error {
	old, err := readImage(c.s.db, w.key, w.need(w.t))
	if err != nil {
		return err
	}
	after, err := w.result(w.info, &old)
	if err == nil {
		err = c.checkCollection(e, w.t, w.key, &old, after)
	}
	if err == nil {
		w.done = e.write(w.t, w.key, &old, after)
	}
	return err
}

// writes checks the batch's elements and finds their items.
func (r *batchWriteRequest) writes(tables tableSet) ([]*itemWrite, error) {
	var list []*itemWrite
	for i := range r.Tables {
		t := tables.find(r.Tables[i].Table)
		for j := range r.Tables[i].Writes {
			w := &itemWrite{writeRequest: &r.Tables[i].Writes[j], t: t, info: t.info, text: r.Tables[i].Texts[j]}
			if err := w.checkInBatch(); err != nil {
				return nil, err
			}
			w.key = appendItemKey(nil, t.info, &w.Item)
			list = append(list, w)
		}
	}
	if duplicates(keysOf(list)) {
		return nil, errDuplicateKeys
	}
	return list, nil
}

// checkInBatch is check with the errors of a batch: the key of a put is reported like that
// of a delete.
func (w *itemWrite) checkInBatch() error {
	if w.Kind == writePut {
		for a := range w.info.Key.All() {
			if v := w.Item.Get(a.Name); v == nil || v.Type != a.Type {
				return errKeySchema
			}
		}
	}
	return w.check(w.info)
}

func keysOf(writes []*itemWrite) [][]byte {
	keys := make([][]byte, len(writes))
	for i, w := range writes {
		keys[i] = w.key
	}
	return keys
}

// duplicates reports whether two of the keys are equal.
func duplicates(keys [][]byte) bool {
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, bytes.Compare)
	return len(slices.CompactFunc(sorted, bytes.Equal)) < len(keys)
}

func (c *call) replyBatchWrite(r *batchWriteRequest, writes, left []*itemWrite) {
	o := c.object()
	o.member("UnprocessedItems")
	c.appendUnprocessedItems(left)
	if r.Metrics {
		c.appendCollections(&o, writes)
	}
	if r.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		c.out = appendAllConsumed(c.out, r.Capacity, consumedByTable(writes, func(s *consumed, w *itemWrite) { s.write(w.done) }))
	}
	o.end()
}

// consumedByTable sums up the cost of writes for each table, in the order of the request.
func consumedByTable(writes []*itemWrite, add func(s *consumed, w *itemWrite)) []*consumed {
	var costs []*consumed
	for _, w := range writes {
		i := slices.IndexFunc(costs, func(s *consumed) bool { return s.named == w.Named })
		if i < 0 {
			i = len(costs)
			costs = append(costs, &consumed{named: w.Named})
		}
		add(costs[i], w)
	}
	return costs
}

// appendCollections appends the ItemCollectionMetrics of several writes: the written
// collections of each table that has collections.
func (c *call) appendCollections(o *object, writes []*itemWrite) {
	type collections struct {
		named string
		texts [][]byte
	}
	var tables []collections
	for _, w := range writes {
		if !w.info.HasLocal() || w.Kind == writeCheck {
			continue
		}
		i := slices.IndexFunc(tables, func(t collections) bool { return t.named == w.Named })
		if i < 0 {
			i = len(tables)
			tables = append(tables, collections{named: w.Named})
		}
		text := appendCollection(nil, w.info, &w.Item)
		if !slices.ContainsFunc(tables[i].texts, func(b []byte) bool { return bytes.Equal(b, text) }) {
			tables[i].texts = append(tables[i].texts, text)
		}
	}
	if len(tables) == 0 {
		return
	}
	o.member("ItemCollectionMetrics")
	all := c.object()
	for _, t := range tables {
		all.name(t.named)
		c.out = append(c.out, '[')
		c.out = append(c.out, bytes.Join(t.texts, []byte{','})...)
		c.out = append(c.out, ']')
	}
	all.end()
}
