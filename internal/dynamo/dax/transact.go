package dax

import (
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
)

// maxTransactItems is the maximum number of items in a transaction. DynamoDB accepts 100 and
// rejects slightly more with its own error.
const maxTransactItems = 1000

// transactItem is one item of a transaction. Clients send a column for each field, with one
// value per item.
type transactItem struct {
	op         int64
	table, key []byte
	item       []byte // nil if absent
	onFailure  int64  // the value requested of an item whose condition fails
	condition  []byte
	update     []byte
	projection []byte

	schema key.Schema
	paths  []item.Path
}

// firstColumn reads the first column, which determines the number of items.
func (k *call) firstColumn(read func(p *transactItem)) []transactItem {
	n := k.args.Array()
	if n > maxTransactItems {
		k.args.Fail("a transaction of %d items", n)
	}
	var list []transactItem
	for k.args.More(&n) && len(list) <= maxTransactItems {
		list = append(list, transactItem{})
		read(&list[len(list)-1])
	}
	return list
}

// column reads another column; null is an empty one.
func (k *call) column(list []transactItem, read func(p *transactItem)) {
	if k.args.Null() {
		return
	}
	n, i := k.args.Array(), 0
	for ; k.args.More(&n); i++ {
		if i == len(list) {
			k.args.Fail("a transaction's columns differ in length")
			return
		}
		read(&list[i])
	}
	if i != len(list) {
		k.args.Fail("a transaction's columns differ in length")
	}
}

// bytesOrNull reads a byte string; null becomes nil.
func (k *call) bytesOrNull() []byte {
	if k.args.Null() {
		return nil
	}
	b := k.args.Bytes()
	if b == nil {
		b = []byte{}
	}
	return b
}

// loadSchemas looks up the key schemas of the tables, for which read or write permission is
// required. It returns false if it has failed the call.
func (k *call) loadSchemas(list []transactItem) bool {
	for i := range list {
		p := &list[i]
		if !k.checkTableName(p.table) {
			return false
		}
		if i == 0 {
			k.line.Table = p.table
		}
		if i > 0 && string(p.table) == string(list[i-1].table) {
			p.schema = list[i-1].schema
			continue
		}
		if !k.client.Allowed(wire.Write, p.table) && !k.authorize(wire.Read, p.table) {
			return false
		}
		s, ok := k.schema(p.table)
		if !ok {
			return false
		}
		p.schema = keySchema(s)
	}
	return true
}

// transactOptions reads the last argument of a transaction and looks up the schemas of its
// tables. It returns the options and the end of the request, or false if it has failed the
// call.
func (k *call) transactOptions(list []transactItem) (options []byte, ok bool) {
	options = k.appendCommon(nil, optionSet(optCapacity, optMetrics, optToken))
	if token, ok := k.scratch.options.bytes(&k.args, optToken); ok {
		options = append(options[:len(options)-1], `,"ClientRequestToken":`...)
		options = append(wire.AppendQuoted(options, token), '}')
	}
	if err := k.args.Close(); err != nil {
		k.failRequest(err)
		return nil, false
	}
	return options, k.loadSchemas(list)
}

// transact sends the transaction in scratch.body, and replies with what appendReply makes
// of the response.
func (k *call) transact(head *http1.Request, list []transactItem, appendReply func(dst []byte, list []transactItem, body []byte) ([]byte, error)) {
	x, ok := k.roundTrip(head, k.scratch.body)
	if !ok {
		k.fail(k.addReasons(fault.FromResponse(x.Reply.Status, x.Reply.Body, requestID(x)), list, x.Reply.Body))
		return
	}
	var err error
	if k.out, err = appendReply(append(k.out, success), list, x.Reply.Body); err != nil {
		k.failResponse(err)
	}
}

// addReasons adds the reason for each item to the error of a cancelled transaction.
func (k *call) addReasons(e *fault.Error, list []transactItem, body []byte) *fault.Error {
	reasons := memberOf(body, "CancellationReasons")
	if e.Type != "TransactionCanceledException" || wire.Array(reasons).Count() != len(list) {
		return e
	}
	b := cbor.AppendArray(nil, 3*len(list))
	i := 0
	for it := wire.Array(reasons); it.Next(); i++ {
		b = appendTextOf(b, memberOf(it.Value(), "Code"))
		b = appendTextOf(b, memberOf(it.Value(), "Message"))
		old := memberOf(it.Value(), "Item")
		if old == nil {
			b = cbor.AppendNull(b)
			continue
		}
		start := len(b)
		var err error
		if b, err = k.appendItem(b, &list[i].schema, nil, old); err != nil {
			b = cbor.AppendNull(b[:start]) // the failure itself is more important
		}
	}
	e.Reasons = b
	return e
}

// appendTextOf appends a JSON string as text, or null if there is none.
func appendTextOf(dst, quoted []byte) []byte {
	text, ok := wire.AppendString(nil, quoted)
	if quoted == nil || !ok {
		return cbor.AppendNull(dst)
	}
	return cbor.AppendText(dst, text)
}
