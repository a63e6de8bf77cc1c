package accel

import (
	"context"
	"encoding/binary"
	"strconv"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// warmer makes the stored answers of a service available to other nodes. Its questions are those
// of peerRequest.
type warmer struct{ *Service }

var _ cache.Warmer = warmer{}

// Stored implements cache.Warmer.
func (s warmer) Stored(question []byte) (a cache.Shared, ok bool) {
	s.peerCall(context.Background(), question, func(c *call, q *peerRequest) {
		q.storedOnly = true
		if v := c.peerView(q); v != nil {
			a, ok = s.space.Fresh(c.key)
		}
	})
	return a, ok
}

// Expect implements cache.Warmer. It describes the table if that was not done yet.
func (s warmer) Expect(ctx context.Context, question []byte) (store func(cache.Shared) bool) {
	s.peerCall(ctx, question, func(c *call, q *peerRequest) {
		if v := c.peerView(q); v != nil {
			store = s.space.Expect(c.key, v.tags, v.use)
		}
	})
	return store
}

// Hottest implements cache.Warmer.
func (s warmer) Hottest(n int, yield func(question []byte) bool) {
	tables := make(map[uint32]*table)
	for _, t := range *s.tables.byName.Load() {
		if t.known && s.cache.Current(&t.described) {
			tables[t.id] = t
		}
	}
	for _, e := range s.space.Hottest(n) {
		key := e.Key()
		if len(key) < prefixLen {
			continue
		}
		t := tables[binary.BigEndian.Uint32(key[1:])]
		if t == nil {
			continue
		}
		q := peerRequest{origin: t.tags.origin, kind: key[0], ttlAttribute: t.ttlAttribute}
		var ok bool
		if q.body, ok = t.requestOf(key); ok && !yield(q.encode()) {
			return
		}
	}
}

// requestOf returns a request that has a cache key of t.
func (t *table) requestOf(key []byte) (body []byte, ok bool) {
	if key[0] != keyItem {
		return t.queryOf(key[prefixLen:])
	}
	object, ok := t.keyObject(key[prefixLen:])
	if !ok {
		return nil, false
	}
	return getItemBody(t, []byte(object), false), true
}

// queryOf returns the body of a query or a scan whose cache key has these members, as written by
// queryKey.
func (t *table) queryOf(members []byte) (body []byte, ok bool) {
	var names, values placeholders
	names.mark, values.mark = '#', ':'
	body = append(body, `{"TableName":`...)
	body = wire.AppendQuoted(body, []byte(t.name))
	for len(members) > 0 {
		if len(members) < 5 {
			return nil, false
		}
		i, n := int(members[0]), uint64(binary.BigEndian.Uint32(members[1:]))
		if i < qIndex || i >= qMembers || n > uint64(len(members)-5) {
			return nil, false
		}
		value := members[5 : 5+n]
		members = members[5+n:]
		switch i {
		case qKeyCondition, qFilter, qProjection:
			var text []byte
			if text, ok = expressionOf(value, &names, &values); !ok {
				return nil, false
			}
			value = wire.AppendQuoted(nil, text)
		}
		body = append(append(append(body, ',', '"'), queryMembers[i]...), '"', ':')
		body = append(body, value...)
	}
	body = names.appendTo(body, queryMembers[qNames])
	body = values.appendTo(body, queryMembers[qValues])
	return append(body, '}'), true
}

// placeholders collects what the placeholders of an expression are replaced by, as members of an
// object.
type placeholders struct {
	mark    byte // '#' or ':'
	n       int
	members []byte
}

// add appends a new placeholder for a value to dst.
func (p *placeholders) add(dst, value []byte) []byte {
	if p.n > 0 {
		p.members = append(p.members, ',')
	}
	name := strconv.AppendInt([]byte{p.mark, 'k'}, int64(p.n), 10)
	p.n++
	p.members = append(append(append(p.members, '"'), name...), '"', ':')
	p.members = append(p.members, value...)
	return append(dst, name...)
}

// appendTo appends the placeholders to an object as the member called name, if there are any.
func (p *placeholders) appendTo(object []byte, name string) []byte {
	if p.n == 0 {
		return object
	}
	object = append(append(append(object, ',', '"'), name...), '"', ':', '{')
	return append(append(object, p.members...), '}')
}

// expressionOf returns an expression with the canonical form that expr.AppendCanonical has
// written, with placeholders for the names and values in it.
func expressionOf(canonical []byte, names, values *placeholders) (text []byte, ok bool) {
	for i := 0; i < len(canonical); {
		start := i
		switch canonical[i] {
		case '"':
			if i = wire.SkipValue(canonical, i); i > start {
				text = names.add(text, canonical[start:i])
			}
		case '{':
			if i = wire.SkipValue(canonical, i); i > start {
				text = values.add(text, canonical[start:i])
			}
		default:
			for i < len(canonical) && canonical[i] != ' ' {
				i++
			}
			text = append(text, canonical[start:i]...)
		}
		if i <= start || i >= len(canonical) || canonical[i] != ' ' {
			return nil, false
		}
		text = append(text, ' ')
		i++
	}
	return text, true
}
