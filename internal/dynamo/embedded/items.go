package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// getItem answers GetItem.
func (c *call) getItem() error {
	r, err := parseGetItem(c.body)
	if err != nil {
		return err
	}
	t, err := c.s.table(r.Table)
	if err != nil {
		return err
	}
	defer t.mu.RUnlock()
	if err := checkGet(t.info, &r); err != nil {
		return err
	}
	if err := c.admitRead(t.info, nil); err != nil {
		return err
	}
	c.key = appendItemKey(c.key[:0], t.info, &r.Key)
	o := c.object()
	o.member("Item")
	data, done := c.reader(t.info, nil, r.Consistent)
	defer done()
	size, found, err := c.appendItem(data, c.key, selectionOf(r.Projection))
	if err != nil {
		return err
	}
	if !found {
		c.out = c.out[:0]
		o = c.object()
	}
	c.spend(source{t: t.info}, readUnits(size, r.Consistent))
	if r.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		cost := consumed{named: r.Named, table: readUnits(size, r.Consistent)}
		c.out = cost.append(c.out, r.Capacity)
	}
	o.end()
	return nil
}

// checkGet checks a get against the schema.
func checkGet(t *catalog.Table, r *getRequest) error {
	if err := checkKey(t, &r.Key); err != nil {
		return err
	}
	return checkScalars(t, r.Projection)
}

// selectionOf returns the selection for a projection; nil for everything.
func selectionOf(paths []expr.Path) *expr.Selection {
	if paths == nil {
		return nil
	}
	return expr.NewSelection(paths)
}

// appendItem appends the text of the item under key to the reply, or its selected part. It
// returns the size of the whole item.
func (c *call) appendItem(r kv.Reader, key []byte, selected *expr.Selection) (size int, found bool, err error) {
	v, ok, err := r.Get(key)
	if !ok || err != nil {
		return 0, false, err
	}
	defer v.Close()
	size, text, err := splitImage(v.Bytes)
	if err != nil {
		return 0, false, err
	}
	if selected == nil {
		c.out = append(c.out, text...)
		return size, true, nil
	}
	if c.out, ok = selected.Append(c.out, text); !ok {
		return 0, false, damaged(text)
	}
	return size, true, nil
}

func (c *call) putItem() error    { return c.write(parsePutItem) }
func (c *call) updateItem() error { return c.write(parseUpdateItem) }
func (c *call) deleteItem() error { return c.write(parseDeleteItem) }

// write executes an operation that writes one item.
func (c *call) write(parse func(body []byte) (writeRequest, error)) error {
	w, err := parse(c.body)
	if err != nil {
		return err
	}
	if err := c.s.writable(w.deletes()); err != nil {
		return err
	}
	t, err := c.s.table(w.Table)
	if err != nil {
		return err
	}
	e := c.s.newEdit(t)
	defer e.close()
	info := t.info // commit releases t
	if err := w.check(info); err != nil {
		return err
	}
	if err := w.checkCost(); err != nil {
		return err
	}
	done, after, err := c.writeOne(e, t, &w)
	if err != nil {
		return err
	}
	c.replyWrite(info, &w, done, after)
	return nil
}

// writeOne executes a write, which has passed all checks, as the only one of an edit.
func (c *call) writeOne(e *edit, t *table, w *writeRequest) (done *change, after *value.Value, err error) {
	c.key = appendItemKey(c.key[:0], t.info, &w.Item)
	if err := c.checkConflict(c.key); err != nil {
		return nil, nil, err
	}
	e.lock(c.key)
	old, err := readImage(c.s.db, c.key, w.need(t))
	if err != nil {
		return nil, nil, err
	}
	if !w.holds(&old) {
		return nil, nil, w.failed(&old)
	}
	if after, err = w.result(t.info, &old); err != nil {
		return nil, nil, err
	}
	if err := c.checkCollection(e, t, c.key, &old, after); err != nil {
		return nil, nil, err
	}
	done = e.write(t, c.key, &old, after)
	if e := c.admitChange(done); e != nil {
		return nil, nil, e
	}
	c.spendChange(done, false)
	c.hold()
	return done, after, e.commit()
}

// check checks a write against the schema.
func (w *writeRequest) check(t *catalog.Table) error {
	var err error
	if w.Kind == writePut {
		err = checkItem(t, &w.Item)
	} else {
		err = checkKey(t, &w.Item)
	}
	if err == nil {
		err = checkUpdate(t, w.Update)
	}
	if err == nil && w.Condition != nil {
		err = checkScalars(t, w.Condition.Paths())
	}
	return err
}

