package accel

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// transactWriteItems writes a transaction through. All its tags are invalidated together
// before the origin's execution and again afterwards, and nothing is cached under them in
// between: the cache never serves a part of the transaction.
func (c *call) transactWriteItems() {
	actions, g := c.newGroup("TransactItems")
	if g == nil {
		return
	}
	it := wire.Array(actions)
	for it.Next() {
		action := wire.Object(it.Value())
		for action.Next() {
			c.addAction(g, action.Name(), action.Value())
		}
		if action.Err() {
			g.tags = append(g.tags, c.set.tag)
		}
	}
	if it.Err() {
		g.tags = append(g.tags, c.set.tag)
	}
	if g.own != nil {
		c.askExecuted(g)
	}
	c.writeGroup(g)
}

// askExecuted makes the origin's answer show whether the transaction was executed. One that is sent
// again with its token is acknowledged without being executed: the answer then has the capacity of
// reads.
func (c *call) askExecuted(g *group) {
	if _, ok := c.members(c.x.Body, []string{"ClientRequestToken", "ReturnConsumedCapacity"}); !ok {
		g.own = nil
		return
	}
	if c.m[0] == nil || wire.Kind(c.m[0]) == 'n' {
		return
	}
	g.repeatable = true
	if c.m[1] != nil && string(c.m[1]) != `"NONE"` {
		return
	}
	body, ok := wire.SetMember(nil, c.x.Body, "ReturnConsumedCapacity", []byte(`"TOTAL"`))
	if ok {
		g.body, g.addsCapacity = body, true
	}
}

// executed reports whether the answer to a transaction shows that it was executed.
func executed(body []byte) bool {
	capacity, _ := memberOf(body, "ConsumedCapacity")
	tables := wire.Array(capacity)
	for tables.Next() {
		if units, ok := wire.Lookup(tables.Value(), "WriteCapacityUnits"); ok && bytes.ContainsAny(units, "123456789") {
			return true
		}
	}
	return false
}

// addAction adds one action of a transaction. An action that isn't understood is a write to
// its whole table.
func (c *call) addAction(g *group, name, action []byte) {
	if wire.NameIs(name, "ConditionCheck") || wire.Kind(action) == 'n' {
		return
	}
	if _, ok := c.members(action, writeMembers); !ok || !c.setTable(c.m[wTable]) {
		if table := tableOf(c.name); ok && len(table) > 0 {
			g.addWholeTable(table)
		} else {
			g.tags = append(g.tags, c.set.tag)
		}
		return
	}
	t := c.table()
	if !t.known || !c.addKnownAction(g, t, name) {
		g.addWholeTable(c.name)
	}
}

func (c *call) addKnownAction(g *group, t *table, name []byte) bool {
	if wire.NameIs(name, "Put") {
		item := c.m[wItem]
		key, ok := t.keyOfItem(item)
		if ok {
			ch := change{key: item, new: image{known: true, item: item}}
			g.add(t, key, ch)
			g.addOwn(t, key, &ch)
		}
		return ok
	}
	key, ok := t.keyOf(c.m[wKey])
	if !ok {
		return false
	}
	ch := change{key: c.m[wKey]}
	switch {
	case wire.NameIs(name, "Delete"):
		ch.new.known = true
	case wire.NameIs(name, "Update"):
		ch.update = true
		if u := parseUpdate(c.m[wExpression], nil, c.m[wNames], c.m[wValues]); u != nil {
			ch.targets = append([]expr.Target{}, u.Targets()...)
		}
	default:
		return false
	}
	g.add(t, key, ch)
	switch {
	case !ch.update:
		g.addOwn(t, key, &ch)
	case ch.targets != nil:
		g.addOwnUpdate(t, key, func() *ownUpdate { return newOwnUpdate(c.m[wKey], c.m[wExpression], c.m[wNames], c.m[wValues]) })
	}
	return true
}
