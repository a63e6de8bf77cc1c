package accel

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// batch is the state of a BatchGetItem. Its slices are reused.
type batch struct {
	parts []batchPart
	keys  []batchKey
	bytes []byte // the cache keys, concatenated

	// group fills the missing keys for another node; nil for a client.
	group *cache.Group
}

type batchPart struct {
	quoted     []byte // the table's name as in the request
	t          *table
	read       read
	projection expr.Projection
	first, end int // range of its keys in batch.keys
	strong     bool
}

// batchKey is a requested key and its result.
type batchKey struct {
	json        []byte // as in the request
	from, to    int    // the cache key in batch.bytes
	hashLen     int
	entry       *cache.Entry
	stamp       cache.Stamp
	fill        cache.GroupFill // in the batch's group
	hit         bool            // it was served from the cache
	stored      bool            // its answer was stored in the group
	unprocessed bool            // the origin left it unprocessed
}

func (b *batch) reset() {
	for i := range b.parts {
		p := &b.parts[i]
		p.quoted, p.t = nil, nil
	}
	clear(b.keys)
	b.parts, b.keys, b.bytes, b.group = b.parts[:0], b.keys[:0], b.bytes[:0], nil
}

// fetches reports whether the answer for k is to be fetched from the origin.
func (b *batch) fetches(k *batchKey) bool {
	return k.entry == nil && (b.group == nil || k.fill.Own())
}

// fetchesAny reports whether the answer for any key is to be fetched from the origin.
func (b *batch) fetchesAny() bool {
	for i := range b.keys {
		if b.fetches(&b.keys[i]) {
			return true
		}
	}
	return false
}

func (b *batch) cacheKey(k *batchKey) []byte { return b.bytes[k.from:k.to] }

// addPart appends a part. It reuses the memory of the projection.
func (b *batch) addPart() *batchPart {
	if len(b.parts) < cap(b.parts) {
		b.parts = b.parts[:len(b.parts)+1]
	} else {
		b.parts = append(b.parts, batchPart{})
	}
	p := &b.parts[len(b.parts)-1]
	p.quoted, p.t, p.read, p.strong = nil, nil, read{}, false
	p.first, p.end = len(b.keys), len(b.keys)
	return p
}

var (
	batchGetMembers = []string{"RequestItems", "ReturnConsumedCapacity"}
	partMembers     = []string{"Keys", "ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames", "AttributesToGet"}
)

// batchGetItem serves cached items and fetches the others in one request.
func (c *call) batchGetItem() {
	known, ok := c.members(c.x.Body, batchGetMembers)
	if !ok {
		c.fail("SerializationException", "")
		return
	}
	items, capacity := c.m[0], c.m[1]
	if !c.authorizeBatch(items) {
		return
	}
	if !known || wire.Kind(items) != '{' || !c.parseBatch(items, capacity) {
		c.passBatch(items, capacity)
		return
	}
	missing := c.lookupBatch()
	d := telemetry.Hit
	if missing > 0 {
		d = c.batch.missDecision(missing)
		if !c.fillBatch(d) {
			return
		}
	}
	c.renderBatch()
	c.countBatch()
	c.status(d, nil, false)
}

// fillBatch gets the missing items, first from the owners of their keys and then from the
// origin. It returns false if it has answered with an error.
func (c *call) fillBatch(d telemetry.Decision) bool {
	ctx, cancel := c.deadline()
	defer cancel()
	start := time.Now()
	c.askOwners(ctx)
	if !c.batch.fetchesAny() {
		c.x.Record.Waited(start)
		return true
	}
	resp, err := c.fetchBatch(ctx)
	c.x.Record.Waited(start)
	switch {
	case err != nil:
		c.failOrigin(err, d)
		return false
	case resp.Class != origin.Good:
		c.relay(resp, d)
		return false
	case !c.storeBatch(resp.Body):
		c.passRead(telemetry.BypassUncacheable)
		return false
	}
	return true
}

