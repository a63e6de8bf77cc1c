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

// itemWrite is a PutItem, UpdateItem or DeleteItem in progress.
type itemWrite struct {
	t             *table
	kind          wire.OpKind
	key           itemKey
	keyJSON       []byte // Key, or Item
	update        *expr.Update
	clientReturns string // ReturnValues requested by the client
	originReturns string // ReturnValues requested from the origin
}

// writeItem writes through: first to the origin, then to the cache, then it replies.
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
	c.key = append(t.appendPrefix(c.key[:0], keyItem), w.key.bytes...)
	c.recordKey(t)
	body := c.x.Body
	if w.originReturns != w.clientReturns {
		if body, ok = wire.SetMember(nil, body, "ReturnValues", []byte(`"`+w.originReturns+`"`)); !ok {
			body, w.originReturns = c.x.Body, w.clientReturns
		}
	}
	c.writeThrough(w, body)
}

// passTableWrite forwards a write to an unknown item. Everything of the table is dropped.
func (c *call) passTableWrite(name []byte) {
	if len(name) == 0 {
		c.passWrite(telemetry.Write, c.set.tag)
		return
	}
	tags := newTableTags(c.set.tag, string(name))
	c.passWrite(telemetry.Write, tags.table, tags.writes)
}

// parseWrite parses a write. It returns false if the write isn't understood.
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
		w.update = parseUpdate(c.m[wExpression], c.m[wUpdates], c.m[wNames], c.m[wValues])
	}
	w.originReturns = w.chooseReturnValues()
	return w, true
}

// parseUpdate parses an update's expression. It returns nil if the update isn't understood.
func parseUpdate(expression, legacy, names, values []byte) *expr.Update {
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
	// The condition's placeholders are in the same maps.
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

// chooseReturnValues returns the image to request from the origin. The service needs the old
// one to find the global index partitions that the item left; otherwise it requests the new
// one, which can be cached. The client's choice has priority: it is replaced only if the
// client's reply can be derived from the other image.
func (w *itemWrite) chooseReturnValues() string {
	globals := w.t.hasGlobalIndex() && w.t.rule.query > 0
	followed := w.t.feed != nil // an image lets the stream's record be recognized
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
			if w.t.rule.item > 0 || followed {
				return "ALL_NEW"
			}
			return "NONE"
		}
		if w.mayMoveInIndex() {
			return "ALL_OLD"
		}
		return "ALL_NEW"
	case "UPDATED_OLD":
		if (globals || followed) && w.canProject() {
			return "ALL_OLD"
		}
	case "UPDATED_NEW":
		if (globals || followed) && w.canProject() {
			return "ALL_NEW"
		}
	}
	return w.clientReturns
}

// canProject reports whether the attributes touched by the update can be extracted from an
// image.
func (w *itemWrite) canProject() bool {
	_, ok := w.update.ProjectUpdated(nil, []byte(emptyReply))
	return ok
}

// mayMoveInIndex reports whether the update may move the item to another partition of a
// global index.
func (w *itemWrite) mayMoveInIndex() bool {
	ch := change{t: w.t, targets: w.update.Targets()}
	moves := false
	w.t.eachGlobalIndex(func(ix *index) {
		moves = moves || !w.t.keyDetermines(ix) && (ch.touches(ix.hash) || ch.touches(ix.rng))
	})
	return moves
}

