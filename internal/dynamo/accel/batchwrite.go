package accel

import (
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// group is several writes in one request: a batch or a transaction. The origin returns no
// images of them. A write therefore drops all queries of a global index, unless the items'
// keys alone determine their partition in it.
type group struct {
	svc           *Service
	origin        cache.Tag
	tags          []cache.Tag // invalidated by the write
	watch         []cache.Tag
	items         []change
	uncertainTags []cache.Tag // also invalidated if the outcome is unknown
	tables        []*table
	whole         []string     // names of tables that are invalidated as a whole
	own           []groupWrite // the writes whose stream records are recognized
	keys          [][]byte     // the cache keys of items

	statements bool // a BatchExecuteStatement, some of whose statements may fail

	// Of a transaction:
	repeatable   bool   // an answer may not mean that it was executed
	body         []byte // sent in place of the client's request, if not nil
	addsCapacity bool   // it asks for ConsumedCapacity, which the client has not requested
}

func (g *group) add(t *table, key itemKey, ch change) {
	g.tags = append(g.tags, t.itemTag(key.bytes), t.partitionTag(key.hash()))
	g.watch = append(g.watch, t.purgeTag(key.hash()))
	g.addTable(t)
	ch.t = t
	g.items, g.keys = append(g.items, ch), append(g.keys, t.cacheKey(key))
}

// addTable adds a table with at least one write.
func (g *group) addTable(t *table) {
	for _, have := range g.tables {
		if have == t {
			return
		}
	}
	g.tables = append(g.tables, t)
	g.tags = append(g.tags, t.tags.writes)
	g.watch = append(g.watch, t.tags.table)
	g.uncertainTags = append(g.uncertainTags, t.allIndexTags()...)
}

// addWholeTable adds a write to an unknown item or table, which invalidates the whole table.
func (g *group) addWholeTable(name []byte) {
	tags := newTableTags(g.origin, string(name))
	g.tags = append(g.tags, tags.table, tags.writes)
	g.whole = append(g.whole, string(name))
}

// committedChange returns the change after the origin has executed the group. It stores no
// items: a repeated transaction is acknowledged without changing anything, and a batch may
// leave items unprocessed.
func (g *group) committedChange() cache.Change {
	ch := cache.Change{Cause: cache.ByWrite}
	for _, t := range g.tables {
		if !g.svc.isCurrent(t) {
			ch.Tags = append(ch.Tags, t.tags.table)
		}
	}
	for i := range g.items {
		ch.Tags = g.items[i].indexTags(ch.Tags)
	}
	return ch
}

// writeGroup forwards the request and invalidates the cache.
func (c *call) writeGroup(g *group) {
	g.watch = append(g.watch, c.set.tag)
	ctx, cancel := c.writeDeadline()
	defer cancel()
	cw := c.beginWrite(ctx, telemetry.Write, g.tags, g.watch, g.uncertainTags...)
	if cw == nil {
		return
	}
	defer cw.Unknown(g.uncertainTags...)
	if g.own != nil {
		g.beginOwn(c.now)
		defer g.dropOwn()
	}
	body := g.body
	if body == nil {
		body = c.x.Body
	}
	resp, err := c.forwardWrite(ctx, cw, body)
	if objectOutcomeUnknown(resp, err) || g.statements && err == nil && resp.Class == origin.Good && statementUnknown(resp.Body) {
		cw.Unknown(g.uncertainTags...)
		g.invalidated(cache.ByUnknown)
	} else {
		ch := cache.Change{}
		if err == nil && resp.Class == origin.Good {
			ch = g.committedChange()
			g.invalidated(cache.ByWrite)
		}
		if !c.commitWrite(ctx, cw, ch, telemetry.Write) {
			return
		}
		if err == nil && resp.Class == origin.Good {
			g.endOwn(resp.Body, c.now)
			g.countKeys()
		}
	}
	if err != nil {
		c.failOrigin(err, telemetry.Write)
		return
	}
	if g.addsCapacity && resp.Class == origin.Good {
		if view, ok := wire.WithoutMember(nil, resp.Body, "ConsumedCapacity"); ok {
			c.relayChanged(resp, view, telemetry.Write)
			return
		}
	}
	c.relay(resp, telemetry.Write)
}

// batchWriteItem writes a batch through.
func (c *call) batchWriteItem() {
	items, g := c.newGroup("RequestItems")
	if g == nil {
		return
	}
	it := wire.Object(items)
	for it.Next() {
		c.addBatch(g, it.QuotedName(), it.Value())
	}
	if it.Err() {
		g.tags = append(g.tags, c.set.tag)
	}
	c.writeGroup(g)
}

// newGroup validates a request with writes in the member called name. It returns that member
// and a new group, or nil if it has answered with an error.
func (c *call) newGroup(name string) (value []byte, g *group) {
	value, ok := c.member(name)
	if !ok {
		c.fail("SerializationException", "")
		return nil, nil
	}
	if !c.authorizeAll(wire.Write) {
		return nil, nil
	}
	return value, &group{svc: c.svc, origin: c.set.tag}
}

// member returns one member of the request. ok is false if it occurs twice.
func (c *call) member(name string) (value []byte, ok bool) {
	_, ok = c.members(c.x.Body, []string{name})
	return c.m[0], ok
}

// addBatch adds the writes of one table. A request that isn't understood is a write to the
// whole table.
func (c *call) addBatch(g *group, quoted, requests []byte) {
	if !c.setTable(quoted) {
		if name := tableOf(c.name); len(name) > 0 {
			g.addWholeTable(name)
		} else {
			g.tags = append(g.tags, c.set.tag)
		}
		return
	}
	t := c.table()
	it := wire.Array(requests)
	whole := !t.known
	for !whole && it.Next() {
		whole = !c.addRequest(g, t, it.Value())
	}
	if whole || it.Err() {
		g.addWholeTable(c.name)
	}
}

func (c *call) addRequest(g *group, t *table, request []byte) bool {
	key, ch, ok := t.parseRequest(request)
	if ok {
		g.add(t, key, ch)
		g.addOwn(t, key, &ch)
	}
	return ok
}

// parseRequest returns the key and the effect of a put or delete of a batch. It returns false
// if the request isn't understood.
func (t *table) parseRequest(request []byte) (key itemKey, ch change, ok bool) {
	if put, ok := wire.Lookup(request, "PutRequest"); ok && wire.Kind(put) == '{' {
		item, _ := wire.Lookup(put, "Item")
		key, ok = t.keyOfItem(item)
		return key, change{key: item, new: image{known: true, item: item}}, ok
	}
	del, ok := wire.Lookup(request, "DeleteRequest")
	if !ok {
		return itemKey{}, change{}, false
	}
	keyJSON, _ := wire.Lookup(del, "Key")
	key, ok = t.keyOf(keyJSON)
	return key, change{key: keyJSON, new: image{known: true}}, ok
}

// groupWrite is a write of a group to a table whose stream is followed.
type groupWrite struct {
	t      *table
	item   cache.Tag
	new    image
	moves  indexMoves
	update *ownUpdate // in place of the new image
	write  *ownWrite  // nil before the group is sent
}

// addOwn adds a put or delete whose stream record is to be recognized.
func (g *group) addOwn(t *table, key itemKey, ch *change) {
	if t.feed != nil {
		ch.t = t
		g.own = append(g.own, groupWrite{t: t, item: t.itemTag(key.bytes), new: ch.new, moves: ch.indexMoves()})
	}
}

// addOwnUpdate adds an update whose stream record is to be recognized. update is called only if
// the table's stream is followed.
func (g *group) addOwnUpdate(t *table, key itemKey, update func() *ownUpdate) {
	if t.feed != nil {
		g.own = append(g.own, groupWrite{t: t, item: t.itemTag(key.bytes), update: update()})
	}
}

func (g *group) beginOwn(now int64) {
	for i := range g.own {
		w := &g.own[i]
		w.write = w.t.feed.own.begin(w.item, now)
	}
}

func (g *group) dropOwn() {
	for i := range g.own {
		g.own[i].write.drop()
	}
}

// endOwn ends the writes of a group that was answered with body.
func (g *group) endOwn(body []byte, now int64) {
	if g.own == nil || !g.dropUnprocessed(body) || g.repeatable && !executed(body) || g.statements && statementFailed(body) {
		return // dropOwn follows
	}
	for i := range g.own {
		w := &g.own[i]
		if w.update != nil {
			w.write.endUpdate(w.update)
			w.t.feed.own.updated.Store(now)
			continue
		}
		w.write.movesIndexes(w.moves)
		w.write.end(image{}, w.new)
	}
}

// dropUnprocessed drops the writes that the origin has not executed. It returns false if they
// can't be determined.
func (g *group) dropUnprocessed(body []byte) bool {
	unprocessed, ok := memberOf(body, "UnprocessedItems")
	if !ok || unprocessed == nil {
		return ok
	}
	tables := wire.Object(unprocessed)
	for tables.Next() {
		requests := wire.Array(tables.Value())
		for requests.Next() {
			if !g.dropRequest(tables.Name(), requests.Value()) {
				return false
			}
		}
		if requests.Err() {
			return false
		}
	}
	return !tables.Err()
}

// dropRequest drops the write of a request to the table called name in the answer. It returns
// false if the request isn't understood.
func (g *group) dropRequest(name, request []byte) bool {
	for _, t := range g.tables {
		if !wire.NameIs(name, t.name) {
			continue
		}
		key, _, ok := t.parseRequest(request)
		if !ok {
			return false
		}
		item := t.itemTag(key.bytes)
		for i := range g.own {
			if g.own[i].item == item {
				g.own[i].write.drop()
			}
		}
		return true
	}
	return false
}