// authorizeBatch checks the permission for each table of RequestItems. It reports false if
// it has answered with an error.
func (c *call) authorizeBatch(items []byte) bool {
	tables := 0
	it := wire.Object(items)
	for it.Next() {
		tables++
		c.setTable(it.QuotedName())
		if !c.checkPermission(wire.Read, tableOf(c.name)) {
			return false
		}
	}
	if it.Err() || tables == 0 {
		return c.authorize(wire.Read, nil)
	}
	c.permitted = true
	return true
}

// parseBatch parses RequestItems. It returns false for a request that must be left to the
// origin.
func (c *call) parseBatch(items, capacity []byte) bool {
	b := &c.batch
	expressions, legacy := false, false
	it := wire.Object(items)
	for it.Next() {
		known, ok := c.members(it.Value(), partMembers)
		if !ok || !known || wire.Kind(c.m[0]) != '[' {
			return false
		}
		p := b.addPart()
		p.quoted = it.QuotedName()
		if !c.setTable(p.quoted) {
			return false
		}
		if p.t = c.table(); c.lagging(p.t) || !p.t.known || p.t.rule.item <= 0 || b.countParts(p.t) > 1 {
			return false
		}
		keys := c.m[0]
		expressions = expressions || c.m[2] != nil
		legacy = legacy || c.m[4] != nil
		if p.read, ok = c.parseReadOptions(c.m[1], c.m[2], c.m[3], c.m[4], capacity); !ok {
			return false
		}
		if p.read.project && p.t.projectsIntoKey(&c.projection) {
			return false
		}
		p.projection, c.projection = c.projection, p.projection
		p.strong = p.read.strong
		if !c.parseKeys(p, keys) {
			return false
		}
	}
	// DynamoDB rejects legacy and expression projections in one request.
	return !it.Err() && len(b.keys) > 0 && !b.hasDuplicates() && !(expressions && legacy)
}

func (b *batch) countParts(t *table) (n int) {
	for i := range b.parts {
		if b.parts[i].t.name == t.name {
			n++
		}
	}
	return n
}

func (c *call) parseKeys(p *batchPart, keys []byte) bool {
	b := &c.batch
	it := wire.Array(keys)
	for it.Next() {
		if len(b.keys) == MaxBatchKeys {
			return false
		}
		k := batchKey{json: it.Value(), from: len(b.bytes)}
		var ok bool
		b.bytes, k.hashLen, ok = p.t.appendKey(p.t.appendPrefix(b.bytes, keyItem), k.json)
		if !ok {
			return false
		}
		k.to = len(b.bytes)
		b.keys = append(b.keys, k)
	}
	p.end = len(b.keys)
	return !it.Err() && p.end > p.first
}

// hasDuplicates reports whether a key occurs twice, which DynamoDB rejects.
func (b *batch) hasDuplicates() bool {
	for i := range b.keys {
		for j := range i {
			if bytes.Equal(b.cacheKey(&b.keys[i]), b.cacheKey(&b.keys[j])) {
				return true
			}
		}
	}
	return false
}

// missDecision returns the decision for a batch with the given number of keys to fetch.
func (b *batch) missDecision(missing int) telemetry.Decision {
	switch {
	case missing < len(b.keys):
		return telemetry.Partial
	case slices.ContainsFunc(b.parts, func(p batchPart) bool { return !p.read.strong }):
		return telemetry.Miss
	}
	return telemetry.BypassConsistent
}

// lookupBatch looks up all keys in the cache and returns the number of missing ones.
func (c *call) lookupBatch() (missing int) {
	b, strong := &c.batch, 0
	for i := range b.parts {
		p := &b.parts[i]
		if p.read.strong {
			strong += p.end - p.first
		}
		for j := p.first; j < p.end; j++ {
			k := &b.keys[j]
			if !p.read.strong {
				if e, found, refresh := c.svc.space.Lookup(b.cacheKey(k), c.now); found == cache.Fresh {
					k.entry, k.hit = e, true
					c.countUse(e)
					c.svc.verify.sample(p.t, e, c.now)
					if refresh {
						c.refreshKey(p.t, k)
					}
					continue
				}
			}
			missing++
		}
	}
	m := &c.svc.metrics.batch
	m.hit.Add(uint64(len(b.keys) - missing))
	m.miss.Add(uint64(missing - strong))
	m.strong.Add(uint64(strong))
	return missing
}

