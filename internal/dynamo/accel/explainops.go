package accel

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// batchGetItem looks up each key.
func (e *explanation) batchGetItem() {
	c, b := e.c, &e.c.batch
	known, ok := c.members(c.x.Body, batchGetMembers)
	if !ok {
		e.duplicateMember()
		return
	}
	items, capacity := c.m[0], c.m[1]
	it := wire.Object(items)
	for it.Next() {
		if e.requireTable(it.QuotedName()) == nil {
			return
		}
	}
	if !known || wire.Kind(items) != '{' || !c.parseBatch(items, capacity) {
		e.decide(telemetry.BypassUncacheable, "the request may be invalid, or items of one of its tables are not cached; forwarded for the origin to check")
		return
	}
	missing := 0
	for i := range b.parts {
		missing += e.batchPart(&b.parts[i])
	}
	if missing == 0 {
		e.decide(telemetry.Hit, "every key is in memory")
		return
	}
	e.decide(b.missDecision(missing), "the missing items are fetched in one request")
}

// batchPart explains the keys of one table and returns how many are missing.
func (e *explanation) batchPart(p *batchPart) (missing int) {
	c := e.c
	for i := range c.batch.keys[p.first:p.end] {
		k := &c.batch.keys[p.first+i]
		entry, found := c.svc.space.Peek(c.batch.cacheKey(k), c.now)
		note := "not in memory"
		switch {
		case p.read.strong:
			note = "a strongly consistent read"
		case found == cache.Unleased:
			note = isolated
		case found == cache.Fresh && entry.Kind() == kindAbsent:
			note = "in memory: no such item"
		case found == cache.Fresh:
			note = fmt.Sprintf("in memory: %d bytes", len(entry.Payload()))
		}
		if p.read.strong || found != cache.Fresh {
			missing++
			note += e.firstAsked(p, k)
		}
		e.step("key", p.t.name+" "+string(k.json), note)
	}
	return missing
}

// firstAsked names the owner of a missing key, if that is asked before the origin.
func (e *explanation) firstAsked(p *batchPart, k *batchKey) string {
	c := e.c
	owner := c.svc.cache.Owner(p.t.peerKey(c.batch.cacheKey(k)))
	if st := c.svc.cache.Note(p.t.itemTags(c.batch.itemKey(k))...); owner == "" || p.read.strong || !st.Settled {
		return ""
	}
	return "; " + owner + " is asked first"
}

// writeItem explains which tags a write of one item invalidates.
func (e *explanation) writeItem() {
	c := e.c
	if _, ok := c.members(c.x.Body, writeMembers); !ok {
		e.duplicateMember()
		return
	}
	t, why := e.table(c.m[wTable])
	switch {
	case why == "":
	case t == nil && len(c.name) > 0:
		e.decide(telemetry.Write, why)
		return
	default:
		e.decide(telemetry.Write, "the origin executes it first, then everything of the table is dropped: "+why)
		return
	}
	w, ok := c.parseWrite(t)
	if !ok {
		e.decide(telemetry.Write, "the origin executes it first, then everything of the table is dropped: the item can't be determined")
		return
	}
	e.step("key", t.keyText(t.cacheKey(w.key)), canonical)
	e.tags([]cache.Tag{t.itemTag(w.key.bytes), t.partitionTag(w.key.hash()), t.tags.writes},
		"the item", "queries of its partition", "scans of the table")
	t.eachGlobalIndex(func(ix *index) {
		e.step("index", ix.name, "queries of the partitions that the item leaves, enters or changes in")
	})
	if w.originReturns != w.clientReturns {
		e.step("ReturnValues", w.originReturns, "requested from the origin to determine them; the client receives "+w.clientReturns)
	}
	e.decide(telemetry.Write, "the origin executes it first; these generations change before and after")
}

// partiql explains which statements read and which write.
func (e *explanation) partiql() {
	statements, ok := e.c.statements()
	if !ok {
		e.duplicateMember()
		return
	}
	writes := false
	for i := range statements {
		note, write := e.statement(&statements[i])
		e.step("statement", string(statements[i].quoted), note)
		writes = writes || write
	}
	if writes {
		e.decide(telemetry.Write, "the origin executes it first")
		return
	}
	e.decide(telemetry.BypassUncacheable, "results of statements are not cached")
}

// statement returns what a statement drops, and whether it writes.
func (e *explanation) statement(s *statement) (note string, write bool) {
	st, understood := partiql.Statement{}, false
	var ok bool
	if s.text, ok = wire.AppendExact(nil, s.quoted); ok {
		st, understood = partiql.Parse(s.text)
	}
	if _, write := accessOf(st.Kind, understood); !write {
		return "a read: nothing is dropped", false
	}
	g := &group{svc: e.c.svc, origin: e.c.set.tag}
	switch {
	case len(tableOf(st.Table)) == 0:
		return "not understood, so a write: everything of the origin is dropped", true
	case e.c.svc.peek(tableOf(st.Table)) == nil:
		return "a write; the table's schema, which shows what is dropped, is not cached yet", true
	}
	if e.c.addStatement(g, s, st.Table); len(g.items) > 0 {
		return "a write: the item " + string(g.items[0].key) + " and its dependents are dropped", true
	}
	return "a write to an item that can't be determined: everything of the table is dropped", true
}

// other explains operations without an item key.
func (e *explanation) other() {
	switch op := e.c.op; op.Kind {
	case wire.BatchWriteItem, wire.TransactWriteItems:
		e.decide(telemetry.Write, "the origin executes it first; then the items and their dependents are dropped; explain a PutItem for one of them")
	case wire.TransactGetItems:
		e.decide(telemetry.BypassUncacheable, "forwarded: only the origin can read several items at one instant")
	case wire.CreateTable, wire.UpdateTable, wire.DeleteTable, wire.UpdateTimeToLive, wire.OtherAdmin, wire.OtherWrite:
		e.decide(telemetry.Pass, "forwarded unchanged; everything of its tables is dropped, or of all tables if it may change others")
	default:
		e.decide(telemetry.Pass, "forwarded unchanged; nothing is dropped")
	}
}
