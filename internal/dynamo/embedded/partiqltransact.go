package embedded

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var errTransactSelect = wire.Invalid("Select statements within ExecuteTransaction must specify the primary key in the where clause.")

// executeTransaction answers ExecuteTransaction: statements that either all read, or all
// write and check, atomically.
func (c *call) executeTransaction() error {
	r, err := parseExecuteMany(c.body, fieldTransactStatements)
	if err != nil {
		return err
	}
	statements, err := translateAll(&r)
	if err != nil {
		return err
	}
	reads := statements[0].cmd.Kind == partiql.Select
	if slices.ContainsFunc(statements, func(m *batchStatement) bool { return m.cmd.Kind == partiql.Select != reads }) {
		return wire.Invalid("ExecuteTransaction API does not support both read and write operations in the same request.")
	}
	if !reads {
		stores := func(m *batchStatement) bool { return m.cmd.Kind != partiql.Delete && m.cmd.Kind != partiql.Exists }
		if err := c.s.writable(!slices.ContainsFunc(statements, stores)); err != nil {
			return err
		}
	}
	e := c.s.newEdit(c.s.existingTables(statements)...)
	defer e.close()
	if err := findAll(statements, e.tables); err != nil {
		return err
	}
	if reads {
		return c.replyTransactRead(&r, statements)
	}
	x := &transaction{c: c, e: e, capacity: r.Capacity, statements: true}
	for _, m := range statements {
		m.write.key = m.diskKey
		x.writes = append(x.writes, m.write)
	}
	if r.Token != "" {
		x.token = newToken(tokenOfStatements, r.Token, c.body, "TransactStatements")
	}
	if err := x.checkPayload(); err != nil {
		return err
	}
	return x.execute()
}

// inStatement adds the index of the statement to an error.
func inStatement(i int, err error) error {
	fault := asFault(statementFault(err))
	if fault == nil {
		return err
	}
	return wire.Invalid("Validation failed in TransactStatements[%d]: %s", i, fault.Message)
}

func translateAll(r *executeManyRequest) ([]*batchStatement, error) {
	statements := make([]*batchStatement, len(r.Statements))
	for i := range statements {
		m := &batchStatement{r: &r.Statements[i]}
		var err error
		if m.cmd, err = partiql.Translate(m.r.Text, m.r.Parameters, true); err == nil {
			err = m.checkTransact()
		}
		if err != nil {
			return nil, inStatement(i, err)
		}
		statements[i] = m
	}
	return statements, nil
}

// checkTransact refuses statements that can't be part of a transaction.
func (m *batchStatement) checkTransact() error {
	switch {
	case m.cmd.Returning != partiql.ReturnNothing || m.cmd.ReturningFault != nil:
		return wire.Invalid("RETURNING clause is not supported in ExecuteTransaction.")
	case m.cmd.Kind == partiql.Exists && m.cmd.Index != "":
		return wire.Invalid("Operations on indices are not supported in transactions")
	case m.cmd.Index != "":
		return wire.Invalid("Reads on indices are not supported within transactions.")
	case m.cmd.OrderFault != nil:
		return m.cmd.OrderFault
	}
	return nil
}

// findAll checks the statements against the schemas and finds their items.
func findAll(statements []*batchStatement, tables tableSet) error {
	gone := false
	for i, m := range statements {
		name, _ := tableOf(m.cmd.Table)
		t := tables.find(name)
		if t == nil {
			fault := errStatementTable(m.cmd.Table)
			if fault.Type == "ValidationException" {
				return inStatement(i, fault)
			}
			m.fault, gone = fault, true
			continue
		}
		m.info = t.info
		if m.cmd.Kind != partiql.Select {
			m.write = &itemWrite{writeRequest: writeOf(m.cmd, m.r), t: t, info: t.info}
		}
		if err := m.checkItemRead(); err != nil {
			return inStatement(i, err)
		}
	}
	if gone {
		return canceled(reasonsOf(statements))
	}
	invalid := false
	for _, m := range statements {
		if m.fault = m.transactKey(); isEmptyKey(m.fault) {
			return m.fault
		}
		if m.fault == nil {
			m.diskKey = appendItemKey(nil, m.info, &m.key)
		}
		invalid = invalid || m.fault != nil
	}
	switch {
	case duplicates(diskKeys(statements)):
		return errSameItem
	case invalid:
		return canceled(reasonsOf(statements))
	}
	return nil
}