func (c *call) refreshKey(t *table, k *batchKey) {
	key := c.batch.itemKey(k)
	c.svc.space.Refresh(c.batch.cacheKey(k), t.itemTags(key), c.svc.itemFill(t, bytes.Clone(k.json), sender{}))
}

func (b *batch) itemKey(k *batchKey) itemKey {
	return itemKey{bytes.Clone(b.bytes[k.from+prefixLen : k.to]), k.hashLen}
}

// fetchBatch fetches the missing items, without projection.
func (c *call) fetchBatch(ctx context.Context) (*origin.Response, error) {
	return c.svc.sendOrigin(ctx, c.sender(), targetPrefix+"BatchGetItem", c.fetchRequest())
}

// storeBatch stores the fetched items. It returns false if body isn't a valid response to
// the request. A missing item that isn't unprocessed doesn't exist.
func (c *call) storeBatch(body []byte) bool {
	b := &c.batch
	responses, ok := memberOf(body, "Responses")
	unprocessed, valid := memberOf(body, "UnprocessedKeys")
	if !ok || !valid || responses == nil {
		return false
	}
	for i := range b.parts {
		if !c.storePart(&b.parts[i], responses, unprocessed) {
			return false
		}
	}
	return true
}

func (c *call) storePart(p *batchPart, responses, unprocessed []byte) bool {
	b := &c.batch
	items, ok := memberOf(responses, p.t.name)
	if !ok || !c.storeItems(p, items) {
		return false
	}
	if unprocessed != nil {
		left, ok := memberOf(unprocessed, p.t.name)
		if !ok || left != nil && !c.markUnprocessed(p, left) {
			return false
		}
	}
	for j := p.first; j < p.end; j++ {
		if k := &b.keys[j]; b.fetches(k) && !k.unprocessed {
			f := c.svc.absentFilling(p.t)
			c.storeFetched(p.t, k, &f)
		}
	}
	return true
}

// storeKey stores the answer for a key.
func (c *call) storeKey(k *batchKey, f *cache.Filling) {
	b := &c.batch
	if b.group != nil {
		k.entry, k.stored = b.group.Store(k.fill, f)
		return
	}
	k.entry, _ = c.svc.space.Store(k.stamp, b.cacheKey(k), f)
}

// storeFetched stores the answer of the origin for a key.
func (c *call) storeFetched(t *table, k *batchKey, f *cache.Filling) {
	c.storeKey(k, f)
	if c.svc.ledger != nil {
		c.svc.countFilled(t, batchGetItemOperation, c.sender(), f.Cost)
	}
}

// fetchRequest returns the request for the missing items. A part is strongly consistent if
// one of its keys was written recently.
func (c *call) fetchRequest() []byte {
	b := &c.batch
	body := append([]byte(nil), `{"RequestItems":{`...)
	first := true
	for i := range b.parts {
		p := &b.parts[i]
		mark := len(body)
		if !first {
			body = append(body, ',')
		}
		body = append(wire.AppendQuoted(body, []byte(p.t.name)), `:{"Keys":[`...)
		n := 0
		for j := p.first; j < p.end; j++ {
			k := &b.keys[j]
			if !b.fetches(k) {
				continue
			}
			p.strong = c.noteKey(p, k) || p.strong
			if n++; n > 1 {
				body = append(body, ',')
			}
			body = append(body, k.json...)
		}
		if n == 0 {
			body = body[:mark]
			continue
		}
		first = false
		body = append(body, ']')
		if p.strong {
			body = append(body, `,"ConsistentRead":true`...)
		}
		body = append(body, '}')
	}
	return append(body, `}}`...)
}

// noteKey records the generations of a key before it is fetched, and reports whether it must be
// read strongly. The group has recorded them already.
func (c *call) noteKey(p *batchPart, k *batchKey) (strong bool) {
	if c.batch.group != nil {
		return k.fill.Strong()
	}
	k.stamp = c.svc.cache.Note(p.t.itemTags(c.batch.itemKey(k))...)
	return k.stamp.Strong
}

