package accel

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// partiql forwards statements. A write invalidates what depends on its item, as the native operation
// does, or everything of its table if the item can't be determined.
func (c *call) partiql() {
	statements, ok := c.statements()
	if !ok {
		c.fail("SerializationException", "")
		return
	}
	g, writes := &group{svc: c.svc, origin: c.set.tag}, false
	for i := range statements {
		s := &statements[i]
		st, understood := partiql.Statement{}, false
		if s.text, ok = wire.AppendExact(nil, s.quoted); ok {
			st, understood = partiql.Parse(s.text)
		}
		access, write := accessOf(st.Kind, understood)
		table := tableOf(st.Table)
		if !c.checkPermission(access, table) {
			return
		}
		c.x.Record.Table = table
		if write {
			writes = true
			c.addStatement(g, s, st.Table)
		}
	}
	c.permitted = true
	if !writes {
		c.passRead(telemetry.BypassUncacheable)
		return
	}
	if g.own != nil && c.op.Kind == wire.ExecuteTransaction {
		c.askExecuted(g)
	}
	g.statements = c.op.Kind == wire.BatchExecuteStatement
	c.writeGroup(g)
}

// statementFailed reports whether an answer to a BatchExecuteStatement has an error.
func statementFailed(body []byte) bool {
	return eachStatementError(body, func([]byte) bool { return true })
}

// statementUnknown reports whether an answer to a BatchExecuteStatement leaves open whether a
// statement was executed.
func statementUnknown(body []byte) bool {
	return eachStatementError(body, func(code []byte) bool { return string(code) == `"InternalServerError"` })
}

// eachStatementError reports whether f returns true for the code of an error in an answer to a
// BatchExecuteStatement, or the answer can't be read.
func eachStatementError(body []byte, f func(code []byte) bool) bool {
	responses, ok := memberOf(body, "Responses")
	if !ok {
		return true
	}
	it := wire.Array(responses)
	for it.Next() {
		if fault, ok := wire.Lookup(it.Value(), "Error"); ok && wire.Kind(fault) != 'n' {
			if code, _ := wire.Lookup(fault, "Code"); f(code) {
				return true
			}
		}
	}
	return it.Err()
}

// addStatement adds a statement that writes, to the table that it names.
func (c *call) addStatement(g *group, s *statement, table []byte) {
	c.name = append(c.name[:0], table...)
	switch {
	case len(tableOf(table)) == 0:
		g.tags = append(g.tags, c.set.tag)
		return
	case len(tableOf(table)) != len(table): // an ARN
		g.addWholeTable(tableOf(table))
		return
	}
	t := c.table()
	if !t.known || !g.addKnownStatement(t, s, c.op.Kind == wire.ExecuteTransaction) {
		g.addWholeTable(table)
	}
}

func (g *group) addKnownStatement(t *table, s *statement, transaction bool) bool {
	cmd, ok := s.translate(transaction)
	if !ok {
		return false
	}
	ch := change{}
	switch cmd.Kind {
	case partiql.Insert:
		ch.key = cmd.Item.AppendItem(nil)
		key, ok := t.keyOfItem(ch.key)
		if ok {
			ch.new = image{known: true, item: ch.key}
			g.add(t, key, ch)
			g.addOwn(t, key, &ch)
		}
		return ok
	case partiql.Delete:
		ch.new.known = true
	case partiql.Update:
		ch.update = true
		for _, target := range cmd.Update.Targets() {
			ch.targets = append(ch.targets, expr.Target{Name: target.Name, Effect: expr.Computed})
		}
	default:
		return false
	}
	ch.key, ok = t.keyOfCondition(cmd.Where)
	if !ok {
		return false
	}
	key, ok := t.keyOf(ch.key)
	if !ok {
		return false
	}
	g.add(t, key, ch)
	if ch.update {
		g.addOwnUpdate(t, key, func() *ownUpdate {
			return &ownUpdate{statement: s.text, parameters: bytes.Clone(s.parameters), key: ch.key}
		})
	} else {
		g.addOwn(t, key, &ch)
	}
	return true
}

// keyOfCondition returns the Key of the only item for which a condition can be true. ok is false if it
// isn't determined by comparisons joined by AND.
func (t *table) keyOfCondition(where *expr.Condition) (key []byte, ok bool) {
	if where == nil {
		return nil, false
	}
	item := value.Value{Type: value.Map}
	ok = true
	var add func(n *expr.Node)
	add = func(n *expr.Node) {
		if n.Kind == expr.And {
			for _, part := range n.Nodes {
				add(part)
			}
			return
		}
		name, v := n.Equality()
		if v == nil || name != t.hash.name && (t.rng.name == "" || name != t.rng.name) {
			return
		}
		ok = ok && item.Get(name) == nil
		item.Members = append(item.Members, value.Member{Name: name, Value: *v})
	}
	add(where.Root)
	return item.AppendItem(nil), ok
}

// accessOf returns the access that a statement requires. A statement that isn't understood
// may write.
func accessOf(kind partiql.Kind, understood bool) (access wire.Access, write bool) {
	if understood && (kind == partiql.Select || kind == partiql.Exists) {
		return wire.Read, false
	}
	return wire.Write, true
}

// statement is one statement of a request.
type statement struct {
	quoted     []byte // nil for one that isn't understood
	text       []byte
	parameters []byte // an array, nil for none
}

// translate translates the statement to the native operations. It returns false if it isn't
// understood.
func (s *statement) translate(transaction bool) (cmd *partiql.Command, ok bool) {
	var parameters []value.Value
	if s.parameters != nil {
		it := wire.Array(s.parameters)
		for it.Next() {
			v, err := value.Parse(it.Value())
			if err != nil {
				return nil, false
			}
			parameters = append(parameters, v)
		}
		if it.Err() {
			return nil, false
		}
	}
	cmd, err := partiql.Translate(s.text, parameters, transaction)
	return cmd, err == nil
}

// statements returns the request's statements. An invalid list is returned as one statement that
// isn't understood.
func (c *call) statements() (list []statement, ok bool) {
	name := map[wire.OpKind]string{wire.BatchExecuteStatement: "Statements", wire.ExecuteTransaction: "TransactStatements"}[c.op.Kind]
	if c.op.Kind == wire.ExecuteStatement {
		return c.addStatementTo(list, c.x.Body)
	}
	requests, ok := c.member(name)
	if !ok {
		return nil, false
	}
	it := wire.Array(requests)
	for it.Next() {
		if list, ok = c.addStatementTo(list, it.Value()); !ok {
			return nil, false
		}
	}
	if it.Err() || len(list) == 0 {
		list = append(list, statement{})
	}
	return list, true
}

// addStatementTo appends the statement of an object.
func (c *call) addStatementTo(list []statement, from []byte) ([]statement, bool) {
	if _, ok := c.members(from, []string{"Statement", "Parameters"}); !ok {
		return nil, false
	}
	return append(list, statement{quoted: c.m[0], parameters: c.m[1]}), true
}