// need returns the part of the old item that the write needs: for its decision, its answer,
// or the table's dependents.
func (w *writeRequest) need(t *table) need {
	switch {
	case w.Condition != nil || w.Kind == writeUpdate || t.hasDependents():
		return needTree
	case w.Return != returnNone:
		return needText
	}
	return needSize
}

// holds reports whether the write's condition is met.
func (w *writeRequest) holds(old *image) bool {
	return w.Condition == nil || w.Condition.Match(old.tree)
}

// failed returns the error for a condition that is not met.
func (w *writeRequest) failed(old *image) *wire.Error {
	if w.Statement && w.Kind == writePut {
		return errDuplicateItem
	}
	e := &wire.Error{Type: "ConditionalCheckFailedException", Message: "The conditional request failed"}
	if w.ReturnItemOnFailure && old.exists() {
		e.Members = append([]byte(`"Item":`), old.text...)
	}
	return e
}

// result returns the item after the write, nil if there is none.
func (w *writeRequest) result(t *catalog.Table, old *image) (*value.Value, error) {
	switch w.Kind {
	case writePut:
		return &w.Item, nil
	case writeDelete:
		return nil, nil
	}
	if w.Update == nil { // an update without effect creates an item from the key
		if old.exists() {
			return old.tree, nil
		}
		return &w.Item, nil
	}
	after, err := w.Update.Apply(old.tree, &w.Item)
	if err != nil || after == nil {
		return nil, w.applyError(err)
	}
	if err := checkUpdated(t, w.Update, after); err != nil {
		return nil, err
	}
	if err := checkVectors(t, after, w.Update); err != nil {
		return nil, err
	}
	return after, checkUpdatedSize(t, after)
}

// write calls put, remove or, if there is nothing to remove, barrier.
func (e *edit) write(t *table, key []byte, old *image, after *value.Value) *change {
	switch {
	case after != nil:
		return e.put(t, key, *old, after)
	case old.exists():
		return e.remove(t, key, *old, false)
	}
	e.barrier()
	return &change{t: t}
}

// replyWrite answers a completed write.
func (c *call) replyWrite(t *catalog.Table, w *writeRequest, done *change, after *value.Value) {
	o := c.object()
	if w.Return != returnNone {
		o.member("Attributes")
		if !c.appendReturned(w, done, after) {
			c.out = c.out[:0]
			o = c.object()
		}
	}
	if w.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		cost := consumed{named: w.Named}
		cost.write(done)
		c.out = cost.append(c.out, w.Capacity)
	}
	if w.Metrics && t.HasLocal() {
		o.member("ItemCollectionMetrics")
		c.out = appendCollection(c.out, t, &w.Item)
	}
	o.end()
}

// appendReturned appends the requested part of the item. It returns false if there is none.
func (c *call) appendReturned(w *writeRequest, done *change, after *value.Value) bool {
	switch w.Return {
	case returnAllOld:
		c.out = append(c.out, done.old.text...)
		return done.old.exists()
	case returnAllNew:
		c.out = append(c.out, done.new.text...)
		return after != nil
	case returnUpdatedOld:
		return c.appendUpdated(w.Update, done.old.tree)
	case returnUpdatedNew:
		return c.appendUpdated(w.Update, after)
	}
	return false
}

// appendUpdated appends the parts of an item that the update changes.
func (c *call) appendUpdated(u *expr.Update, item *value.Value) bool {
	if u == nil {
		return false
	}
	shown := u.Updated(item)
	if shown == nil {
		return false
	}
	c.out = shown.AppendItem(c.out)
	return true
}

// appendCollection appends the ItemCollectionMetrics of the item's collection. The estimated
// range is one gigabyte wide, which only the largest collections exceed.
func appendCollection(dst []byte, t *catalog.Table, item *value.Value) []byte {
	hash := t.Key.Hash[0].Name
	dst = append(dst, `{"ItemCollectionKey":{`...)
	dst = wire.AppendQuoted(dst, []byte(hash))
	dst = append(dst, ':')
	dst = item.Get(hash).Append(dst)
	return append(dst, `},"SizeEstimateRangeGB":[0.0,1.0]}`...)
}
