package accel

import (
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

const (
	wTable = iota
	wItem
	wKey
	wReturns
	wExpression
	wUpdates
	wNames
	wValues
)

var writeMembers = []string{"TableName", "Item", "Key", "ReturnValues", "UpdateExpression",
	"AttributeUpdates", "ExpressionAttributeNames", "ExpressionAttributeValues"}

// itemWrite is a PutItem, UpdateItem or DeleteItem under way.
type itemWrite struct {
	t             *table
	kind          wire.OpKind
	key           itemKey
	keyJSON       []byte // Key, or Item
	update        *expr.Update
	clientReturns string // ReturnValues as the client wants them
	originReturns string // and as the origin is asked for them
}

// writeItem writes through: the origin first, then the cache, then the answer.
func (c *call) writeItem() {
	if _, ok := c.members(c.x.Body, writeMembers); !ok {
		c.fail("SerializationException", "")
		return
	}
	named := c.setTable(c.m[wTable])
	if !c.authorize(wire.Write, tableOf(c.name)) {
		return
	}
	if !named {
		c.passTableWrite(tableOf(c.name))
		return
	}
	t := c.table()
	w, ok := c.parseWrite(t)
	if !ok {
		c.passTableWrite(c.name)
		return
	}
	c.x.Record.KeyHash = uint64(t.itemTag(w.key.bytes))
	body := c.x.Body
	if w.originReturns != w.clientReturns {
		if body, ok = wire.SetMember(nil, body, "ReturnValues", []byte(`"`+w.originReturns+`"`)); !ok {
			body, w.originReturns = c.x.Body, w.clientReturns
		}
	}
	c.writeThrough(w, body)
}

// passTableWrite passes a write on whose item can't be told: everything of the
// table is dropped.
func (c *call) passTableWrite(name []byte) {
	if len(name) == 0 {
		c.passWrite(telemetry.Write, c.set.tag)
		return
	}
	tags := newTableTags(c.set.tag, string(name))
	c.passWrite(telemetry.Write, tags.table, tags.writes)
}

// parseWrite understands a write; false leaves it to the origin.
func (c *call) parseWrite(t *table) (w *itemWrite, ok bool) {
	if !t.known {
		return nil, false
	}
	w = &itemWrite{t: t, kind: c.op.Kind, keyJSON: c.m[wKey]}
	if w.kind == wire.PutItem {
		w.keyJSON = c.m[wItem]
		w.key, ok = t.keyOfItem(w.keyJSON)
	} else {
		w.key, ok = t.keyOf(w.keyJSON)
	}
	if !ok {
		return nil, false
	}
	w.clientReturns = "NONE"
	if raw := c.m[wReturns]; raw != nil {
		text, ok := wire.AppendExact(nil, raw)
		if !ok {
			return nil, false
		}
		w.clientReturns = string(text)
	}
	if w.kind == wire.UpdateItem {
		w.update = c.parseUpdate(c.m[wExpression], c.m[wUpdates], c.m[wNames], c.m[wValues])
	}
	w.originReturns = w.chooseReturnValues()
	return w, true
}

// parseUpdate understands an update's expression; nil if it does not.
func (c *call) parseUpdate(expression, legacy, names, values []byte) *expr.Update {
	if expression == nil {
		if legacy == nil {
			return &expr.Update{}
		}
		u, err := expr.LegacyUpdates(legacy)
		if err != nil {
			return nil
		}
		return u
	}
	text, ok := wire.AppendExact(nil, expression)
	if !ok || legacy != nil {
		return nil
	}
	// The placeholders of the condition are in the same maps.
	var n expr.Names
	var v expr.Values
	if n.Reset(names) != nil || v.Reset(values) != nil {
		return nil
	}
	u, err := expr.ParseUpdate(text, &n, &v)
	if err != nil {
		return nil
	}
	return u
}

// chooseReturnValues decides which image the origin is asked for. The service wants the old
// one where global indexes have to be told what the item left, else the new one,
// which can be kept. What the client wants comes first: only a wish that the other
// image can still fulfil is changed.
func (w *itemWrite) chooseReturnValues() string {
	globals := w.t.hasGlobalIndex() && w.t.rule.query > 0
	if w.kind != wire.UpdateItem {
		if w.clientReturns == "NONE" && globals {
			return "ALL_OLD"
		}
		return w.clientReturns
	}
	if w.update == nil {
		return w.clientReturns
	}
	switch w.clientReturns {
	case "NONE":
		if !globals {
			if w.t.rule.item > 0 {
				return "ALL_NEW"
			}
			return "NONE"
		}
		if w.mayMoveInIndex() {
			return "ALL_OLD"
		}
		return "ALL_NEW"
	case "UPDATED_OLD":
		if globals && w.canProject() {
			return "ALL_OLD"
		}
	case "UPDATED_NEW":
		if globals && w.canProject() {
			return "ALL_NEW"
		}
	}
	return w.clientReturns
}

// canProject tells whether what the update touches can be taken out of an image here.
func (w *itemWrite) canProject() bool {
	_, ok := w.update.ProjectUpdated(nil, []byte(emptyReply))
	return ok
}

// mayMoveInIndex reports whether the update may take the item from one partition of
// a global index to another.
func (w *itemWrite) mayMoveInIndex() bool {
	ch := change{t: w.t, targets: w.update.Targets()}
	moves := false
	w.t.eachGlobalIndex(func(ix *index) {
		moves = moves || !w.t.keyDetermines(ix) && (ch.touches(ix.hash) || ch.touches(ix.rng))
	})
	return moves
}

// writeThrough asks the origin and tells the cache. The order is the cache's: see
// the life of a write there.
func (c *call) writeThrough(w *itemWrite, body []byte) {
	t := w.t
	tags := []cache.Tag{t.itemTag(w.key.bytes), t.partitionTag(w.key.hash()), t.tags.writes}
	watch := []cache.Tag{t.purgeTag(w.key.hash()), t.tags.table, t.tags.origin}
	cw := c.svc.cache.Begin(tags, watch)
	unsure := t.allIndexTags()
	defer cw.Unknown(unsure...)
	resp, err := c.forwardWrite(body)
	if objectOutcomeUnknown(resp, err) {
		cw.Unknown(unsure...)
	} else if err != nil || resp.Class != origin.Good {
		cw.Commit(cache.Change{})
	} else {
		c.commit(cw, w, resp)
	}
	if err != nil {
		c.failOrigin(err, telemetry.Write)
		return
	}
	if resp.Class != origin.Good || w.originReturns == w.clientReturns {
		c.relay(resp, telemetry.Write)
		return
	}
	c.relayChanged(resp, w.clientView(resp.Body), telemetry.Write)
}

// objectOutcomeUnknown is unsettled for a write whose answer has to be an object.
func objectOutcomeUnknown(resp *origin.Response, err error) bool {
	if outcomeUnknown(resp, err) {
		return true
	}
	if err != nil || resp.Class != origin.Good {
		return false
	}
	_, ok := memberOf(resp.Body, "Attributes")
	return !ok
}

// outcomeUnknown tells whether a write may or may not have happened.
func outcomeUnknown(resp *origin.Response, err error) bool {
	if err != nil {
		return mayHaveExecuted(err)
	}
	return resp.Class == origin.Failed
}

// allIndexTags gives up all queries of all global indexes.
func (t *table) allIndexTags() (tags []cache.Tag) {
	t.eachGlobalIndex(func(ix *index) { tags = append(tags, t.indexTag(ix)) })
	return tags
}

// commit applies a write that happened.
func (c *call) commit(cw *cache.Write, w *itemWrite, resp *origin.Response) {
	t := w.t
	ch := cache.Change{Cause: cache.ByWrite}
	if !c.svc.isCurrent(t) {
		// The table was learnt anew meanwhile: its indexes may be others now.
		ch.Tags = append(ch.Tags, t.tags.table)
		cw.Commit(ch)
		return
	}
	old, new := w.images(resp.Body)
	effect := change{t: t, key: w.keyJSON, old: old, new: new, update: w.kind == wire.UpdateItem}
	if w.update != nil {
		effect.targets = w.targets()
	}
	ch.Tags = effect.indexTags(ch.Tags)
	if f, ok := c.svc.writtenFilling(w, new); ok {
		ch.Puts = []cache.Put{{Space: c.svc.space, Key: t.cacheKey(w.key), Tags: t.itemTags(w.key), Filling: f}}
	}
	cw.Commit(ch)
}

// targets is what the update touches; never nil, since nil means not understood.
func (w *itemWrite) targets() []expr.Target {
	if ts := w.update.Targets(); ts != nil {
		return ts
	}
	return []expr.Target{}
}

// images takes the images from the write alone: its request and its answer. The
// cached item is not used, since it may have been changed past Kasoku.
func (w *itemWrite) images(body []byte) (old, new image) {
	attributes, _ := memberOf(body, "Attributes")
	switch w.originReturns {
	case "ALL_OLD":
		old = image{known: true, item: attributes}
	case "ALL_NEW":
		// No new image means that an update which only removes met no item; what
		// an origin makes of that is not ours to guess.
		new = image{known: attributes != nil, item: attributes}
	}
	switch w.kind {
	case wire.PutItem:
		new = image{known: true, item: w.keyJSON}
	case wire.DeleteItem:
		new = image{known: true}
	case wire.UpdateItem:
		if old.known {
			new = w.applyUpdate(old)
		}
	}
	return old, new
}

// applyUpdate returns the image after an update that only removes attributes and sets
// them to values of the request; the zero image for any other update.
func (w *itemWrite) applyUpdate(old image) image {
	if w.update == nil {
		return image{}
	}
	item, sets, ok := old.item, false, true
	if item == nil {
		item = w.keyJSON
	}
	for _, t := range w.update.Targets() {
		switch {
		case t.Effect == expr.SetTo:
			sets = true
			item, ok = wire.SetMember(nil, item, t.Name, t.Value)
		case t.Effect == expr.Removed:
			item, ok = wire.WithoutMember(nil, item, t.Name)
		default:
			ok = false
		}
		if !ok {
			return image{}
		}
	}
	if old.item == nil && !sets {
		return image{} // an update that only removes may make no item
	}
	return image{known: true, item: item}
}

// writtenFilling is what may be kept after the write; false if that is not known to the
// letter.
func (s *Service) writtenFilling(w *itemWrite, new image) (f cache.Filling, ok bool) {
	switch {
	case w.t.rule.item <= 0 || !new.known:
		return f, false
	case new.item == nil:
		return s.absentFilling(w.t), true
	case w.originReturns != "ALL_NEW" && !wire.ReadsBackAs(new.item):
		return f, false
	}
	return s.presentFilling(w.t, new.item), true
}

// clientView gives the answer the attributes that the client asked for, and no
// others.
func (w *itemWrite) clientView(body []byte) []byte {
	attributes, there := wire.Lookup(body, "Attributes")
	if !there {
		return body
	}
	if w.clientReturns != "NONE" {
		view, ok := w.update.ProjectUpdated(nil, attributes)
		if !ok {
			return body
		}
		if string(view) != "{}" {
			out, _ := wire.SetMember(nil, body, "Attributes", view)
			return out
		}
	}
	out, _ := wire.WithoutMember(nil, body, "Attributes")
	return out
}
