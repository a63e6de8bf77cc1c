package dax

import (
	"bytes"
	"cmp"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/pause"
)

var headBatchWriteItem = requestHead("BatchWriteItem")

// batchWriteItem puts and deletes items.
//
// It retries unprocessed writes itself, because some clients return them incorrectly to
// their users: without their keys, or with additional members.
func (k *call) batchWriteItem() {
	requests := 0
	tables, ok := k.batchBody(wire.Write, optionSet(optCapacity, optMetrics), func(b []byte, t *batchTable) ([]byte, error) {
		b, writes, err := k.appendWrites(b, t)
		requests += writes
		return b, err
	}, k.failItem)
	if !ok {
		return
	}
	b := batchWrite{k: k}
	for try := 0; ; try++ {
		x, ok := k.roundTrip(&headBatchWriteItem, k.scratch.body)
		if !ok && try == 0 {
			k.fail(fault.FromResponse(x.Reply.Status, x.Reply.Body, requestID(x)))
			return
		}
		if !ok {
			break // completed writes can't be undone: report the rest as unprocessed
		}
		b.add(x.Reply.Body)
		if !b.hasUnprocessed() || !k.waitRetry(try) {
			break
		}
		b.nextRequest()
	}
	if left := countWrites(b.unprocessed); left == requests {
		k.fail(fault.New("ThrottlingException", "The origin has taken none of the batch's writes; try again later"))
		return
	}
	var err error
	if k.out, err = b.appendReply(append(k.out, success), tables); err != nil {
		k.failResponse(err)
	}
}

// appendWrites reads and appends the writes to a table: keys, each followed by an item, or
// by null to delete.
func (k *call) appendWrites(b []byte, t *batchTable) (_ []byte, writes int, err error) {
	b = append(b, '[')
	n := k.args.Array()
	for k.args.More(&n) {
		if writes > 0 {
			b = append(b, ',')
		}
		writes++
		keyBytes := k.args.Bytes()
		if n == 0 {
			k.args.Fail("a key without an item behind it")
			break
		}
		k.args.More(&n)
		if k.args.Null() {
			b, err = t.schema.AppendJSON(append(b, `{"DeleteRequest":{"Key":{`...), keyBytes)
			b = append(b, "}}}"...)
		} else {
			b, err = item.AppendJSON(append(b, `{"PutRequest":{"Item":`...), k.lists(), &t.schema, keyBytes, k.args.Bytes())
			b = append(b, "}}"...)
		}
		if err = cmp.Or(err, checkLength(b)); err != nil {
			return b, writes, err
		}
	}
	return append(b, ']'), writes, k.args.Err()
}

// batchWrite is the accumulated result of a batch.
type batchWrite struct {
	k           *call
	unprocessed []byte   // UnprocessedItems of the last response
	capacities  [][]byte // arrays, one per response
	metrics     [][]byte // objects, one per response
}

// add adds a response. It copies it, because the next response reuses its memory.
func (b *batchWrite) add(body []byte) {
	body = bytes.Clone(body)
	b.unprocessed = memberOf(body, "UnprocessedItems")
	if v := memberOf(body, "ConsumedCapacity"); v != nil {
		b.capacities = append(b.capacities, v)
	}
	if v := memberOf(body, "ItemCollectionMetrics"); v != nil {
		b.metrics = append(b.metrics, v)
	}
}

func (b *batchWrite) hasUnprocessed() bool { return countWrites(b.unprocessed) > 0 }

// nextRequest builds the next request from the unprocessed items.
func (b *batchWrite) nextRequest() {
	o, args := &b.k.scratch.options, &b.k.args
	body := append(append(b.k.scratch.body[:0], `{"RequestItems":`...), b.unprocessed...)
	body = appendMember(body, "ReturnConsumedCapacity", o.enum(args, optCapacity, capacities))
	b.k.scratch.body = append(appendMember(body, "ReturnItemCollectionMetrics", o.enum(args, optMetrics, metricsModes)), '}')
}

// countWrites returns the number of writes in UnprocessedItems.
func countWrites(tables []byte) (n int) {
	for it := wire.Object(tables); it.Next(); {
		n += wire.Array(it.Value()).Count()
	}
	return n
}

// The number of retries of unprocessed writes, and the bounds of the pauses between them.
const (
	maxRetries = 8
	minPause   = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

// waitRetry waits before a retry. It returns false if there must be none.
func (k *call) waitRetry(try int) bool {
	return try < maxRetries && pause.For(k.ctx(), min(minPause<<try, maxPause))
}

// appendReply appends the unprocessed writes, the consumed capacity and the metrics by
// table.
func (b *batchWrite) appendReply(dst []byte, tables []batchTable) (_ []byte, err error) {
	if dst, err = b.appendUnprocessed(dst, tables); err != nil {
		return dst, err
	}
	if dst, err = appendCapacities(dst, b.capacities...); err != nil {
		return dst, err
	}
	return appendMetricsByTable(dst, tables, b.metrics...)
}

// appendUnprocessed appends the unprocessed writes in the format of the request.
func (b *batchWrite) appendUnprocessed(dst []byte, tables []batchTable) ([]byte, error) {
	return appendByTable(dst, tables, b.unprocessed, func(dst []byte, t *batchTable, v []byte) (_ []byte, err error) {
		writes := wire.Array(v)
		dst = cbor.AppendArray(dst, 2*writes.Count())
		for writes.Next() && err == nil {
			if put := memberOf(writes.Value(), "PutRequest"); put != nil {
				dst, err = b.k.appendKeyed(dst, &t.schema, nil, memberOf(put, "Item"))
			} else {
				dst, err = appendKeyOf(dst, &t.schema, memberOf(memberOf(writes.Value(), "DeleteRequest"), "Key"))
				dst = cbor.AppendNull(dst)
			}
		}
		return dst, err
	})
}

// appendMetricsByTable appends the ItemCollectionMetrics of all responses by table. For a
// table without local indexes they may be empty.
func appendMetricsByTable(dst []byte, tables []batchTable, answers ...[]byte) (_ []byte, err error) {
	n := 0
	of := make([][][]byte, len(tables))
	for i := range tables {
		for _, a := range answers {
			for it := wire.Array(memberOf(a, string(tables[i].name))); it.Next(); {
				if !empty(it.Value()) {
					of[i] = append(of[i], it.Value())
				}
			}
		}
		if of[i] != nil {
			n++
		}
	}
	dst = cbor.AppendMap(dst, n)
	for i := range tables {
		if of[i] == nil {
			continue
		}
		dst = cbor.AppendArray(cbor.AppendText(dst, tables[i].name), len(of[i]))
		for _, v := range of[i] {
			if dst, err = appendMetrics(dst, v); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}
