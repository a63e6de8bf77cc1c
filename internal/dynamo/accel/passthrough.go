package accel

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// namedTable returns the requested table. If it is named by an ARN, which may belong to
// another account, only its name, tags and rule are set.
func (c *call) namedTable(plain bool) *table {
	if plain {
		return c.table()
	}
	return unknownTable(c.set, string(tableOf(c.name)))
}

// itemReadTags returns the tags that a write to the item with the given key invalidates. If
// the item can't be determined, they are those of any write to the table.
func (t *table) itemReadTags(key []byte) []cache.Tag {
	if t.known && key != nil {
		if k, ok := t.keyOf(key); ok {
			return t.itemTags(k)
		}
	}
	return []cache.Tag{t.tags.writes, t.tags.table, t.tags.origin}
}

// lagging reports whether the stream of a table lags, so that the request is forwarded.
func (c *call) lagging(t *table) bool {
	if !t.lags(c.now) {
		return false
	}
	c.pass = telemetry.BypassLagging
	return true
}

// passItem forwards a GetItem that isn't served from the cache. It is made strongly
// consistent if the item was written less than settle ago. c.m holds the members of the
// request.
func (c *call) passItem(t *table) {
	if c.itemKey(t, c.m[1]) {
		c.recordKey(t)
	}
	strong, ok := isTrue(c.m[2])
	capacity, plain := capacityMode(c.m[6])
	if !ok || !plain || !t.rule.caches() {
		c.passRead(c.pass)
		return
	}
	q := originQuery{body: c.x.Body, capacity: capacity}
	if !strong && c.svc.cache.Note(t.itemReadTags(c.m[1])...).Strong {
		q.makeStrong()
	}
	c.forwardQuery(&q, c.pass)
}

// strongPart is a part of a BatchGetItem that was made strongly consistent.
type strongPart struct {
	table    []byte // as in the request
	original []byte // the client's ConsistentRead; nil if absent
}

// passBatch forwards a BatchGetItem that isn't served from the cache. Parts with items that
// were written less than settle ago are made strongly consistent, and the response is
// converted to match the client's own request.
func (c *call) passBatch(items, capacity []byte) {
	mode, plain := capacityMode(capacity)
	changed, parts, ok := c.makePartsStrong(items)
	if !plain || !ok || len(parts) == 0 {
		c.passRead(c.pass)
		return
	}
	body, ok := wire.SetMember(nil, c.x.Body, "RequestItems", changed)
	if !ok {
		c.passRead(c.pass)
		return
	}
	resp, err := c.forwardRead(body)
	switch {
	case err != nil:
		c.failOrigin(err, c.pass)
	case resp.Class != origin.Good:
		c.relay(resp, c.pass)
	default:
		answer := resp.Body
		for _, p := range parts {
			answer = p.restore(answer)
		}
		if mode != 0 {
			answer = halveParts(answer, parts)
		}
		c.relayChanged(resp, answer, c.pass)
	}
}

// makePartsStrong makes parts of RequestItems strongly consistent. It returns false if the
// request isn't understood.
func (c *call) makePartsStrong(items []byte) (changed []byte, parts []strongPart, ok bool) {
	if wire.Kind(items) != '{' {
		return nil, nil, false
	}
	changed = items
	it := wire.Object(items)
	for it.Next() {
		if _, ok = c.members(it.Value(), []string{"Keys", "ConsistentRead"}); !ok {
			return nil, nil, false
		}
		keys, before := c.m[0], c.m[1]
		strong, plain := isTrue(before)
		if !plain {
			return nil, nil, false
		}
		t := c.namedTable(c.setTable(it.QuotedName()))
		if strong || !t.rule.caches() || !c.anyRecentlyWritten(t, keys) {
			continue
		}
		part, ok := wire.SetMember(nil, it.Value(), "ConsistentRead", []byte("true"))
		if !ok {
			return nil, nil, false
		}
		if changed, ok = wire.SetMember(nil, changed, string(c.name), part); !ok {
			return nil, nil, false
		}
		parts = append(parts, strongPart{bytes.Clone(c.name), before})
	}
	return changed, parts, !it.Err()
}

// anyRecentlyWritten reports whether one of the items with the given keys was written less
// than settle ago.
func (c *call) anyRecentlyWritten(t *table, keys []byte) bool {
	it := wire.Array(keys)
	for it.Next() {
		if c.svc.cache.Note(t.itemReadTags(it.Value())...).Strong {
			return true
		}
	}
	return false
}

// restore restores the client's own ConsistentRead in the unprocessed keys of the part.
func (p *strongPart) restore(answer []byte) []byte {
	all, ok := memberOf(answer, "UnprocessedKeys")
	if !ok || all == nil {
		return answer
	}
	part, ok := memberOf(all, string(p.table))
	if !ok || part == nil {
		return answer
	}
	if p.original == nil {
		part, ok = wire.WithoutMember(nil, part, "ConsistentRead")
	} else {
		part, ok = wire.SetMember(nil, part, "ConsistentRead", p.original)
	}
	if ok {
		all, ok = wire.SetMember(nil, all, string(p.table), part)
	}
	if ok {
		if restored, ok := wire.SetMember(nil, answer, "UnprocessedKeys", all); ok {
			return restored
		}
	}
	return answer
}

// halveParts halves the capacity that the response reports for the parts.
func halveParts(answer []byte, parts []strongPart) []byte {
	all, ok := memberOf(answer, "ConsumedCapacity")
	if !ok || wire.Kind(all) != '[' {
		return answer
	}
	list := []byte{'['}
	it := wire.Array(all)
	for it.Next() {
		if len(list) > 1 {
			list = append(list, ',')
		}
		quoted, _ := wire.Lookup(it.Value(), "TableName")
		if !containsTable(parts, quoted) {
			list = append(list, it.Value()...)
		} else if list, ok = wire.HalveUnits(list, it.Value()); !ok {
			return answer
		}
	}
	if it.Err() {
		return answer
	}
	if halved, ok := wire.SetMember(nil, answer, "ConsumedCapacity", append(list, ']')); ok {
		return halved
	}
	return answer
}

// containsTable reports whether the table with the given quoted name is among the parts.
func containsTable(parts []strongPart, quoted []byte) bool {
	return slices.ContainsFunc(parts, func(p strongPart) bool { return isText(quoted, string(p.table)) })
}
