package dax

import (
	"errors"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var errAnswer = errors.New("it is not of the shape that it should have")

// reply writes the map of a reply, or null if it is empty.
type reply struct {
	out   []byte
	start int
}

func begin(out []byte) reply {
	out = append(out, success)
	return reply{cbor.AppendMapOpen(out), len(out)}
}

// member begins a parameter; the caller must append its value to the result.
func (r *reply) member(key uint64) []byte { return cbor.AppendUint(r.out, key) }

func (r *reply) end() []byte {
	if len(r.out) == r.start+1 {
		return cbor.AppendNull(r.out[:r.start])
	}
	return cbor.AppendBreak(r.out)
}

// capacity holds the members of ConsumedCapacity, as JSON.
type capacity struct{ table, units, read, write, own, global, local []byte }

func (c *capacity) parse(json []byte) error {
	*c = capacity{
		table: memberOf(json, "TableName"),
		units: memberOf(json, "CapacityUnits"), read: memberOf(json, "ReadCapacityUnits"), write: memberOf(json, "WriteCapacityUnits"),
		own: memberOf(json, "Table"), global: memberOf(json, "GlobalSecondaryIndexes"), local: memberOf(json, "LocalSecondaryIndexes"),
	}
	if c.table == nil {
		return errAnswer
	}
	return nil
}

// appendCapacity translates ConsumedCapacity: a byte string of five values.
func appendCapacity(dst, json []byte) ([]byte, error) {
	var c capacity
	if err := c.parse(json); err != nil {
		return dst, err
	}
	start := len(dst)
	dst, err := attr.AppendString(dst, c.table)
	if err == nil {
		dst, err = appendUnits(dst, c.units)
	}
	if err == nil && c.own != nil {
		dst, err = appendTotal(dst, c.own)
	} else {
		dst = cbor.AppendNull(dst)
	}
	for _, indexes := range [][]byte{c.global, c.local} {
		if err != nil {
			break
		}
		if indexes == nil {
			dst = cbor.AppendNull(dst)
			continue
		}
		dst, err = appendIndexes(dst, indexes, appendTotal)
	}
	return cbor.WrapBytes(dst, start), err
}

// appendTotal appends the units that a table or an index has consumed.
func appendTotal(dst, of []byte) ([]byte, error) {
	units, _ := wire.Lookup(of, "CapacityUnits")
	return appendUnits(dst, units)
}

// appendIndexes translates an object with the consumption of each index.
func appendIndexes(dst, json []byte, one func(dst, of []byte) ([]byte, error)) (_ []byte, err error) {
	dst = cbor.AppendMap(dst, wire.Object(json).Count())
	it := wire.Object(json)
	for it.Next() && err == nil {
		if dst, err = attr.AppendString(dst, it.QuotedName()); err == nil {
			dst, err = one(dst, it.Value())
		}
	}
	if err == nil && it.Err() {
		err = errAnswer
	}
	return dst, err
}

// appendUnits appends a JSON number as a double.
func appendUnits(dst, json []byte) ([]byte, error) {
	v, err := strconv.ParseFloat(string(json), 64)
	if err != nil {
		return dst, errAnswer
	}
	return cbor.AppendDouble(dst, v), nil
}

// The fields of the consumption of an item in a transaction.
const (
	fieldUnits = iota + 1
	fieldRead
	fieldWrite
	fieldTable
	fieldOwn
	fieldGlobal
	fieldLocal
)

// appendTransactCapacity translates ConsumedCapacity of transactions: a map of indefinite
// length, because the Java client accepts no other.
func appendTransactCapacity(dst, json []byte) ([]byte, error) {
	var c capacity
	if err := c.parse(json); err != nil {
		return dst, err
	}
	dst, err := attr.AppendString(cbor.AppendUint(cbor.AppendMapOpen(dst), fieldTable), c.table)
	for i, units := range [][]byte{c.units, c.read, c.write} {
		if units != nil && err == nil {
			dst, err = appendUnits(cbor.AppendUint(dst, uint64(fieldUnits+i)), units)
		}
	}
	if c.own != nil && err == nil {
		dst, err = appendConsumed(cbor.AppendUint(dst, fieldOwn), c.own)
	}
	for i, indexes := range [][]byte{c.global, c.local} {
		if indexes != nil && err == nil {
			dst, err = appendIndexes(cbor.AppendUint(dst, uint64(fieldGlobal+i)), indexes, appendConsumed)
		}
	}
	return cbor.AppendBreak(dst), err
}

// appendConsumed translates the consumption of a table or an index in a transaction.
func appendConsumed(dst, json []byte) (_ []byte, err error) {
	names := [...]string{"CapacityUnits", "ReadCapacityUnits", "WriteCapacityUnits"}
	n := 0
	for _, name := range names {
		if _, ok := wire.Lookup(json, name); ok {
			n++
		}
	}
	dst = cbor.AppendMap(dst, n)
	for i, name := range names {
		if units, ok := wire.Lookup(json, name); ok && err == nil {
			dst, err = appendUnits(cbor.AppendUint(dst, uint64(fieldUnits+i)), units)
		}
	}
	return dst, err
}

// appendMetrics translates ItemCollectionMetrics: a byte string with the partition key's
// value and two bounds.
func appendMetrics(dst, json []byte) ([]byte, error) {
	keys, _ := wire.Lookup(json, "ItemCollectionKey")
	bounds, _ := wire.Lookup(json, "SizeEstimateRangeGB")
	start, n := len(dst), 0
	var err error
	for it := wire.Object(keys); it.Next() && err == nil; n++ {
		dst, err = attr.AppendCBOR(dst, it.Value())
	}
	for it := wire.Array(bounds); it.Next() && err == nil; n++ {
		dst, err = appendUnits(dst, it.Value())
	}
	if n != 3 && err == nil {
		err = errAnswer
	}
	return cbor.WrapBytes(dst, start), err
}
