package embedded

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxTransaction is the maximum size in bytes of all items of a transaction.
const maxTransaction = 4 << 20

var errSameItem = wire.Invalid("Transaction request cannot include multiple operations on one item")

// errPayload repeats its text, as the service does.
func errPayload(size int) error {
	const tooLarge = "Transaction payload size cannot exceed 4MB. Payload Size: "
	return wire.Invalid("%s: %s%d", tooLarge, tooLarge, size)
}

// reason is the reason why one action cancels a transaction; nil for an action that does
// not.
type reason struct {
	code  string
	fault *wire.Error
}

// validationReason returns the reason for an invalid action.
func validationReason(fault *wire.Error) *reason { return &reason{"ValidationError", fault} }

// canceled returns the error for a transaction that was cancelled for these reasons, one or
// nil for each action.
func canceled(reasons []*reason) *wire.Error {
	codes := make([]string, len(reasons))
	members := []byte(`"CancellationReasons":[`)
	for i, r := range reasons {
		if i > 0 {
			members = append(members, ',')
		}
		if codes[i] = "None"; r != nil {
			codes[i] = r.code
		}
		members = append(members, `{"Code":"`...)
		members = append(members, codes[i]...)
		members = append(members, '"')
		if r != nil {
			members = append(members, `,"Message":`...)
			members = wire.AppendQuoted(members, []byte(r.fault.Message))
			if len(r.fault.Members) > 0 {
				members = append(append(members, ','), r.fault.Members...)
			}
		}
		members = append(members, '}')
	}
	return &wire.Error{
		Type:    "TransactionCanceledException",
		Message: "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		Members: append(members, ']'),
	}
}

// firstInvalid returns the error for a transaction of n actions of which action i is
// invalid. An empty key value is reported directly, and so are errors that the request did
// not cause.
func firstInvalid(i, n int, err error) error {
	fault := asFault(err)
	if fault == nil || isEmptyKey(err) {
		return err
	}
	reasons := make([]*reason, n)
	reasons[i] = validationReason(fault)
	return canceled(reasons)
}

// transactWriteItems answers TransactWriteItems.
func (c *call) transactWriteItems() error {
	r, err := parseTransactWriteItems(c.body)
	if err != nil {
		return err
	}
	x := &transaction{c: c, capacity: r.Capacity, metrics: r.Metrics}
	for i := range r.Writes {
		x.writes = append(x.writes, &itemWrite{writeRequest: &r.Writes[i]})
	}
	if r.Token != "" {
		x.token = newToken(tokenOfWrites, r.Token, c.body, "TransactItems")
	}
	return x.run()
}

// transaction executes a TransactWriteItems, or another request that writes several items
// atomically.
type transaction struct {
	c        *call
	writes   []*itemWrite
	token    *token // nil for none
	capacity capacityMode
	metrics  bool
	// statements makes the reply have an empty list of responses.
	statements bool

	e *edit
	// fault is the first fault found by comparing with the schemas. It cancels the
	// transaction, unless its token shows that the transaction was completed before.
	fault error
}

// run executes the transaction and answers.
func (x *transaction) run() error {
	if err := x.c.s.writable(onlyDeletes(x.writes)); err != nil {
		return err
	}
	names := make([]string, len(x.writes))
	for i, w := range x.writes {
		names[i] = w.Table
	}
	tables, err := x.c.s.tablesNamed(names)
	if err != nil {
		if x.sameKey() {
			return errSameItem
		}
		return cmp.Or(x.checkPayload(), err)
	}
	x.e = x.c.s.newEdit(tables...)
	defer x.e.close()
	if err := x.find(tables); err != nil {
		return err
	}
	return x.execute()
}

// checkPayload bounds the size of the items to be put.
func (x *transaction) checkPayload() error {
	size := 0
	for _, w := range x.writes {
		if w.Kind == writePut {
			size += w.Item.ItemSize()
		}
	}
	if size > maxTransaction {
		return errPayload(size)
	}
	return nil
}

// sameKey reports whether two actions name the same key, comparing their texts. No other
// comparison is possible while a table is missing.
func (x *transaction) sameKey() bool {
	var seen [][]byte
	for _, w := range x.writes {
		if w.Kind == writePut {
			continue
		}
		seen = append(seen, keyText(w.Table, &w.Item))
	}
	return duplicates(seen)
}

