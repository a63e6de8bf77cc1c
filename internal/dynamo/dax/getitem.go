package dax

import (
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The parameters of replies: the keys of the reply's map.
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
	headGetItem   = requestHead("GetItem")
	getItemWanted = optionSet(optProjection, optConsistent, optCapacity)
)

// getItem serves the item from the cache as it is stored there, already translated, if
// possible.
func (k *call) getItem() {
	table, ok := k.table(wire.Read)
	if !ok {
		return
	}
	w := &k.scratch
	bytes := k.args.Bytes()
	w.options.parse(&k.args, getItemWanted)
	consistent := w.options.flag(&k.args, optConsistent)
	capacity := w.options.enum(&k.args, optCapacity, capacities)
	if err := k.args.Close(); err != nil {
		k.failRequest(err)
		return
	}
	if !consistent && capacity == "" && !w.options.has(optProjection) && k.serveHit(table, bytes) {
		return
	}
	body, err := appendKey(appendTable(w.body[:0], table), &w.keys, bytes)
	if err != nil {
		k.failRequest(err)
		return
	}
	if consistent {
		body = append(body, `,"ConsistentRead":true`...)
	}
	body, paths := k.appendProjection(body)
	body = appendMember(appendPlaceholders(body, &k.args, &w.words), "ReturnConsumedCapacity", capacity)
	w.body = append(body, '}')
	if err := k.args.Err(); err != nil {
		k.failRequest(err)
		return
	}
	k.request(&headGetItem, w.body, func(answer []byte) error { return k.itemReply(answer, paths) })
}

// serveHit serves the item from the cache. It returns false, without any effect, if that
// isn't possible.
func (k *call) serveHit(table, bytes []byte) bool {
	w := &k.scratch
	var hashLen int
	var err error
	if w.canonical, hashLen, err = w.keys.AppendCanonical(w.canonical[:0], bytes); err != nil {
		return false // left for DynamoDB to reject
	}
	h, ok := k.client.Item(table, w.canonical, hashLen, k.now)
	if !ok {
		return false
	}
	k.line.KeyHash, k.line.Key, k.line.Decision = h.KeyHash, h.Key(), h.Decision()
	h.CountUse(&k.line)
	if h.RefreshDue {
		k.refresh(&h, bytes)
	}
	json := h.Item()
	switch form := h.Form(); {
	case form != nil:
		k.cached = form
	case json == nil:
		k.out = append(k.out, success, null)
	default:
		out, err := k.appendItemForm(k.out, json)
		if err != nil {
			k.failResponse(err)
			return true
		}
		if k.out = out; k.schemaIsCurrent(table) {
			k.client.AttachForm(&h, k.out)
		}
	}
	return true
}

// appendItemForm appends the reply to a GetItem, which is the form that is attached to the
// item's entry.
func (k *call) appendItemForm(dst, json []byte) (_ []byte, err error) {
	dst = append(cbor.AppendMapOpen(append(dst, success)), replyItem)
	dst, err = k.appendItem(dst, &k.scratch.keys, nil, json)
	return cbor.AppendBreak(dst), err
}

// itemOfForm returns the item in the result of appendItemForm.
func itemOfForm(form []byte) []byte {
	const before = 3 // success, the beginning of the map, and replyItem
	return form[before : len(form)-1]
}

// refresh starts to fetch the item of a hit again.
func (k *call) refresh(h *accel.Hit, bytes []byte) {
	w := &k.scratch
	body, err := w.keys.AppendJSON(append(w.body[:0], '{'), bytes)
	if w.body = append(body, '}'); err == nil {
		k.client.Refresh(h, w.body)
	}
}

// itemReply translates DynamoDB's response to GetItem.
func (k *call) itemReply(answer []byte, paths []item.Path) (err error) {
	r := begin(k.out)
	it := wire.Object(answer)
	for it.Next() && err == nil {
		switch {
		case wire.Kind(it.Value()) == 'n':
		case wire.NameIs(it.Name(), "Item"):
			r.out, err = k.appendItem(r.member(replyItem), &k.scratch.keys, paths, it.Value())
		case wire.NameIs(it.Name(), "ConsumedCapacity"):
			r.out, err = appendCapacity(r.member(replyCapacity), it.Value())
		}
	}
	k.out = r.end()
	return err
}