// reasonsOf returns the reasons why statements cancel their transaction.
func reasonsOf(statements []*batchStatement) []*reason {
	reasons := make([]*reason, len(statements))
	for i, m := range statements {
		if fault := asFault(m.fault); fault != nil {
			reasons[i] = &reason{statementCode(fault), fault}
		}
	}
	return reasons
}

// checkItemRead refuses a SELECT that does not name one item by its key alone, and an EXISTS
// that does not name one by its key and another condition.
func (m *batchStatement) checkItemRead() error {
	switch m.cmd.Kind {
	case partiql.Select:
		terms := keyTermsOf(m.cmd.Where, &m.info.Key, true)
		if terms.others || !terms.complete(&m.info.Key) {
			return errTransactSelect
		}
	case partiql.Exists:
		terms := keyTermsOf(m.cmd.Where, &m.info.Key, false)
		if !terms.others || !terms.complete(&m.info.Key) {
			return wire.Invalid("EXISTS() must contain a single item read with additional condition")
		}
	}
	return nil
}

// transactKey finds the key of the statement's item and makes the remaining checks.
func (m *batchStatement) transactKey() error {
	key := &m.info.Key
	if m.cmd.Kind == partiql.Insert {
		m.key = m.write.Item
		m.write.onlyIfNew(key)
		if err := m.write.checkSize(); err != nil {
			return err
		}
		return m.write.check(m.info)
	}
	terms := keyTermsOf(m.cmd.Where, key, m.cmd.Kind == partiql.Select)
	var err error
	if m.key, err = terms.key(key); isEmptyKey(err) {
		return err
	} else if err != nil {
		return errKeySchema
	}
	if m.write == nil {
		return checkKeyValues(m.info, &m.key)
	}
	m.write.Item = m.key
	if m.write.Kind == writeDelete {
		m.write.orNoItem(key)
	}
	return m.write.check(m.info)
}

// replyTransactRead answers with the items of one snapshot.
func (c *call) replyTransactRead(r *executeManyRequest, statements []*batchStatement) error {
	if err := c.checkReadConflicts(diskKeys(statements)); err != nil {
		return err
	}
	tables := make([]*catalog.Table, len(statements))
	for i, m := range statements {
		tables[i] = m.info
	}
	if err := c.admitReads(tables); err != nil {
		return err
	}
	snapshot := c.s.db.Snapshot()
	defer snapshot.Close()
	var costs []*consumed
	o := c.object()
	o.member("Responses")
	c.out = append(c.out, '[')
	for i, m := range statements {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		row := c.object()
		start := len(c.out)
		row.member("Item")
		size, found, err := c.appendRow(snapshot, m.diskKey, m.cmd.Columns)
		if err != nil {
			return err
		}
		if !found || bytes.HasSuffix(c.out[start:], []byte(`:{}`)) {
			c.out = c.out[:start]
		}
		row.end()
		units := 2 * readUnits(size, true)
		c.spend(source{m.info, nil, false}, units)
		costs = m.addCost(costs, units)
	}
	c.out = append(c.out, ']')
	if r.Capacity != capacityNone {
		for _, s := range costs {
			s.kind = "Read"
		}
		o.member("ConsumedCapacity")
		c.out = appendAllConsumed(c.out, r.Capacity, costs)
	}
	o.end()
	return nil
}

// appendRow appends the row of the columns, nil for all, for the item under key.
func (c *call) appendRow(r kv.Reader, key []byte, columns []partiql.Column) (size int, found bool, err error) {
	m, err := readImage(r, key, needText)
	if err != nil || !m.exists() {
		return 0, false, err
	}
	if columns == nil {
		c.out = append(c.out, m.text...)
		return m.size, true, nil
	}
	return m.size, true, appendColumns(c, columns, m.text)
}
