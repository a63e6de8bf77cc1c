package accel

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// namedTable returns the table that the request names. Of one that is named by its ARN,
// which may be another account's, no more than name, tags and rule are known.
func (c *call) namedTable(plain bool) *table {
	if plain {
		return c.table()
	}
	return unknownTable(c.set, string(tableOf(c.name)))
}

// itemReadTags are the tags that move when the item under key is written. If the item can't
// be told, they move with every write to the table.
func (t *table) itemReadTags(key []byte) []cache.Tag {
	if t.known && key != nil {
		if k, ok := t.keyOf(key); ok {
			return t.itemTags(k)
		}
	}
	return []cache.Tag{t.tags.writes, t.tags.table, t.tags.origin}
}

// passItem passes on a GetItem that the cache does not answer, made strongly consistent if
// the item was written less than settle ago. The request's members are in c.m.
func (c *call) passItem(t *table) {
	strong, ok := isTrue(c.m[2])
	capacity, plain := capacityMode(c.m[6])
	if !ok || !plain || !t.rule.caches() {
		c.passRead(telemetry.BypassUncacheable)
		return
	}
	q := originQuery{body: c.x.Body, capacity: capacity}
	if !strong && c.svc.cache.Note(t.itemReadTags(c.m[1])...).Strong {
		q.makeStrong()
	}
	c.forwardQuery(&q, telemetry.BypassUncacheable)
}

// strongPart is a part of a BatchGetItem that was made strongly consistent.
type strongPart struct {
	table    []byte // as the request names it
	original []byte // ConsistentRead as the client sent it; nil if it did not
}

// passBatch passes on a BatchGetItem that the cache does not answer. Parts with items that
// were written less than settle ago are made strongly consistent, and the answer is changed
// to what the client's own request would have got.
func (c *call) passBatch(items, capacity []byte) {
	mode, plain := capacityMode(capacity)
	changed, parts, ok := c.makePartsStrong(items)
	if !plain || !ok || len(parts) == 0 {
		c.passRead(telemetry.BypassUncacheable)
		return
	}
	body, ok := wire.SetMember(nil, c.x.Body, "RequestItems", changed)
	if !ok {
		c.passRead(telemetry.BypassUncacheable)
		return
	}
	resp, err := c.forwardRead(body)
	switch {
	case err != nil:
		c.failOrigin(err, telemetry.BypassUncacheable)
	case resp.Class != origin.Good:
		c.relay(resp, telemetry.BypassUncacheable)
	default:
		answer := resp.Body
		for _, p := range parts {
			answer = p.restore(answer)
		}
		if mode != 0 {
			answer = halveParts(answer, parts)
		}
		c.relayChanged(resp, answer, telemetry.BypassUncacheable)
	}
}

// makePartsStrong makes parts of RequestItems strongly consistent; false if it is not
// understood.
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

// anyRecentlyWritten reports whether one of the items under keys was written less than settle ago.
func (c *call) anyRecentlyWritten(t *table, keys []byte) bool {
	it := wire.Array(keys)
	for it.Next() {
		if c.svc.cache.Note(t.itemReadTags(it.Value())...).Strong {
			return true
		}
	}
	return false
}

// restore gives what the answer says of unprocessed keys of the part the client's own
// ConsistentRead.
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

// halveParts halves the capacity that the answer shows for the parts.
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

// containsTable reports whether a table's name, a JSON string, is that of one of the parts.
func containsTable(parts []strongPart, quoted []byte) bool {
	for i := range parts {
		if isText(quoted, string(parts[i].table)) {
			return true
		}
	}
	return false
}
