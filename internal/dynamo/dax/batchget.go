package dax

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxTables is the maximum number of tables in a request. It exceeds DynamoDB's maximum
// number of items.
const maxTables = 200

// batchTable is the part of a batch for one table.
type batchTable struct {
	name   []byte
	schema key.Schema
	paths  []item.Path // nil: whole items
}

var headBatchGetItem = requestHead("BatchGetItem")

// batchGetItem returns items by their keys.
func (k *call) batchGetItem() {
	if k.serveCachedBatch() {
		return
	}
	tables, ok := k.batchBody(wire.Read, optionSet(optCapacity), k.appendBatchKeys, k.failRequest)
	if !ok {
		return
	}
	k.request(&headBatchGetItem, k.scratch.body, func(answer []byte) (err error) {
		k.out, err = k.appendBatch(append(k.out, success), tables, answer)
		return err
	})
}

// batchBody builds the request in DynamoDB's JSON. appendPart reads and appends the part for
// a table; fail fails the call with its error. batchBody returns false if it has failed the
// call.
func (k *call) batchBody(access wire.Access, options uint32, appendPart func(b []byte, t *batchTable) ([]byte, error), fail func(error)) (tables []batchTable, ok bool) {
	b := append(k.scratch.body[:0], `{"RequestItems":{`...)
	defer func() { k.scratch.body = b }()
	n := k.args.Map()
	for k.args.More(&n) {
		t, ok := k.readTable(len(tables), access)
		if !ok {
			return nil, false
		}
		if len(tables) > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPart(append(wire.AppendQuoted(b, t.name), ':'), &t); err != nil {
			fail(err)
			return nil, false
		}
		tables = append(tables, t)
	}
	b = k.appendCommon(append(b, '}'), options)
	if err := k.args.Close(); err != nil {
		k.failRequest(err)
		return nil, false
	}
	return tables, true
}

// readTable reads a table name and looks up its key schema. before is the number of tables
// already read. It returns false if it has failed the call.
func (k *call) readTable(before int, access wire.Access) (t batchTable, ok bool) {
	t.name = k.args.String()
	switch err := k.args.Err(); {
	case err != nil:
		k.failRequest(err)
		return t, false
	case before == maxTables:
		k.fail(fault.Invalid("Too many tables in one request: there may be %d", maxTables))
		return t, false
	case !k.checkTableName(t.name):
		return t, false
	case before == 0:
		k.line.Table = t.name
	}
	if !k.authorize(access, t.name) {
		return t, false
	}
	s, ok := k.schema(t.name)
	if ok {
		t.schema = keySchema(s)
	}
	return t, ok
}

// appendBatchKeys reads and appends the part of the request for a table.
func (k *call) appendBatchKeys(b []byte, t *batchTable) (_ []byte, err error) {
	if n := k.args.Array(); n != 3 {
		k.args.Fail("the request for a table has %d parts, not 3", n)
	}
	b = strconv.AppendBool(append(b, `{"ConsistentRead":`...), k.args.Bool())
	if !k.args.Null() {
		w := &k.scratch.words
		w.Reset()
		if b, t.paths, err = appendProjection(b, w, k.args.Bytes()); err != nil {
			return b, err
		}
		b = appendPlaceholders(b, &k.args, w)
	}
	b = append(b, `,"Keys":[`...)
	n, first := k.args.Array(), true
	for k.args.More(&n) {
		if !first {
			b = append(b, ',')
		}
		first = false
		if b, err = t.schema.AppendJSON(append(b, '{'), k.args.Bytes()); err != nil {
			return b, err
		}
		if err = checkLength(b); err != nil {
			return b, err
		}
		b = append(b, '}')
	}
	return append(b, "]}"...), k.args.Err()
}

// appendBatch appends the reply: items and unprocessed keys by table, then the consumed
// capacity.
func (k *call) appendBatch(dst []byte, tables []batchTable, body []byte) (_ []byte, err error) {
	responses, left := memberOf(body, "Responses"), memberOf(body, "UnprocessedKeys")
	dst = cbor.AppendMap(cbor.AppendArray(dst, 2), len(tables))
	for i := range tables {
		t := &tables[i]
		dst = cbor.AppendText(dst, t.name)
		if dst, err = k.appendResponses(dst, t, memberOf(responses, string(t.name))); err != nil {
			return dst, err
		}
	}
	if dst, err = appendUnprocessedKeys(dst, tables, left); err != nil {
		return dst, err
	}
	return appendCapacities(dst, memberOf(body, "ConsumedCapacity"))
}

// appendResponses appends a table's items, each after its key unless they are projected.
func (k *call) appendResponses(dst []byte, t *batchTable, items []byte) (_ []byte, err error) {
	n := wire.Array(items).Count()
	if t.paths == nil {
		n *= 2
	}
	dst = cbor.AppendArray(dst, n)
	for it := wire.Array(items); it.Next(); {
		if dst, err = k.appendKeyed(dst, &t.schema, t.paths, it.Value()); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendCommon reads the options and appends the options common to all requests for several
// items, and the end of the request.
func (k *call) appendCommon(body []byte, wanted uint32) []byte {
	o := &k.scratch.options
	o.parse(&k.args, wanted)
	body = appendMember(body, "ReturnConsumedCapacity", o.enum(&k.args, optCapacity, capacities))
	body = appendMember(body, "ReturnItemCollectionMetrics", o.enum(&k.args, optMetrics, metricsModes))
	return append(body, '}')
}

// appendCapacities appends the consumed capacity of all tables in arrays.
func appendCapacities(dst []byte, arrays ...[]byte) ([]byte, error) {
	return appendEach(dst, arrays, appendCapacity)
}

// appendEach appends the elements of all arrays as one array.
func appendEach(dst []byte, arrays [][]byte, one func(dst, v []byte) ([]byte, error)) (_ []byte, err error) {
	n := 0
	for _, a := range arrays {
		n += wire.Array(a).Count()
	}
	dst = cbor.AppendArray(dst, n)
	for _, a := range arrays {
		for it := wire.Array(a); it.Next(); {
			if dst, err = one(dst, it.Value()); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

// appendUnprocessedKeys appends the keys that DynamoDB hasn't processed, by table.
func appendUnprocessedKeys(dst []byte, tables []batchTable, left []byte) ([]byte, error) {
	return appendByTable(dst, tables, left, func(dst []byte, t *batchTable, rest []byte) (_ []byte, err error) {
		keys := wire.Array(memberOf(rest, "Keys"))
		dst = cbor.AppendArray(dst, keys.Count())
		for keys.Next() && err == nil {
			dst, err = appendKeyOf(dst, &t.schema, keys.Value())
		}
		return dst, err
	})
}

// appendByTable appends a map of the tables that have a member in object, with the values
// that one appends for their members.
func appendByTable(dst []byte, tables []batchTable, object []byte, one func(dst []byte, t *batchTable, v []byte) ([]byte, error)) (_ []byte, err error) {
	n := 0
	for i := range tables {
		if memberOf(object, string(tables[i].name)) != nil {
			n++
		}
	}
	dst = cbor.AppendMap(dst, n)
	for i := range tables {
		t := &tables[i]
		if v := memberOf(object, string(t.name)); v != nil && err == nil {
			dst, err = one(cbor.AppendText(dst, t.name), t, v)
		}
	}
	return dst, err
}

// memberOf returns a member of a response, or nil if it is absent or null.
func memberOf(object []byte, name string) []byte {
	if v, ok := wire.Lookup(object, name); ok && wire.Kind(v) != 'n' {
		return v
	}
	return nil
}
