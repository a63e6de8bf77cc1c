package embedded

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// batchStatement is one statement of a BatchExecuteStatement or ExecuteTransaction.
type batchStatement struct {
	r       *statementRequest
	cmd     *partiql.Command
	write   *itemWrite // nil for a read
	key     value.Value
	diskKey []byte // the key of its item on disk; nil if unknown
	info    *catalog.Table
	fault   error // the reason why it was not run or has failed
	known   bool  // its item is known, so the response names the table even if it fails
	ran     bool  // its item has been read

	after *value.Value // after a completed write
}

var errBatchSelect = wire.Invalid("Select statements within BatchExecuteStatement must specify the primary key in the where clause.")

// batchExecuteStatement answers BatchExecuteStatement. A failed statement does not affect
// the others. All writes are in one atomic batch, which is faster; the service allows that,
// but does not guarantee it.
func (c *call) batchExecuteStatement() error {
	r, err := parseExecuteMany(c.body, fieldStatements)
	if err != nil {
		return err
	}
	statements := make([]*batchStatement, len(r.Statements))
	reads, writes, deletes := false, false, true
	for i := range statements {
		m := &batchStatement{r: &r.Statements[i]}
		statements[i] = m
		if m.fault = m.r.Fault; m.fault != nil {
			continue
		}
		if m.cmd, m.fault = partiql.Translate(m.r.Text, m.r.Parameters, false); m.fault != nil {
			continue
		}
		read := m.cmd.Kind == partiql.Select
		reads, writes = reads || read, writes || !read
		deletes = deletes && m.cmd.Kind == partiql.Delete
	}
	if reads && writes {
		return wire.Invalid("Read and write requests together in the same batch is not supported.")
	}
	if writes {
		if err := c.s.writable(deletes); err != nil {
			return err
		}
	}
	e := c.s.newEdit(c.s.existingTables(statements)...)
	defer e.close()
	for _, m := range statements {
		m.find(e.tables)
	}
	if duplicates(diskKeys(statements)) {
		return errDuplicateKeys
	}
	if writes {
		c.failConflicts(statements)
		if err := c.writeStatements(e, statements); err != nil {
			return err
		}
	}
	return c.replyStatements(&r, statements)
}

// existingTables returns the existing tables of the statements, each held for reading once.
func (s *Store) existingTables(statements []*batchStatement) (set tableSet) {
	all := *s.tables.Load()
	for _, m := range statements {
		if m.fault != nil {
			continue
		}
		name, _ := tableOf(m.cmd.Table)
		if t := all[name]; t != nil {
			set = append(set, t)
		}
	}
	slices.SortFunc(set, func(a, b *table) int { return cmp.Compare(a.id, b.id) })
	set = slices.Compact(set)
	held := set[:0]
	for _, t := range set {
		t.mu.RLock()
		if t.deleted {
			t.mu.RUnlock()
			continue
		}
		held = append(held, t)
	}
	return held
}

// find checks the statement against the schema and finds its item.
func (m *batchStatement) find(tables tableSet) {
	if m.fault != nil {
		return
	}
	name, _ := tableOf(m.cmd.Table)
	t := tables.find(name)
	if t == nil {
		m.fault = errStatementTable(m.cmd.Table)
		return
	}
	m.info = t.info
	if m.cmd.Kind == partiql.Select {
		m.key, m.fault = m.selectKey(errBatchSelect)
	} else {
		m.write = &itemWrite{writeRequest: writeOf(m.cmd, m.r), t: t, info: t.info}
		m.fault = m.write.findItem(t.info, m.cmd.ReturningFault)
		m.known = m.fault == nil || isEmptyKey(m.fault)
		if m.fault == nil {
			m.fault = m.write.checkResult(t.info)
		}
		m.key = m.write.Item
	}
	if m.fault == nil {
		m.diskKey = appendItemKey(nil, t.info, &m.key)
	}
}

// selectKey returns the key of the one item that a SELECT among several statements must
// name; otherwise it returns fault.
func (m *batchStatement) selectKey(fault error) (key value.Value, err error) {
	if x := m.info.Index(m.cmd.Index); x != nil && x.Key.Multiple() {
		return key, errManyKeys
	}
	terms := keyTermsOf(m.cmd.Where, &m.info.Key, true)
	if m.cmd.Index != "" || terms.others || !terms.complete(&m.info.Key) {
		return key, fault
	}
	if key, err = terms.key(&m.info.Key); err == nil {
		err = checkKeyValues(m.info, &key)
	}
	return key, statementFault(err)
}

// diskKeys returns the keys on disk of the statements that have not failed.
func diskKeys(statements []*batchStatement) (keys [][]byte) {
	for _, m := range statements {
		if m.diskKey != nil && m.fault == nil {
			keys = append(keys, m.diskKey)
		}
	}
	return keys
}

