package dax

import (
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var headTransactGetItems = requestHead("TransactGetItems")

// transactGetItems returns items as of one moment.
func (k *call) transactGetItems() {
	list := k.firstColumn(func(p *transactItem) { p.table = k.args.String() })
	k.column(list, func(p *transactItem) { p.key = k.args.Bytes() })
	k.column(list, func(p *transactItem) { p.projection = k.bytesOrNull() })
	options, ok := k.transactOptions(list)
	if !ok {
		return
	}
	if err := k.transactGetBody(list, options); err != nil {
		k.failRequest(err)
		return
	}
	k.transact(&headTransactGetItems, list, k.appendGetReply)
}

func (k *call) transactGetBody(list []transactItem, options []byte) (err error) {
	b := append(k.scratch.body[:0], `{"TransactItems":[`...)
	defer func() { k.scratch.body = b }()
	w := &k.scratch.words
	for i := range list {
		p := &list[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendQuoted(append(b, `{"Get":{"TableName":`...), p.table)
		if b, err = p.schema.AppendJSON(append(b, `,"Key":{`...), p.key); err != nil {
			return err
		}
		b = append(b, '}')
		w.Reset()
		if p.projection != nil {
			if b, p.paths, err = appendProjection(b, w, p.projection); err != nil {
				return err
			}
			b = appendPlaceholders(b, &k.args, w)
		}
		b = append(b, "}}"...)
		if err = checkLength(b); err != nil {
			return err
		}
	}
	b = append(append(b, ']'), options...)
	return nil
}

var errResponses = errors.New("the origin's response does not have the requested number of items")

// appendGetReply appends the items in order, with null for missing ones.
func (k *call) appendGetReply(dst []byte, list []transactItem, body []byte) (_ []byte, err error) {
	responses := memberOf(body, "Responses")
	if wire.Array(responses).Count() != len(list) {
		return dst, errResponses
	}
	dst = cbor.AppendArray(cbor.AppendArray(dst, 2), len(list))
	i := 0
	for it := wire.Array(responses); it.Next(); i++ {
		p, found := &list[i], memberOf(it.Value(), "Item")
		if found == nil {
			dst = cbor.AppendNull(dst)
			continue
		}
		if dst, err = k.appendItem(dst, &p.schema, p.paths, found); err != nil {
			return dst, err
		}
	}
	return appendEach(dst, [][]byte{memberOf(body, "ConsumedCapacity")}, appendTransactCapacity)
}
