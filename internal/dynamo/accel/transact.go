package accel

import (
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
	c.writeGroup(g)
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
			g.add(t, key, change{key: item, new: image{known: true, item: item}})
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
	return true
}