// keyText returns a text that equal Keys share.
func keyText(table string, key *value.Value) []byte {
	sorted := value.Value{Type: value.Map, Members: slices.Clone(key.Members)}
	slices.SortFunc(sorted.Members, func(a, b value.Member) int { return strings.Compare(a.Name, b.Name) })
	return sorted.AppendItem([]byte(table))
}

// find checks the actions against the schemas and finds their items.
func (x *transaction) find(tables tableSet) error {
	for i, w := range x.writes {
		w.t = tables.find(w.Table)
		w.info = w.t.info
		err := w.check(w.info)
		if isEmptyKey(err) {
			return err
		}
		if err != nil {
			x.fault = cmp.Or(x.fault, firstInvalid(i, len(x.writes), err))
			continue
		}
		w.key = appendItemKey(nil, w.info, &w.Item)
	}
	var keys [][]byte
	for _, w := range x.writes {
		if w.key != nil {
			keys = append(keys, w.key)
		}
	}
	if duplicates(keys) {
		return errSameItem
	}
	return x.checkPayload()
}

// execute locks the items, decides and writes.
func (x *transaction) execute() error {
	leave, err := x.enter()
	if err != nil {
		return err
	}
	defer leave()
	keys := keysOf(x.writes)
	if x.token != nil {
		keys = append(keys, x.token.key)
	}
	x.e.lock(keys...)
	if x.token != nil {
		sizes, found, err := x.token.lookup(x.c.s.db, x.c.now)
		if err != nil {
			return err
		}
		if found {
			return x.replay(sizes)
		}
	}
	if x.fault != nil {
		return x.fault
	}
	if err := x.decide(); err != nil {
		return err
	}
	if x.token != nil {
		x.e.remember(x.token, x.c.now, x.sizes())
	}
	if err := x.admit(); err != nil {
		return err
	}
	x.c.hold()
	if err := x.e.commit(); err != nil {
		return err
	}
	x.reply()
	return nil
}

// decide reads the items, evaluates all conditions and updates, and then adds all writes to
// the edit.
func (x *transaction) decide() error {
	reasons := make([]*reason, len(x.writes))
	images := make([]image, len(x.writes))
	after := make([]*value.Value, len(x.writes))
	refused, size := false, 0
	for i, w := range x.writes {
		old, err := readImage(x.c.s.db, w.key, w.need(w.t))
		if err != nil {
			return err
		}
		images[i] = old
		if !w.holds(&old) {
			fault := w.failed(&old)
			reasons[i], refused = &reason{strings.TrimSuffix(fault.Type, "Exception"), fault}, true
			continue
		}
		if w.Kind == writeCheck {
			continue
		}
		if after[i], err = w.result(w.info, &old); err != nil {
			return firstInvalid(i, len(x.writes), err)
		}
		if after[i] != nil {
			size += after[i].ItemSize()
		}
	}
	if refused {
		return canceled(reasons)
	}
	if size > maxTransaction {
		return errPayload(size)
	}
	for i, w := range x.writes {
		if w.Kind == writeCheck {
			w.done = &change{t: w.t, old: images[i], new: images[i]}
			continue
		}
		err := x.c.checkCollection(x.e, w.t, w.key, &images[i], after[i])
		if reasons[i] = limitReason(err); reasons[i] != nil {
			refused = true
			continue
		}
		if err != nil {
			return err
		}
		w.done = x.e.write(w.t, w.key, &images[i], after[i])
	}
	if refused {
		return canceled(reasons)
	}
	return nil
}

// sizes returns the sizes of the items after the transaction.
func (x *transaction) sizes() []int {
	sizes := make([]int, len(x.writes))
	for i, w := range x.writes {
		sizes[i] = w.done.new.size
	}
	return sizes
}

// open opens the reply.
func (x *transaction) open() object {
	o := x.c.object()
	if x.statements {
		o.member("Responses")
		x.c.out = append(x.c.out, `[]`...)
	}
	return o
}

