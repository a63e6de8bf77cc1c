package accel

import (
	"bytes"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Hit is an item, or the fact that there is none, as the cache has it.
type Hit struct {
	// KeyHash is the item's in the access log.
	KeyHash uint64
	// RefreshDue asks for one call of Client.Refresh: the entry nears its end and is in use.
	RefreshDue bool

	table   *table
	entry   *cache.Entry
	hashLen int
}

// Item is the item in JSON, nil if there is none. It must not be changed.
func (h *Hit) Item() []byte { return itemOf(h.entry) }

// Form is what Client.Keep was given for this item, nil if nothing. It must not be changed.
func (h *Hit) Form() []byte { return h.entry.Variant() }

// Decision is how a request that the hit answers was answered.
func (h *Hit) Decision() telemetry.Decision {
	if h.entry.Kind() == kindAbsent {
		return telemetry.HitNegative
	}
	return telemetry.Hit
}

// maxStackKey is for keys without taking memory: longer ones are rare.
const maxStackKey = 256

// Item answers an eventually consistent GetItem of a whole item from the cache, and counts
// it like one. canonical is the item's key, first the partition key's part, which is hashLen
// long, then the sort key's, each as wire.AppendScalar writes it. ok is false if somebody
// has to ask: the item is not there, or not fresh, or of a table of which no items are kept,
// or the client may not read it. Nothing has been counted then. It allocates nothing, unless
// the key is longer than most.
//
// The hit is counted with the service's requests. The record for the access log is the
// front's to fill: its Operation is GetItem, and Table, KeyHash and Decision are those of the
// hit.
func (c Client) Item(name, canonical []byte, hashLen int, now time.Time) (h Hit, ok bool) {
	s := c.svc
	t := s.peek(name)
	if t == nil || !t.known || t.rule.item <= 0 || !c.principal.allows(wire.Read, name) {
		return h, false
	}
	at := s.cache.At(now)
	s.refreshIfStale(t, at)
	var room [prefixLen + maxStackKey]byte
	key := append(t.appendPrefix(room[:0], keyItem), canonical...)
	e, found, due := s.space.Lookup(key, at)
	if found != cache.Fresh {
		return h, false
	}
	h = Hit{KeyHash: uint64(cache.TagOf(key)), RefreshDue: due, table: t, entry: e, hashLen: hashLen}
	s.metrics.decision(getItemOperation, h.Decision())
	return h, true
}

var getItemOperation, _ = wire.FindOperation([]byte(targetPrefix + "GetItem"))

// AttachForm keeps another form of a hit's item beside it, for as long as that is kept. Whatever
// has become of the item since the hit, no later hit finds a form of another: of two that
// keep one the first counts. b is copied.
func (c Client) AttachForm(h *Hit, b []byte) { c.svc.space.Attach(h.entry, b) }

// Refresh begins to read the item of a hit that is due anew. key is its Key object.
func (c Client) Refresh(h *Hit, key []byte) {
	k := itemKey{bytes.Clone(h.entry.Key()[prefixLen:]), h.hashLen}
	c.svc.space.Refresh(h.entry.Key(), h.table.itemTags(k), c.svc.itemFill(h.table, bytes.Clone(key)))
}
