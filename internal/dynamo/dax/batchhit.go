package dax

import (
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// cachedBatch is a BatchGetItem whose items are cached. Its memory is used again.
type cachedBatch struct {
	parts []cachedPart
	hits  []accel.Hit
	size  int // of the items, as JSON
}

// cachedPart is the part of a cachedBatch for one table.
type cachedPart struct {
	name       []byte
	schema     key.Schema
	first, end int // range of its items in hits
}

func (b *cachedBatch) reset() {
	clear(b.parts)
	clear(b.hits)
	b.parts, b.hits, b.size = b.parts[:0], b.hits[:0], 0
}

// hasTable reports whether a table has a part.
func (b *cachedBatch) hasTable(name []byte) bool {
	for i := range b.parts {
		if string(b.parts[i].name) == string(name) {
			return true
		}
	}
	return false
}

// hasItem reports whether an item is among the hits.
func (b *cachedBatch) hasItem(keyHash uint64) bool {
	for i := range b.hits {
		if b.hits[i].KeyHash == keyHash {
			return true
		}
	}
	return false
}

// serveCachedBatch serves a BatchGetItem of whole items from the cache, in the form that is
// attached to each of them for GetItem, if all are cached. It returns false, without any
// effect, if that isn't possible; the request may also be invalid then.
func (k *call) serveCachedBatch() bool {
	b := &k.scratch.batch
	defer b.reset()
	if !k.findBatch() {
		return false
	}
	k.line.Table, k.line.Decision = b.parts[0].name, telemetry.Hit
	k.client.CountBatch(b.hits)
	for i := range b.hits {
		b.hits[i].CountUse(&k.line)
	}
	out := cbor.AppendMap(cbor.AppendArray(append(k.out, success), 2), len(b.parts))
	for i := range b.parts {
		var err error
		if out, err = k.appendHits(out, &b.parts[i]); err != nil {
			k.failResponse(err)
			return true
		}
	}
	out = cbor.AppendMap(out, 0)     // unprocessed keys
	k.out = cbor.AppendArray(out, 0) // consumed capacity
	return true
}

// findBatch reads a copy of the arguments and looks up all items. It returns false if one is
// not cached, or for a request that has to be served in another way.
func (k *call) findBatch() bool {
	w, r := &k.scratch, k.args
	n := r.Map()
	for r.More(&n) {
		name := r.String()
		s, ok := k.client.CachedSchema(name, k.now)
		if !ok || w.batch.hasTable(name) || r.Array() != 3 || r.Bool() || !r.Null() {
			return false
		}
		first, keys := len(w.batch.hits), r.Array()
		w.keys = keySchema(s)
		for r.More(&keys) {
			if !k.findBatchItem(name, r.Bytes()) {
				return false
			}
		}
		w.batch.parts = append(w.batch.parts, cachedPart{name, w.keys, first, len(w.batch.hits)})
		if first == len(w.batch.hits) {
			return false
		}
	}
	w.options.parse(&r, optionSet(optCapacity))
	capacity := w.options.enum(&r, optCapacity, capacities)
	return r.Close() == nil && capacity == "" && len(w.batch.hits) > 0
}

// findBatchItem looks up an item of the table with the schema scratch.keys.
func (k *call) findBatchItem(table, bytes []byte) bool {
	w := &k.scratch
	var hashLen int
	var err error
	if w.canonical, hashLen, err = w.keys.AppendCanonical(w.canonical[:0], bytes); err != nil {
		return false
	}
	h, ok := k.client.Peek(table, w.canonical, hashLen, k.now)
	if !ok {
		return false
	}
	if h.RefreshDue {
		k.refresh(&h, bytes)
	}
	b := &w.batch
	// DynamoDB rejects a key that occurs twice.
	if b.size += len(h.Item()); b.size > accel.MaxBatchReply || len(b.hits) == accel.MaxBatchKeys || b.hasItem(h.KeyHash) {
		return false
	}
	b.hits = append(b.hits, h)
	return true
}

// appendHits appends the items of a table, each after its key.
func (k *call) appendHits(dst []byte, p *cachedPart) (_ []byte, err error) {
	w := &k.scratch
	hits := w.batch.hits[p.first:p.end]
	n := 0
	for i := range hits {
		if hits[i].Item() != nil {
			n++
		}
	}
	dst = cbor.AppendArray(cbor.AppendText(dst, p.name), 2*n)
	for i := range hits {
		h := &hits[i]
		json := h.Item()
		if json == nil {
			continue
		}
		if dst, err = appendKeyOf(dst, &p.schema, json); err != nil {
			return dst, err
		}
		form := h.Form()
		if form == nil {
			w.keys = p.schema
			if w.spare, err = k.appendItemForm(w.spare[:0], json); err != nil {
				return dst, err
			}
			if form = w.spare; k.schemaIsCurrent(p.name) {
				k.client.AttachForm(h, form)
			}
		}
		dst = append(dst, itemOfForm(form)...)
	}
	return dst, nil
}
