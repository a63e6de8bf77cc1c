package accel

import (
	"bytes"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Hit is a cached item, or the cached absence of one.
type Hit struct {
	// KeyHash identifies the item in the access log.
	KeyHash uint64
	// RefreshDue requests one call of Client.Refresh: the entry is in use and about to
	// expire.
	RefreshDue bool

	table   *table
	entry   *cache.Entry
	now     int64 // of the look-up, on the cache's clock
	hashLen int
}

// Item returns the item as JSON, or nil if it doesn't exist. The result must not be
// modified.
func (h *Hit) Item() []byte { return itemOf(h.entry) }

// Key returns the key of the item for the access record. It must not be modified.
func (h *Hit) Key() []byte { return h.entry.Key() }

// Form returns the form passed to Client.AttachForm for this item, or nil. The result must
// not be modified.
func (h *Hit) Form() []byte { return h.entry.Variant() }

// Decision returns the decision of a request served by the hit.
func (h *Hit) Decision() telemetry.Decision {
	if h.entry.Kind() == kindAbsent {
		return telemetry.HitNegative
	}
	return telemetry.Hit
}

// CountUse adds the use of the item to the record of the request that it serves.
func (h *Hit) CountUse(r *telemetry.Record) { countUse(h.entry, h.now, r) }

// maxStackKey is the length of the longest key that is looked up without allocating. Longer
// ones are rare.
const maxStackKey = 256

// Item serves an eventually consistent GetItem of a whole item from the cache: it is Peek, and
// counts a hit among the service's requests; anything else it does not count. The caller fills
// the access record: its Operation is GetItem, and Table, KeyHash, Key and Decision are
// copied from the hit.
func (c Client) Item(name, canonical []byte, hashLen int, now time.Time) (h Hit, ok bool) {
	if h, ok = c.Peek(name, canonical, hashLen, now); ok {
		c.svc.metrics.decision(getItemOperation, h.Decision())
	}
	return h, ok
}

// Peek looks up a whole item for an eventually consistent read. canonical is the item's key as
// written by wire.AppendScalar: the partition key's part, which has length hashLen, then the
// sort key's. ok is false if the item isn't cached or not fresh, the table's items aren't
// cached, or the client isn't allowed to read it. Peek doesn't allocate, except for very long
// keys.
func (c Client) Peek(name, canonical []byte, hashLen int, now time.Time) (h Hit, ok bool) {
	s := c.svc
	t := s.peek(name)
	if t == nil || !t.known || t.rule.item <= 0 || !c.principal.allows(wire.Read, name) {
		return h, false
	}
	at := s.cache.At(now)
	s.refreshIfStale(t, at)
	if t.lags(at) {
		return h, false
	}
	var room [prefixLen + maxStackKey]byte
	key := append(t.appendPrefix(room[:0], keyItem), canonical...)
	e, found, due := s.space.Lookup(key, at)
	if found != cache.Fresh {
		return h, false
	}
	s.verify.sample(t, e, at)
	return Hit{KeyHash: t.keyHash(key), RefreshDue: due, table: t, entry: e, now: at, hashLen: hashLen}, true
}

// Limits of a BatchGetItem.
const (
	// MaxBatchKeys is the maximum number of keys in a request.
	MaxBatchKeys = 100
	// MaxBatchReply is the maximum size of the items in an answer, as JSON. The rest is left
	// unprocessed, as DynamoDB does.
	MaxBatchReply = 16 << 20
)

// CountBatch counts a BatchGetItem for keys that Peek has found.
func (c Client) CountBatch(hits []Hit) {
	c.svc.metrics.decision(batchGetItemOperation, telemetry.Hit)
	c.svc.metrics.batch.hit.Add(uint64(len(hits)))
	for i := range hits {
		h := &hits[i]
		c.svc.countKey(h.table, h.entry.Key(), h.Decision(), len(h.Item()))
	}
}

var (
	getItemOperation, _      = wire.FindOperation([]byte(targetPrefix + "GetItem"))
	batchGetItemOperation, _ = wire.FindOperation([]byte(targetPrefix + "BatchGetItem"))
)

// AttachForm stores another form of a hit's item with its entry, until the entry is dropped.
// The form is never returned for a later version of the item. If two callers attach a form,
// the first is kept. b is copied.
func (c Client) AttachForm(h *Hit, b []byte) { c.svc.space.Attach(h.entry, b) }

// Refresh starts to fetch the item of a hit again. key is its Key object.
func (c Client) Refresh(h *Hit, key []byte) {
	k := itemKey{bytes.Clone(h.entry.Key()[prefixLen:]), h.hashLen}
	c.svc.space.Refresh(h.entry.Key(), h.table.itemTags(k), c.svc.itemFill(h.table, bytes.Clone(key), sender{}))
}