// storeItems matches the returned items with the requested keys and stores them.
func (c *call) storeItems(p *batchPart, items []byte) bool {
	if items == nil {
		return true
	}
	it := wire.Array(items)
	for it.Next() {
		k := c.findKey(p, it.Value(), false)
		if k == nil {
			return false
		}
		f := c.svc.presentFilling(p.t, it.Value(), nil)
		c.storeFetched(p.t, k, &f)
	}
	return !it.Err()
}

func (c *call) markUnprocessed(p *batchPart, left []byte) bool {
	keys, _ := wire.Lookup(left, "Keys")
	it := wire.Array(keys)
	for it.Next() {
		k := c.findKey(p, it.Value(), true)
		if k == nil {
			return false
		}
		k.unprocessed = true
	}
	return !it.Err()
}

// findKey returns the key of a part that matches an item or a Key object.
func (c *call) findKey(p *batchPart, obj []byte, exact bool) *batchKey {
	var ok bool
	c.scratch, _, ok = p.t.appendKeyOf(p.t.appendPrefix(c.scratch[:0], keyItem), obj, exact)
	if !ok {
		return nil
	}
	for j := p.first; j < p.end; j++ {
		if k := &c.batch.keys[j]; c.batch.fetches(k) && bytes.Equal(c.batch.cacheKey(k), c.scratch) {
			return k
		}
	}
	return nil
}

// renderBatch writes the reply from the entries.
func (c *call) renderBatch() {
	b := &c.batch
	out := append(c.x.Reply.Buf[:0], `{"Responses":{`...)
	unanswered, size := false, 0
	for i := range b.parts {
		p := &b.parts[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, p.quoted...), ':', '[')
		n := 0
		for j := p.first; j < p.end; j++ {
			k := &b.keys[j]
			unanswered = unanswered || k.unprocessed
			if k.unprocessed || k.entry.Kind() != kindItem {
				continue
			}
			if size += len(itemOf(k.entry)); size > MaxBatchReply {
				k.unprocessed, unanswered = true, true
				continue
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			if p.read.project {
				out, _ = p.projection.Append(out, itemOf(k.entry))
			} else {
				out = append(out, itemOf(k.entry)...)
			}
		}
		out = append(out, ']')
	}
	out = append(out, `},"UnprocessedKeys":{`...)
	if unanswered {
		out = c.appendUnprocessed(out)
	}
	out = append(out, '}')
	if b.parts[0].read.capacity != 0 {
		out = c.appendBatchCapacity(out)
	}
	c.answerBuilt(http.StatusOK, append(out, '}'))
}

// appendUnprocessed appends the unprocessed parts of the request in the client's own
// spelling.
func (c *call) appendUnprocessed(out []byte) []byte {
	b := &c.batch
	items, _ := wire.Lookup(c.x.Body, "RequestItems")
	first := true
	for i := range b.parts {
		p := &b.parts[i]
		var keys []byte
		for j := p.first; j < p.end; j++ {
			if k := &b.keys[j]; k.unprocessed {
				if len(keys) > 0 {
					keys = append(keys, ',')
				}
				keys = append(keys, k.json...)
			}
		}
		if len(keys) == 0 {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		part, _ := wire.Lookup(items, p.t.name)
		list := append(append([]byte{'['}, keys...), ']')
		out = append(append(out, p.quoted...), ':')
		out, _ = wire.SetMember(out, part, "Keys", list)
	}
	return out
}

func (c *call) appendBatchCapacity(out []byte) []byte {
	b := &c.batch
	out = append(out, `,"ConsumedCapacity":[`...)
	for i := range b.parts {
		p := &b.parts[i]
		units := 0.0
		for j := p.first; j < p.end; j++ {
			if k := &b.keys[j]; !k.unprocessed {
				size, _ := wire.ItemSize(itemOf(k.entry))
				units += p.read.units(size)
			}
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = appendCapacity(out, p.quoted, p.read.capacity, units)
	}
	return append(out, ']')
}
