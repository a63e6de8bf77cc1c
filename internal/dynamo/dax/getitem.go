package dax

import (
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The parameters of replies, the keys of the map that a reply is.
const (
	replyItem       = 0
	replyCapacity   = 1
	replyAttributes = 2
	replyMetrics    = 3
	replyItems      = 7
	replyCount      = 8
	replyLast       = 9
	replyScanned    = 10
)

var (
	headGetItem   = head("GetItem")
	getItemWanted = want(optProjection, optConsistent, optCapacity)
)

// getItem answers from the cache as the item stands there, translated, if it can.
func (k *call) getItem() {
	table, ok := k.table(wire.Read)
	if !ok {
		return
	}
	w := &k.work
	bytes := k.args.Bytes()
	w.options.read(&k.args, getItemWanted)
	consistent := w.options.flag(&k.args, optConsistent)
	capacity := w.options.word(&k.args, optCapacity, capacities)
	if err := k.args.Close(); err != nil {
		k.bad(err)
		return
	}
	if !consistent && capacity == "" && !w.options.has(optProjection) && k.hit(table, bytes) {
		return
	}
	body, err := appendKey(appendTable(w.body[:0], table), &w.keys, bytes)
	if err != nil {
		k.bad(err)
		return
	}
	if consistent {
		body = append(body, `,"ConsistentRead":true`...)
	}
	body, paths := k.projection(body)
	body = member(words(body, &k.args, &w.words), "ReturnConsumedCapacity", capacity)
	w.body = append(body, '}')
	if err := k.args.Err(); err != nil {
		k.bad(err)
		return
	}
	if answer, ok := k.ask(&headGetItem, w.body); ok {
		if err := k.itemReply(answer, paths); err != nil {
			k.garbled(err)
		}
	}
}

// hit answers from the cache. False means that it can't, and has done nothing.
func (k *call) hit(table, bytes []byte) bool {
	w := &k.work
	var hashLen int
	var err error
	if w.canonical, hashLen, err = w.keys.AppendCanonical(w.canonical[:0], bytes); err != nil {
		return false // DynamoDB says what is wrong with it
	}
	h, ok := k.client.Item(table, w.canonical, hashLen, k.now)
	if !ok {
		return false
	}
	k.line.KeyHash, k.line.Decision = h.KeyHash, h.Decision()
	if h.RefreshDue {
		k.refresh(&h, bytes)
	}
	json := h.Item()
	switch form := h.Form(); {
	case form != nil:
		k.kept = form
	case json == nil:
		k.out = append(k.out, success, null)
	default:
		out := append(cbor.AppendMapOpen(append(k.out, success)), replyItem)
		if out, err = k.appendItem(out, &w.keys, nil, json); err != nil {
			k.garbled(err)
			return true
		}
		k.out = cbor.AppendBreak(out)
		// The table may have become another since its keys were looked up, and the entry
		// be one of that.
		if s, ok := k.client.CachedSchema(table, k.now); ok && keysOf(s) == w.keys {
			k.client.AttachForm(&h, k.out)
		}
	}
	return true
}

// refresh has the item of a hit read anew.
func (k *call) refresh(h *accel.Hit, bytes []byte) {
	w := &k.work
	body, err := w.keys.AppendJSON(append(w.body[:0], '{'), bytes)
	if w.body = append(body, '}'); err == nil {
		k.client.Refresh(h, w.body)
	}
}

// itemReply translates DynamoDB's answer to GetItem.
func (k *call) itemReply(answer []byte, paths []item.Path) (err error) {
	r := begin(k.out)
	it := wire.Object(answer)
	for it.Next() && err == nil {
		switch {
		case wire.Kind(it.Value()) == 'n':
		case wire.NameIs(it.Name(), "Item"):
			r.out, err = k.appendItem(r.member(replyItem), &k.work.keys, paths, it.Value())
		case wire.NameIs(it.Name(), "ConsumedCapacity"):
			r.out, err = appendCapacity(r.member(replyCapacity), it.Value())
		}
	}
	k.out = r.end()
	return err
}
