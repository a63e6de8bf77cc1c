package dax

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The actions of a transaction, as numbered by clients.
const (
	partPut    = 2
	partDelete = 7
	partUpdate = 9
	partCheck  = 12
)

var partNames = map[int64]string{partPut: "Put", partDelete: "Delete", partUpdate: "Update", partCheck: "ConditionCheck"}

// oldOfFailed requests the item whose condition fails.
const oldOfFailed = 2

var headTransactWriteItems = requestHead("TransactWriteItems")

// transactWriteItems writes all items or none.
func (k *call) transactWriteItems() {
	list := k.firstColumn(func(p *transactItem) { p.op = k.args.Int() })
	k.column(list, func(p *transactItem) { p.table = k.args.String() })
	k.column(list, func(p *transactItem) { p.key = k.args.Bytes() })
	k.column(list, func(p *transactItem) { p.item = k.bytesOrNull() })
	k.column(list, func(*transactItem) { k.args.Skip() }) // no client sends it
	k.column(list, func(p *transactItem) { p.onFailure = k.args.Int() })
	k.column(list, func(p *transactItem) { p.condition = k.bytesOrNull() })
	k.column(list, func(p *transactItem) { p.update = k.bytesOrNull() })
	options, ok := k.transactOptions(list)
	if !ok {
		return
	}
	if err := k.transactWriteBody(list, options); err != nil {
		k.failItem(err)
		return
	}
	k.transact(&headTransactWriteItems, list, appendWriteReply)
}

func (k *call) transactWriteBody(list []transactItem, options []byte) (err error) {
	b := append(k.scratch.body[:0], `{"TransactItems":[`...)
	defer func() { k.scratch.body = b }()
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = k.appendPart(b, &list[i]); err == nil {
			err = checkLength(b)
		}
		if err != nil {
			return err
		}
	}
	b = append(append(b, ']'), options...)
	return k.args.Err()
}

// appendPart appends the action on one item.
func (k *call) appendPart(b []byte, p *transactItem) (_ []byte, err error) {
	name, ok := partNames[p.op]
	if !ok {
		return b, fmt.Errorf("a transaction with the operation %d, which is none that is known", p.op)
	}
	b = append(append(append(b, `{"`...), name...), `":{"TableName":`...)
	b = wire.AppendQuoted(b, p.table)
	if p.op == partPut {
		b, err = item.AppendJSON(append(b, `,"Item":`...), k.lists(), &p.schema, p.key, p.item)
	} else {
		b, err = p.schema.AppendJSON(append(b, `,"Key":{`...), p.key)
		b = append(b, '}')
	}
	if err != nil {
		return b, err
	}
	w := &k.scratch.words
	w.Reset()
	if p.update != nil {
		b, err = appendExpression(b, "UpdateExpression", func(dst []byte) ([]byte, error) { return w.Update(dst, p.update) })
	}
	if p.condition != nil && err == nil {
		b, err = appendExpression(b, "ConditionExpression", func(dst []byte) ([]byte, error) { return w.Condition(dst, p.condition, 'c') })
	}
	if p.onFailure == oldOfFailed {
		b = append(b, `,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`...)
	}
	return append(appendPlaceholders(b, &k.args, w), "}}"...), err
}

// appendWriteReply appends the reply: no items, the consumed capacity, and metrics by table.
func appendWriteReply(dst []byte, list []transactItem, body []byte) (_ []byte, err error) {
	dst = cbor.AppendArray(cbor.AppendArray(dst, 3), 0)
	if dst, err = appendEach(dst, [][]byte{memberOf(body, "ConsumedCapacity")}, appendTransactCapacity); err != nil {
		return dst, err
	}
	var tables []batchTable
	for i := range list {
		known := func(t batchTable) bool { return bytes.Equal(t.name, list[i].table) }
		if !slices.ContainsFunc(tables, known) {
			tables = append(tables, batchTable{name: list[i].table, schema: list[i].schema})
		}
	}
	if v := memberOf(body, "ItemCollectionMetrics"); v != nil {
		return appendMetricsByTable(dst, tables, v)
	}
	return cbor.AppendMap(dst, 0), nil
}