// reply answers a completed transaction.
func (x *transaction) reply() {
	o := x.open()
	if x.capacity != capacityNone {
		x.appendCapacity(&o, "Write", func(s *consumed, w *itemWrite) {
			s.table += 2 * writeUnits(max(w.done.old.size, w.done.new.size))
			s.writeIndexCosts(w.done)
		})
	}
	if x.metrics {
		x.c.appendCollections(&o, x.writes)
	}
	o.end()
}

// replay answers a transaction that was completed before. It costs as much as reading its
// items. The earlier execution may not be on disk yet.
func (x *transaction) replay(sizes []int) error {
	x.e.barrier()
	if err := x.e.commit(); err != nil {
		return err
	}
	o := x.open()
	if x.capacity != capacityNone {
		i := 0
		x.appendCapacity(&o, "Read", func(s *consumed, _ *itemWrite) {
			s.table += 2 * readUnits(sizes[i], true)
			i++
		})
	}
	o.end()
	return nil
}

func (x *transaction) appendCapacity(o *object, kind string, add func(s *consumed, w *itemWrite)) {
	costs := consumedByTable(x.writes, add)
	for _, s := range costs {
		s.kind = kind
	}
	o.member("ConsumedCapacity")
	x.c.out = appendAllConsumed(x.c.out, x.capacity, costs)
}

// transactGetItems answers TransactGetItems with items of one snapshot.
func (c *call) transactGetItems() error {
	r, err := parseTransactGetItems(c.body)
	if err != nil {
		return err
	}
	names := make([]string, len(r.Gets))
	texts := make([][]byte, len(r.Gets))
	for i := range r.Gets {
		names[i] = r.Gets[i].Table
		texts[i] = keyText(names[i], &r.Gets[i].Key)
	}
	if duplicates(texts) {
		return errSameItem
	}
	tables, err := c.s.tablesNamed(names)
	if err != nil {
		return err
	}
	defer tables.release()
	var fault error
	for i := range r.Gets {
		err := checkGet(tables.find(names[i]).info, &r.Gets[i])
		if isEmptyKey(err) {
			return err
		}
		if err != nil && fault == nil {
			fault = firstInvalid(i, len(r.Gets), err)
		}
	}
	if fault != nil {
		return fault
	}
	if err := c.checkConflicts(&r, tables); err != nil {
		return err
	}
	read := make([]*catalog.Table, len(r.Gets))
	for i := range read {
		read[i] = tables.find(r.Gets[i].Table).info
	}
	if err := c.admitReads(read); err != nil {
		return err
	}
	return c.replyTransactGet(&r, tables)
}

func (c *call) replyTransactGet(r *transactGetRequest, tables tableSet) error {
	snapshot := c.s.db.Snapshot()
	defer snapshot.Close()
	var costs []*consumed
	total := 0
	o := c.object()
	o.member("Responses")
	c.out = append(c.out, '[')
	for i := range r.Gets {
		g := &r.Gets[i]
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.key = appendItemKey(c.key[:0], tables.find(g.Table).info, &g.Key)
		size, err := c.appendResponse(snapshot, g)
		if err != nil {
			return err
		}
		if total += size; total > maxTransaction {
			return errPayload(total)
		}
		j := slices.IndexFunc(costs, func(s *consumed) bool { return s.named == g.Named })
		if j < 0 {
			j = len(costs)
			costs = append(costs, &consumed{named: g.Named, kind: "Read"})
		}
		costs[j].table += 2 * readUnits(size, true)
		c.spend(source{t: tables.find(g.Table).info}, 2*readUnits(size, true))
	}
	c.out = append(c.out, ']')
	if r.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		c.out = appendAllConsumed(c.out, r.Capacity, costs)
	}
	o.end()
	return nil
}

// appendResponse appends one response: an object with the item under c.key, or without it if
// there is no item or none of its requested attributes.
func (c *call) appendResponse(snapshot kv.Snapshot, g *getRequest) (size int, err error) {
	start := len(c.out)
	c.out = append(c.out, `{"Item":`...)
	item := len(c.out)
	size, found, err := c.appendItem(snapshot, c.key, selectionOf(g.Projection))
	if err != nil {
		return 0, err
	}
	if !found || g.Projection != nil && bytes.Equal(c.out[item:], []byte(`{}`)) {
		c.out = append(c.out[:start], '{')
	}
	c.out = append(c.out, '}')
	return size, nil
}
