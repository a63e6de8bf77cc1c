package accel

import (
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// partiql forwards statements. A write drops everything of its tables, because the items of
// a statement aren't determined here.
func (c *call) partiql() {
	statements, ok := c.statements()
	if !ok {
		c.fail("SerializationException", "")
		return
	}
	var tags []cache.Tag
	for _, quoted := range statements {
		st, understood := partiql.Statement{}, false
		if text, ok := wire.AppendExact(nil, quoted); ok {
			st, understood = partiql.Parse(text)
		}
		access, write := accessOf(st.Kind, understood)
		table := tableOf(st.Table)
		if !c.checkPermission(access, table) {
			return
		}
		c.x.Record.Table = table
		switch {
		case !write:
		case len(table) == 0:
			tags = append(tags, c.set.tag)
		default:
			t := newTableTags(c.set.tag, string(table))
			tags = append(tags, t.table, t.writes)
		}
	}
	c.permitted = true
	if len(tags) == 0 {
		c.passRead(telemetry.BypassUncacheable)
		return
	}
	c.passWrite(telemetry.Write, tags...)
}

// accessOf returns the access that a statement requires. A statement that isn't understood
// may write.
func accessOf(kind partiql.Kind, understood bool) (access wire.Access, write bool) {
	if understood && (kind == partiql.Select || kind == partiql.Exists) {
		return wire.Read, false
	}
	return wire.Write, true
}

// statements returns the request's statements as JSON strings. An invalid list is returned
// as one statement that isn't understood.
func (c *call) statements() (list [][]byte, ok bool) {
	name := map[wire.OpKind]string{
		wire.ExecuteStatement: "Statement", wire.BatchExecuteStatement: "Statements", wire.ExecuteTransaction: "TransactStatements",
	}[c.op.Kind]
	value, ok := c.member(name)
	if !ok {
		return nil, false
	}
	if c.op.Kind == wire.ExecuteStatement {
		return [][]byte{value}, true
	}
	it := wire.Array(value)
	for it.Next() {
		if _, ok := c.members(it.Value(), []string{"Statement"}); !ok {
			return nil, false
		}
		list = append(list, c.m[0])
	}
	if it.Err() || len(list) == 0 {
		list = append(list, nil)
	}
	return list, true
}
