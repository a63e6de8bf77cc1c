package dax

import (
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
)

var (
	headPutItem    = requestHead("PutItem")
	headUpdateItem = requestHead("UpdateItem")
	headDeleteItem = requestHead("DeleteItem")

	putOptions    = optionSet(optCapacity, optCondition, optMetrics, optReturns)
	updateOptions = putOptions | optionSet(optUpdate)
)

// putItem writes an item: its key and its other attributes are separate arguments.
func (k *call) putItem() {
	table, ok := k.table(wire.Write)
	if !ok {
		return
	}
	w := &k.scratch
	keyBytes, itemBytes := k.args.Bytes(), k.args.Bytes()
	w.options.parse(&k.args, putOptions)
	if err := k.args.Close(); err != nil {
		k.failRequest(err)
		return
	}
	body, err := item.AppendJSON(append(appendTable(w.body[:0], table), `,"Item":`...), k.lists(), &w.keys, keyBytes, itemBytes)
	if err != nil {
		k.failItem(err)
		return
	}
	k.change(&headPutItem, body)
}

// updateItem changes attributes of an item, or creates it.
func (k *call) updateItem() { k.changeByKey(&headUpdateItem, updateOptions) }

func (k *call) deleteItem() { k.changeByKey(&headDeleteItem, putOptions) }

func (k *call) changeByKey(head *http1.Request, wanted uint32) {
	table, ok := k.table(wire.Write)
	if !ok {
		return
	}
	w := &k.scratch
	bytes := k.args.Bytes()
	w.options.parse(&k.args, wanted)
	if err := k.args.Close(); err != nil {
		k.failRequest(err)
		return
	}
	body, err := appendKey(appendTable(w.body[:0], table), &w.keys, bytes)
	if err != nil {
		k.failRequest(err)
		return
	}
	if update, ok := w.options.bytes(&k.args, optUpdate); ok && k.args.Err() == nil {
		body, err = appendExpression(body, "UpdateExpression", func(dst []byte) ([]byte, error) { return w.words.Update(dst, update) })
		if err != nil {
			k.failRequest(err)
			return
		}
	}
	k.change(head, body)
}

// change sends a write request that is complete except for the common options.
func (k *call) change(head *http1.Request, body []byte) {
	w, o := &k.scratch, &k.scratch.options
	body = o.appendCondition(body, &k.args, optCondition, "ConditionExpression", &w.words, 'c')
	body = appendPlaceholders(body, &k.args, &w.words)
	returns := o.enum(&k.args, optReturns, returnModes)
	body = appendMember(body, "ReturnValues", returns)
	body = appendMember(body, "ReturnConsumedCapacity", o.enum(&k.args, optCapacity, capacities))
	body = appendMember(body, "ReturnItemCollectionMetrics", o.enum(&k.args, optMetrics, metricsModes))
	w.body = append(body, '}')
	if err := k.args.Err(); err != nil {
		k.failRequest(err)
		return
	}
	partial := returns == "UPDATED_OLD" || returns == "UPDATED_NEW"
	k.request(head, w.body, func(answer []byte) error { return k.changeReply(answer, partial) })
}

// empty reports whether an object has no members.
func empty(object []byte) bool {
	it := wire.Object(object)
	return !it.Next()
}

// changeReply translates DynamoDB's response to a write. partial reports whether its
// attributes are only those changed by an update.
func (k *call) changeReply(answer []byte, partial bool) (err error) {
	r := begin(k.out)
	it := wire.Object(answer)
	for it.Next() && err == nil {
		switch {
		case wire.Kind(it.Value()) == 'n':
		case wire.NameIs(it.Name(), "Attributes"):
			r.out = r.member(replyAttributes)
			if !partial {
				r.out, err = k.appendItem(r.out, &k.scratch.keys, nil, it.Value())
				break
			}
			start := len(r.out)
			r.out, err = item.AppendPartial(r.out, k.lists(), &k.scratch.keys, it.Value())
			r.out = cbor.WrapBytes(r.out, start)
		case wire.NameIs(it.Name(), "ConsumedCapacity"):
			r.out, err = appendCapacity(r.member(replyCapacity), it.Value())
		case wire.NameIs(it.Name(), "ItemCollectionMetrics") && !empty(it.Value()): // it is empty for a table without local indexes
			r.out, err = appendMetrics(r.member(replyMetrics), it.Value())
		}
	}
	k.out = r.end()
	return err
}