// writeStatements executes the valid writes. It returns only errors of the store.
func (c *call) writeStatements(e *edit, statements []*batchStatement) error {
	e.lock(diskKeys(statements)...)
	for _, m := range statements {
		if m.fault != nil {
			continue
		}
		w := m.write
		w.key = m.diskKey
		old, err := readImage(c.s.db, w.key, w.need(w.t))
		if err != nil {
			return err
		}
		m.ran = true
		w.done = &change{t: w.t, old: old} // an error may return the old item
		if !w.holds(&old) {
			m.fault = w.failed(&old)
			continue
		}
		if m.after, m.fault = w.result(w.info, &old); m.fault != nil {
			continue
		}
		err = c.checkCollection(e, w.t, w.key, &old, m.after)
		if errors.Is(err, errCollectionSize) {
			m.fault = err
			continue
		}
		if err != nil {
			return err
		}
		if refusal := c.admitReplacement(w.t, &old, m.after); refusal != nil {
			m.refuse(refusal)
			continue
		}
		w.done = e.write(w.t, w.key, &old, m.after)
		c.spendChange(w.done, false)
	}
	return e.commit()
}

// replyStatements executes the reads and answers.
func (c *call) replyStatements(r *executeManyRequest, statements []*batchStatement) error {
	var costs []*consumed
	o := c.object()
	o.member("Responses")
	c.out = append(c.out, '[')
	for i, m := range statements {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		units, err := c.appendStatementResponse(m)
		if err != nil {
			return err
		}
		if r.Capacity != capacityNone && m.fault == nil {
			costs = m.addCost(costs, units)
		}
	}
	c.out = append(c.out, ']')
	if len(costs) > 0 {
		addFailures(costs, statements)
		o.member("ConsumedCapacity")
		c.out = appendAllConsumed(c.out, r.Capacity, costs)
	}
	o.end()
	return nil
}

// appendStatementResponse appends the response to one statement, and returns the cost of a
// read.
func (c *call) appendStatementResponse(m *batchStatement) (units float64, err error) {
	if m.fault == nil && m.write == nil {
		if refusal := c.admit(source{m.info, nil, false}); refusal != nil {
			m.refuse(refusal)
		}
	}
	o := c.object()
	if m.fault != nil {
		fault := asFault(statementFault(m.fault))
		if fault == nil {
			return 0, m.fault
		}
		o.member("Error")
		c.appendStatementError(fault)
		if m.known {
			o.member("TableName")
			c.out = wire.AppendQuoted(c.out, []byte(m.cmd.Table))
		}
		o.end()
		return 0, nil
	}
	o.member("TableName")
	c.out = wire.AppendQuoted(c.out, []byte(m.cmd.Table))
	start := len(c.out)
	o.member("Item")
	found := false
	if m.write != nil {
		found = c.appendReturned(m.write.writeRequest, m.write.done, m.after)
	} else {
		var size int
		data, done := c.reader(m.info, nil, m.r.Consistent)
		size, found, err = c.appendRow(data, m.diskKey, m.cmd.Columns)
		done()
		units = readUnits(size, m.r.Consistent)
		c.spend(source{m.info, nil, false}, units)
	}
	if !found {
		c.out = c.out[:start]
	}
	o.end()
	return units, err
}

// appendStatementError appends the error of one statement of several.
func (c *call) appendStatementError(fault *wire.Error) {
	o := c.object()
	o.member("Code")
	c.out = wire.AppendQuoted(c.out, []byte(statementCode(fault)))
	o.member("Message")
	c.out = wire.AppendQuoted(c.out, []byte(fault.Message))
	if len(fault.Members) > 0 {
		c.out = append(append(c.out, ','), fault.Members...)
	}
	o.end()
}

// statementCode returns the code of an error in the response of several statements.
func statementCode(fault *wire.Error) string {
	if fault.Type == "ValidationException" {
		return "ValidationError"
	}
	return strings.TrimSuffix(fault.Type, "Exception")
}

// addCost adds the cost of a completed statement to its table's sum.
func (m *batchStatement) addCost(costs []*consumed, units float64) []*consumed {
	i := slices.IndexFunc(costs, func(s *consumed) bool { return s.named == m.cmd.Table })
	if i < 0 {
		i = len(costs)
		costs = append(costs, &consumed{named: m.cmd.Table})
	}
	if m.write != nil {
		costs[i].write(m.write.done)
	} else {
		costs[i].table += units
	}
	return costs
}

// addFailures adds the cost of failed writes to the sums of the tables in which other
// statements succeeded.
func addFailures(costs []*consumed, statements []*batchStatement) {
	for _, m := range statements {
		if m.fault == nil || !m.ran {
			continue
		}
		size := m.write.done.old.size
		if m.write.Kind == writePut {
			size = max(size, m.write.Item.ItemSize())
		}
		for _, s := range costs {
			if s.named == m.cmd.Table {
				s.failed += writeUnits(size)
			}
		}
	}
}