// writeThrough forwards the write and invalidates the cache. The order is described in
// package cache under the life of a write.
func (c *call) writeThrough(w *itemWrite, body []byte) {
	t := w.t
	tags := []cache.Tag{t.itemTag(w.key.bytes), t.partitionTag(w.key.hash()), t.tags.writes}
	watch := []cache.Tag{t.purgeTag(w.key.hash()), t.tags.table, t.tags.origin}
	ctx, cancel := c.writeDeadline()
	defer cancel()
	unsure := t.allIndexTags()
	cw := c.beginWrite(ctx, telemetry.Write, tags, watch, unsure...)
	if cw == nil {
		return
	}
	defer cw.Unknown(unsure...)
	var own *ownWrite
	if t.feed != nil {
		own = t.feed.own.begin(tags[0], c.now)
		defer own.drop()
	}
	resp, err := c.forwardWrite(ctx, cw, body)
	if objectOutcomeUnknown(resp, err) {
		cw.Unknown(unsure...)
		c.svc.invalidated(t.name, cache.ByUnknown, 1)
	} else {
		ch := cache.Change{}
		var old, new image
		if err == nil && resp.Class == origin.Good {
			ch, old, new = c.committedChange(w, resp, own)
			c.svc.invalidated(t.name, cache.ByWrite, 1)
		}
		if !c.commitWrite(ctx, cw, ch, telemetry.Write) {
			return
		}
		own.end(old, new)
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

// objectOutcomeUnknown is like outcomeUnknown, for a write whose response must be an object.
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

// outcomeUnknown reports whether the write may or may not have been executed.
func outcomeUnknown(resp *origin.Response, err error) bool {
	if err != nil {
		return mayHaveExecuted(err)
	}
	return resp.Class == origin.Failed
}

// allIndexTags returns the tags of all queries of all global indexes.
func (t *table) allIndexTags() (tags []cache.Tag) {
	t.eachGlobalIndex(func(ix *index) { tags = append(tags, t.indexTag(ix)) })
	return tags
}

// committedChange returns the effect of a successful write on the cache, and the item's images
// if they are known. own is the write if its table's stream is followed.
func (c *call) committedChange(w *itemWrite, resp *origin.Response, own *ownWrite) (ch cache.Change, old, new image) {
	t := w.t
	ch = cache.Change{Cause: cache.ByWrite}
	if !c.svc.isCurrent(t) {
		// The table was described again in the meantime: its indexes may have changed.
		ch.Tags = append(ch.Tags, t.tags.table)
		return ch, old, new
	}
	old, new = w.images(resp.Body)
	effect := change{t: t, key: w.keyJSON, old: old, new: new, update: w.kind == wire.UpdateItem}
	if w.update != nil {
		effect.targets = w.targets()
	}
	ch.Tags = effect.indexTags(ch.Tags)
	if own != nil {
		own.movesIndexes(effect.indexMoves())
	}
	if f, ok := c.svc.writtenFilling(w, new); ok {
		ch.Puts = []cache.Put{{Space: c.svc.space, Key: t.cacheKey(w.key), Tags: t.itemTags(w.key), Filling: f}}
	}
	return ch, old, new
}

// targets returns the targets of the update. It is never nil, because nil means not
// understood.
func (w *itemWrite) targets() []expr.Target {
	if ts := w.update.Targets(); ts != nil {
		return ts
	}
	return []expr.Target{}
}

// images returns the images from the write alone: its request and its response. The cached
// item isn't used, because it may have been changed without going through Kasoku.
func (w *itemWrite) images(body []byte) (old, new image) {
	attributes, _ := memberOf(body, "Attributes")
	switch w.originReturns {
	case "ALL_OLD":
		old = image{known: true, item: attributes}
	case "ALL_NEW":
		// Without a new image, an update that only removes attributes found no item; the
		// resulting state depends on the origin.
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

// applyUpdate returns the image after an update that only removes attributes and sets them
// to values in the request. It returns the zero image for any other update.
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
		return image{} // an update that only removes might not create an item
	}
	return image{known: true, item: item}
}

// writtenFilling returns the entry to cache after the write. It returns false if the item
// isn't known exactly.
func (s *Service) writtenFilling(w *itemWrite, new image) (f cache.Filling, ok bool) {
	switch {
	case w.t.rule.item <= 0 || !new.known:
		return f, false
	case new.item == nil:
		f = s.absentFilling(w.t)
	case w.originReturns != "ALL_NEW" && !wire.ReadsBackAs(new.item):
		return f, false
	default:
		f = s.presentFilling(w.t, new.item, nil)
	}
	f.Free = true
	return f, true
}

// clientView returns the response with only the attributes that the client requested.
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
