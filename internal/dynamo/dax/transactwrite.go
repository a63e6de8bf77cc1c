package dax

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// What a transaction does with an item, as clients number it.
const (
	partPut    = 2
	partDelete = 7
	partUpdate = 9
	partCheck  = 12
)

var partNames = map[int64]string{partPut: "Put", partDelete: "Delete", partUpdate: "Update", partCheck: "ConditionCheck"}

// oldOfFailed asks for the item whose condition fails.
const oldOfFailed = 2

var headTransactWriteItems = head("TransactWriteItems")

// transactWriteItems writes items all at once, or none.
func (k *call) transactWriteItems() {
	list := k.parts(func(p *part) { p.op = k.args.Int() })
	k.column(list, func(p *part) { p.table = k.args.String() })
	k.column(list, func(p *part) { p.key = k.args.Bytes() })
	k.column(list, func(p *part) { p.item = k.bytesOrNull() })
	k.column(list, func(*part) { k.args.Skip() }) // no client sends it
	k.column(list, func(p *part) { p.failed = k.args.Int() })
	k.column(list, func(p *part) { p.condition = k.bytesOrNull() })
	k.column(list, func(p *part) { p.update = k.bytesOrNull() })
	options := k.transactOptions(nil)
	if err := k.args.Close(); err != nil {
		k.bad(err)
		return
	}
	if !k.learn(list) {
		return
	}
	if err := k.transactWriteBody(list, options); err != nil {
		k.unlisted(err)
		return
	}
	x, ok := k.exchange(&headTransactWriteItems, k.work.body)
	if !ok {
		k.fail(k.canceled(fault.Of(x.Reply.Status, x.Reply.Body, requestID(x)), list, x.Reply.Body))
		return
	}
	var err error
	if k.out, err = appendWritten(append(k.out, success), list, x.Reply.Body); err != nil {
		k.garbled(err)
	}
}

func (k *call) transactWriteBody(list []part, options []byte) (err error) {
	b := append(k.work.body[:0], `{"TransactItems":[`...)
	defer func() { k.work.body = b }()
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = k.appendPart(b, &list[i]); err == nil {
			err = tooLong(b)
		}
		if err != nil {
			return err
		}
	}
	b = append(append(b, ']'), options...)
	return k.args.Err()
}

// appendPart appends what is done with one item.
func (k *call) appendPart(b []byte, p *part) (_ []byte, err error) {
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
	w := &k.work.words
	w.Reset()
	if p.update != nil {
		b, err = text(b, "UpdateExpression", func(dst []byte) ([]byte, error) { return w.Update(dst, p.update) })
	}
	if p.condition != nil && err == nil {
		b, err = text(b, "ConditionExpression", func(dst []byte) ([]byte, error) { return w.Condition(dst, p.condition, 'c') })
	}
	if p.failed == oldOfFailed {
		b = append(b, `,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`...)
	}
	return append(words(b, &k.args, w), "}}"...), err
}

// appendWritten appends the reply: nothing of the items, what they cost, and metrics by
// tables.
func appendWritten(dst []byte, list []part, body []byte) (_ []byte, err error) {
	dst = cbor.AppendArray(cbor.AppendArray(dst, 3), 0)
	if dst, err = appendEach(dst, [][]byte{memberOf(body, "ConsumedCapacity")}, appendTransactCapacity); err != nil {
		return dst, err
	}
	var tables []batchTable
	for i := range list {
		if !hasTable(tables, list[i].table) {
			tables = append(tables, batchTable{name: list[i].table, schema: list[i].schema})
		}
	}
	if v := memberOf(body, "ItemCollectionMetrics"); v != nil {
		return appendMetricsByTable(dst, tables, v)
	}
	return cbor.AppendMap(dst, 0), nil
}

func hasTable(tables []batchTable, name []byte) bool {
	for i := range tables {
		if string(tables[i].name) == string(name) {
			return true
		}
	}
	return false
}
