package accel

import (
	"bytes"
	"encoding/base64"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// The key of an access record is a cache key: that of an item, of a query or of a scan, or of a
// partition for a query that isn't served from the cache. KeyText renders it.

// recordKey sets the key of the access record to c.key, which is one of the table.
func (c *call) recordKey(t *table) { c.x.SetKey(t.keyHash(c.key), c.key) }

// keySeed returns the seed of the hashes of a table's keys.
func keySeed(name string) uint64 { return uint64(cache.TagOf([]byte(name))) }

// keyHash returns the hash of a cache key for access records. It does not depend on the number of
// the table, which changes when the table is described again after a change.
func (t *table) keyHash(key []byte) uint64 { return keyHash(t.seed, key) }

func keyHash(seed uint64, key []byte) uint64 {
	return uint64(cache.TagOf(key[prefixLen:])) ^ seed ^ uint64(key[0])
}

// itemKey sets c.key to the key of an item. It returns false if the item can't be determined.
func (c *call) itemKey(t *table, obj []byte) (ok bool) {
	if !t.known || obj == nil {
		return false
	}
	c.key, _, ok = t.appendKey(t.appendPrefix(c.key[:0], keyItem), obj)
	return ok
}

// partitionKey sets c.key to the key of the partition that a query reads. It returns false if that
// can't be determined. c.m holds the members of the request.
func (c *call) partitionKey(v *view) bool {
	if !v.t.known || v.scan || c.names.Reset(c.m[qNames]) != nil || c.values.Reset(c.m[qValues]) != nil {
		return false
	}
	if c.m[qIndex] != nil && v.ix == nil && !c.parseIndex(v) {
		return false
	}
	hash, ok := c.queryHash(v)
	if !ok {
		return false
	}
	name := ""
	if v.ix != nil {
		name = v.ix.name
	}
	c.key = append(append(v.t.appendPrefix(c.key[:0], keyPartition), byte(len(name))), name...)
	c.key = append(c.key, hash...)
	return true
}

// TTLs returns for how long items and queries of a table are cached; 0: they are not.
func (s *Service) TTLs(name string) (item, query time.Duration) {
	rule := s.settings.Load().ruleFor(name)
	if t := s.peek([]byte(name)); t != nil && t.known {
		return t.itemTTL(), rule.query
	}
	return rule.item, rule.query
}

// countKey counts one key of several in a request.
func (s *Service) countKey(t *table, key []byte, d telemetry.Decision, size int) {
	if weight := s.keys.Weight(d); weight > 0 {
		s.keys.CountOne(s.name, t.name, t.keyHash(key), key, d, size, weight)
	}
}

// countInvalidation counts an invalidation of an item by a record of a stream.
func (s *Service) countInvalidation(t *table, id itemKey) {
	key := t.cacheKey(id)
	s.keys.Invalidated(s.name, t.name, t.keyHash(key), key)
}

// countBatch counts the keys of a batch that was answered.
func (c *call) countBatch() {
	b := &c.batch
	for i := range b.parts {
		p := &b.parts[i]
		for j := p.first; j < p.end; j++ {
			k := &b.keys[j]
			if k.unprocessed {
				continue
			}
			d := telemetry.Miss
			switch {
			case k.hit && k.entry.Kind() == kindAbsent:
				d = telemetry.HitNegative
			case k.hit:
				d = telemetry.Hit
			case p.read.strong:
				d = telemetry.BypassConsistent
			}
			c.svc.countKey(p.t, b.cacheKey(k), d, len(itemOf(k.entry)))
		}
	}
}

// countKeys counts the writes of a group that was executed.
func (g *group) countKeys() {
	for i, key := range g.keys {
		g.svc.countKey(g.items[i].t, key, telemetry.Write, 0)
	}
}

// KeyText renders the key of an access record: the value of the partition key and the whole key. The
// key may have been cut off; then its text is too. Either is empty if the key has none.
func (s *Service) KeyText(name string, key []byte) (partition, text string) {
	if len(key) < prefixLen {
		return "", ""
	}
	kind, rest := key[0], key[prefixLen:]
	switch kind {
	case keyItem:
		return s.itemText(name, rest)
	case keyPartition:
		return partitionText(rest)
	case keyQuery:
		return "", "Query " + membersText(rest)
	case keyScan:
		return "", "Scan " + membersText(rest)
	}
	return "", ""
}

// partitionText renders the key of a partition, which partitionKey has made.
func partitionText(b []byte) (partition, text string) {
	if len(b) == 0 {
		return "", ""
	}
	n := min(int(b[0]), len(b)-1)
	index, hash := string(b[1:1+n]), b[1+n:]
	v, _ := cutScalar(hash)
	if text = "partition " + v.text(); n > 0 {
		text += " of index " + index
	}
	return v.text(), text
}

// itemText renders the canonical key of an item as a Key object of the API.
func (s *Service) itemText(name string, canonical []byte) (partition, text string) {
	hash, rest := cutScalar(canonical)
	names := []string{"", ""}
	if t := s.peek([]byte(name)); t != nil {
		names = []string{t.hash.name, t.rng.name}
	}
	b := hash.append([]byte{'{'}, names[0])
	if len(rest) > 0 {
		rng, _ := cutScalar(rest)
		b = rng.append(append(b, ','), names[1])
	}
	return hash.text(), string(append(b, '}'))
}

// scalar is a value in the form of wire.AppendScalar.
type scalar struct {
	typ   byte
	value []byte
}

// cutScalar returns the first value of a canonical key and the rest.
func cutScalar(b []byte) (s scalar, rest []byte) {
	const head = 3
	if len(b) < head {
		return scalar{'S', nil}, nil
	}
	n := min(int(b[1])<<8|int(b[2]), len(b)-head)
	return scalar{b[0], b[head : head+n]}, b[head+n:]
}

// text returns the value, of a binary one the base64 form.
func (s scalar) text() string {
	if s.typ == 'B' {
		return base64.StdEncoding.EncodeToString(s.value)
	}
	return string(bytes.ToValidUTF8(s.value, nil)) // it may have been cut off in a character
}

// append appends a member called name with the attribute value.
func (s scalar) append(dst []byte, name string) []byte {
	dst = append(wire.AppendQuoted(dst, []byte(name)), `:{"`...)
	dst = append(append(dst, s.typ), `":`...)
	return append(wire.AppendQuoted(dst, []byte(s.text())), '}')
}

// membersText renders the members in the key of a query, which queryKey has made.
func membersText(b []byte) string {
	var out []byte
	for len(b) > 5 {
		i := int(b[0])
		n := min(int(b[1])<<24|int(b[2])<<16|int(b[3])<<8|int(b[4]), len(b)-5)
		if len(out) > 0 {
			out = append(out, ' ')
		}
		if i != qKeyCondition && i < len(queryMembers) {
			out = append(append(out, queryMembers[i]...), ' ')
		}
		out = append(out, bytes.TrimSpace(b[5:5+n])...)
		b = b[5+n:]
	}
	return string(bytes.ToValidUTF8(out, nil))
}
